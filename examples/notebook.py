#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a notebook does with `llmperf ... --format json`: run, read, work with the numbers.

    python3 notebook.py MODEL HARDWARE [CHART.png]

Python's standard library is enough; pandas and matplotlib are used where they are installed. Each
`# %%` begins a cell in editors that know them.
"""
# %% run llmperf and read what it says
import json
import os
import shutil
import subprocess
import sys

LLMPERF = os.environ.get("LLMPERF_EXE") or shutil.which("llmperf") or "build/cli/llmperf"


def llmperf(*words):
    """The JSON of one command; its message where it fails."""
    done = subprocess.run([LLMPERF, *words, "--format", "json"], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        sys.exit(done.stderr.strip())
    return json.loads(done.stdout)


if len(sys.argv) not in (3, 4):
    sys.exit("usage: notebook.py MODEL HARDWARE [CHART.png]")
model, hardware = sys.argv[1:3]
chart = sys.argv[3] if len(sys.argv) == 4 else None

# %% one deployment: does it fit, how fast is it?
report = llmperf("predict", model, hardware, "--batch", "8")
tpot = report["tpot_s"]
print(f"{model} on {hardware}, batch 8: {1e3 * tpot['value']:.3f} ms a token "
      f"({1e3 * tpot['low']:.3f} to {1e3 * tpot['high']:.3f}), "
      f"{'fits' if report['memory']['fits'] else 'does not fit'}, "
      f"room for {report['memory']['max_batch']} sequences")

# %% a sweep: every row is a point
rows = llmperf("sweep", model, hardware, "--batch", "1..256*2")["rows"]

# %% the batch at which a token costs least while each user still gets 20 tokens/s
served = [row for row in rows if row["fits"] and 1 / row["time_s"] >= 20]
best = max(served, key=lambda row: row["tokens_per_s"], default=None)
if best:
    print(f"most tokens/s at 20 tokens/s a user: batch {best['batch']}, "
          f"{best['tokens_per_s']:.1f} tokens/s")
else:
    print("no batch that fits gives each user 20 tokens/s")

# %% a table: pandas where it is there
try:
    import pandas
except ImportError:
    pandas = None
if pandas is not None:
    print(pandas.DataFrame(rows)[["batch", "time_s", "tokens_per_s", "bound"]]
          .to_string(index=False))
else:
    for row in rows:
        print(f"{row['batch']:6d} {1e3 * row['time_s']:10.3f} ms "
              f"{row['tokens_per_s']:12.1f} tokens/s  {row['bound']}")

# %% a chart: matplotlib where it is there
if chart:
    try:
        from matplotlib import pyplot
    except ImportError:
        sys.exit("matplotlib is not installed; 'llmperf plot batch' draws the same without it")
    figure, axes = pyplot.subplots()
    axes.loglog([row["batch"] for row in rows], [row["tokens_per_s"] for row in rows], "o-")
    axes.set(xlabel="batch", ylabel="tokens/s", title=f"{model} on {hardware}")
    figure.savefig(chart)
