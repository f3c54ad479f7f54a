# SPDX-License-Identifier: MIT
"""What the command-line tests share: running llmperf, strict JSON, and a TAP runner.

A test file declares its cases and ends with main():

    @case("predict reports what does not fit")
    def _():
        result = run("predict llama-3.1-8b h100-sxm -b 512 -s 8192", code=8)
        expect("DOES NOT FIT" in result.out)

Run one by hand:  LLMPERF_EXE=build/cli/llmperf tests/cli/test_predict.py [WORDS-OF-A-CASE]
"""
import contextlib
import functools
import json
import math
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import traceback

SOURCE = pathlib.Path(os.environ.get("LLMPERF_SOURCE") or
                      pathlib.Path(__file__).resolve().parents[2]).resolve()
EXE = os.path.abspath(os.environ.get("LLMPERF_EXE") or SOURCE / "build" / "cli" / "llmperf")
DATA = SOURCE / "tests" / "data"
SPECS = SOURCE / "specs"

SANITIZER = re.compile(r"(Address|Leak|Memory|Thread)Sanitizer|runtime error:")
SANITIZER_CODE = 99  # dev sets exitcode=99

# ./dev test sets ASAN_OPTIONS for its sanitizer build, where a run takes ten times as long
SANITIZED = "ASAN_OPTIONS" in os.environ

_cases = []
_home = tempfile.mkdtemp(prefix="llmperf-home-")


class Failure(Exception):
    """An expectation did not hold."""


class Skip(Exception):
    """The case cannot run here; the text says why."""


def case(name):
    """Declares a case, by the behaviour that it shows."""
    def add(function):
        _cases.append((name, function))
        return function
    return add


class Result:
    def __init__(self, args, code, out, err):
        self.args, self.code, self.out, self.err = args, code, out, err

    def __str__(self):
        return (f"$ llmperf {shlex.join(self.args)}\nexit code {self.code}\n"
                f"stdout: {self.out[:3000]}\nstderr: {self.err[:3000]}")


def environment(extra=None):
    """A clean environment: nothing of the user's, the specs of this tree. None removes a name."""
    env = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": _home, "LC_ALL": "C.UTF-8",
           "LLMPERF_SPECS": str(SPECS)}
    for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "LD_LIBRARY_PATH"):
        if name in os.environ:
            env[name] = os.environ[name]
    for name, value in (extra or {}).items():
        if value is None:
            env.pop(name, None)
        else:
            env[name] = str(value)
    return env


def run(args, env=None, stdin=None, cwd=None, code=None, timeout=120, stdout=None):
    """Runs llmperf; args is a list or a line for a shell's word splitting. `code`: the exit code
    that is right, or None = do not look. Crashes and sanitizer reports always fail the case."""
    args = shlex.split(args) if isinstance(args, str) else [str(a) for a in args]
    done = subprocess.run([EXE] + args, env=environment(env), input=stdin,
                          stdin=subprocess.DEVNULL if stdin is None else None, cwd=cwd,
                          stdout=stdout or subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=timeout, check=False)
    result = Result(args, done.returncode, (done.stdout or b"").decode("utf-8", "replace"),
                    done.stderr.decode("utf-8", "replace"))
    if result.code < 0 or result.code == SANITIZER_CODE or SANITIZER.search(result.err):
        raise Failure(f"crash or sanitizer report\n{result}")
    if code is not None and result.code != code:
        raise Failure(f"exit code {code} expected\n{result}")
    return result


def _no_constant(text):
    raise Failure(f"{text} in JSON")


def _object(pairs):
    names = [name for name, _ in pairs]
    if len(set(names)) != len(names):
        raise Failure(f"a key twice in one JSON object: {names}")
    return dict(pairs)


def parse_json(text):
    """JSON by the letter: no NaN, no Infinity, no key twice."""
    try:
        return json.loads(text, parse_constant=_no_constant, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        raise Failure(f"not JSON: {error}\n{text[:2000]}") from error


def run_json(args, env=None, cwd=None, code=0):
    args = shlex.split(args) if isinstance(args, str) else [str(a) for a in args]
    result = run(args + ["--format", "json"], env=env, cwd=cwd, code=code)
    return parse_json(result.out)


def expect(condition, message="", result=None):
    if not condition:
        raise Failure(f"{message}{chr(10) if result else ''}{result or ''}")


def equal(found, wanted, what=""):
    if found != wanted:
        raise Failure(f"{what}{': ' if what else ''}found {found!r}, expected {wanted!r}")


def close(found, wanted, what="", relative=1e-9):
    if not (isinstance(found, (int, float)) and
            math.isclose(found, wanted, rel_tol=relative, abs_tol=1e-300)):
        raise Failure(f"{what}{': ' if what else ''}found {found!r}, expected {wanted!r}")


def contains(text, part, what=""):
    if part not in text:
        raise Failure(f"{what}{': ' if what else ''}{part!r} is not in:\n{text[:3000]}")


@contextlib.contextmanager
def folder():
    """An empty folder of this case's own, removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="llmperf-test-") as path:
        yield pathlib.Path(path)


def flatten(value, name=""):
    """{"a": {"b": [1]}} -> {"a.b.0": 1}"""
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    else:
        return {name: value}
    flat = {}
    for key, one in items:
        flat.update(flatten(one, f"{name}.{key}" if name else str(key)))
    return flat


def _report(number, name, outcome, text=""):
    print(f"{outcome} {number} - {name}" + (f" # SKIP {text}" if outcome == "ok" and text else ""))
    if outcome == "not ok":
        lines = text.splitlines()
        for line in lines[:40]:
            print(f"# {line}")
        if len(lines) > 40:
            print(f"# ... {len(lines) - 40} more lines")
    sys.stdout.flush()


def main():
    words = sys.argv[1:]
    chosen = [(n, f) for n, f in _cases if all(w.lower() in n.lower() for w in words)]
    failed = 0
    print(f"1..{len(chosen)}")
    for number, (name, function) in enumerate(chosen, 1):
        try:
            function()
            _report(number, name, "ok")
        except Skip as reason:
            _report(number, name, "ok", str(reason) or "not possible here")
        except Failure as failure:
            failed += 1
            line = traceback.extract_tb(failure.__traceback__)
            mine = [f for f in line if os.path.basename(f.filename) == os.path.basename(sys.argv[0])]
            at = f"{os.path.basename(mine[-1].filename)}:{mine[-1].lineno}: " if mine else ""
            _report(number, name, "not ok", at + str(failure))
        except Exception:  # noqa: BLE001 - a fault of the test is a failure too
            failed += 1
            _report(number, name, "not ok", traceback.format_exc())
    shutil.rmtree(_home, ignore_errors=True)
    sys.exit(1 if failed else 0)


def sample(items, step=10):
    """All items; under sanitizers every step-th: the plain build has seen them all."""
    return list(items)[::step] if SANITIZED else list(items)


# Hardware of the hand computations, from the shipped files: dense peaks and bandwidth in SI units.
H100_BF16, H100_BW, H100_USABLE = 989.4e12, 3.35e12, 81559 * 2**20
A100_BF16, A100_BW = 312e12, 2.039e12


@functools.lru_cache(maxsize=None)
def shipped(kind):
    """Names of the shipped specifications ("models" or "hardware"), by the files there are."""
    return tuple(sorted(p.stem for p in (SPECS / kind).glob("*.yaml")))
