#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Plants the faults of tests/mutate/faults one by one and runs the unit tests that could see them.

    mutate.py [--jobs N] [--list] [WORD...]

WORDs choose the faults whose line (room and name) holds one of them. A fault is *killed* when one of
its tests fails; the others *survive*: no test would notice that mistake. A fault that does not apply,
does not compile or names a test that does not exist is a mistake of the list, not a kill.

The source is copied to build-mutate/N/source, a copy for each job, and only the named test programs
are built there. Exit 1: less than 95 % killed, a mistake of the list, or a test that fails without a
fault. The last run's table stays in build-mutate/report.
"""
import argparse
import os
import pathlib
import queue
import re
import shutil
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIST = ROOT / "tests" / "mutate" / "faults"
BUILD = ROOT / "build-mutate"
ROOMS = ("model", "calib", "bench")  # where formulas live
LEAST_KILLED = 0.95
PATIENCE_S, PATIENCE = 30, 20  # a test that takes longer than this and so many times its time hangs
OPTIONS = ("-Dbuildtype=plain", "-Doptimization=1", "-Ddebug=false", "-Dwerror=false")


class Fault:
    """One planted mistake."""

    def __init__(self, room, name, line):
        self.room, self.name, self.line = room, name, line
        self.file = ""  # base name
        self.tests = []
        self.old, self.new = "", ""
        self.path = None  # relative to the root
        self.patched = ""  # the file's whole text with the fault
        self.outcome, self.by = "", ""

    def __str__(self):
        return f"{self.room}: {self.name}"


# ---- the list ---------------------------------------------------------------------------------------


def read_faults(text):
    """The faults of the list, and what is wrong with it.

        [room: what is wrong]
        file.c: tests that could see it
        - the text as it is          (several lines are one text)
        + what takes its place
    """
    faults, wrong = [], []
    for number, line in enumerate(text.splitlines(), 1):
        heading = re.fullmatch(r"\[([^:\]]+): (.+)\]", line)
        if heading:
            faults.append(Fault(heading[1], heading[2], number))
        elif line.startswith(("- ", "+ ")) or line == "+":
            if not faults:
                wrong.append(f"line {number}: text before the first fault")
            elif line[0] == "-":
                faults[-1].old += line[2:] + "\n"
            else:
                faults[-1].new += line[2:] + "\n"
        elif re.fullmatch(r"\w+\.[ch]:( \w+)+", line) and faults:
            faults[-1].file, tests = line.split(": ")
            faults[-1].tests = tests.split()
        elif line.strip() and not line.startswith("#"):
            wrong.append(f"line {number}: '{line}'; a heading in brackets, 'file.c: tests', "
                         "'- text', '+ text' or a comment (#) is allowed")
    names = set()
    for fault in faults:
        if not fault.file or not fault.old:
            wrong.append(f"line {fault.line}: '{fault}' lacks its file or its text")
        if str(fault) in names:
            wrong.append(f"line {fault.line}: '{fault}' is there twice")
        names.add(str(fault))
    return faults, wrong


def squeezed(text):
    """The text without white space, and where each of its characters stood."""
    at = [i for i, character in enumerate(text) if not character.isspace()]
    return "".join(text[i] for i in at), at


def spans(text, snippet):
    """Where a snippet stands, however its lines are broken."""
    dense, at = squeezed(text)
    wanted, _ = squeezed(snippet)
    found, begin = [], dense.find(wanted)
    while begin >= 0:
        found.append((at[begin], at[begin + len(wanted) - 1] + 1))
        begin = dense.find(wanted, begin + 1)
    return found


def sources(root):
    """Every C file of the rooms: relative path -> text."""
    texts = {}
    for room in ROOMS:
        for path in sorted((root / room).rglob("*.[ch]")):
            texts[path.relative_to(root)] = path.read_text(encoding="utf-8")
    return texts


def place(fault, texts):
    """Finds where a fault belongs; returns what is wrong, or None. The file by its base name; a text
    that moved to another file is found there when it is the only one of its kind."""
    for only in (True, False):
        hits = [(path, span) for path, text in texts.items() if not only or path.name == fault.file
                for span in spans(text, fault.old)]
        if len(hits) == 1:
            path, (begin, end) = hits[0]
            text = texts[path]
            fault.path = path
            fault.patched = text[:begin] + fault.new.rstrip("\n") + text[end:]
            if fault.patched == text:
                return "changes nothing"
            return None
        if hits:
            return f"its text is there {len(hits)} times: " + ", ".join(
                sorted({str(path) for path, _ in hits}))
    return f"its text is nowhere in {', '.join(ROOMS)}"


def check(faults, texts):
    """Mistakes of the list that no build is needed for."""
    wrong = []
    for fault in faults:
        reason = place(fault, texts)
        if reason:
            wrong.append(f"line {fault.line}: '{fault}' does not apply: {reason}")
        for test in fault.tests:
            if not (ROOT / "tests" / "unit" / f"test_{test}.c").exists():
                wrong.append(f"line {fault.line}: '{fault}': there is no tests/unit/test_{test}.c")
    return wrong


# ---- a copy of the tree and its build ---------------------------------------------------------------


def tree(root):
    """Relative paths of the files that a build may need."""
    paths = set()
    for folder, folders, files in os.walk(root):
        here = pathlib.Path(folder).relative_to(root)
        folders[:] = [name for name in folders if name not in (".git", "__pycache__") and
                      not (here == pathlib.Path(".") and name.startswith(("build", "shared")))]
        paths.update(here / name for name in files if name != ".git")
    return paths


def bring_up_to_date(source):
    """Makes `source` equal to the tree. What is equal is not touched: nothing is built again for it;
    what differs is new to ninja, whatever its age."""
    wanted = tree(ROOT)
    for path in tree(source) - wanted if source.exists() else ():
        (source / path).unlink()
    for path in wanted:
        to = source / path
        data = (ROOT / path).read_bytes()
        if to.exists() and to.read_bytes() == data:
            continue
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_bytes(data)
        shutil.copymode(ROOT / path, to)


class Bench:
    """A copy of the tree in which faults are planted."""

    def __init__(self, number):
        self.source = BUILD / str(number) / "source"
        self.build = BUILD / str(number) / "build"
        self.times = {}  # seconds of each test without a fault
        self.env = dict(os.environ, LLMPERF_SOURCE=str(self.source), LC_ALL="C.UTF-8",
                        LLMPERF_EXE=str(self.build / "cli" / "llmperf"))

    def set_up(self, tests):
        """Builds the tests; returns what went wrong, or None."""
        bring_up_to_date(self.source)
        if not (self.build / "build.ninja").exists():
            self.build.parent.mkdir(parents=True, exist_ok=True)
            done = subprocess.run(["meson", "setup", str(self.build), str(self.source), *OPTIONS],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  check=False)
            if done.returncode != 0:
                return "meson setup failed:\n" + done.stdout
        return self.make(tests, os.cpu_count() or 1)

    def make(self, tests, jobs=1):
        """Builds test programs; returns what the compiler said when it fails, else None."""
        done = subprocess.run(["ninja", "-C", str(self.build), f"-j{jobs}",
                               *(f"tests/unit/test_{test}" for test in tests)],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)
        return done.stdout if done.returncode != 0 else None

    def run(self, test, limit_s=None):
        """Runs a test program; returns what failed ("" = nothing)."""
        program = self.build / "tests" / "unit" / f"test_{test}"
        command = [str(program), "-j1", "--fail-fast", "--ascii"]
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  stdin=subprocess.DEVNULL, env=self.env, cwd=self.build,
                                  timeout=limit_s, check=False)
        except subprocess.TimeoutExpired:
            return "does not end"
        if done.returncode == 0:
            return ""
        case = re.search(r"\[FAIL\] \w+::(\w+)", done.stdout.decode(errors="replace"))
        return case[1] if case else f"ends with {done.returncode}"

    def try_fault(self, fault):
        """Plants a fault, sets its outcome, takes it out again."""
        target = self.source / fault.path
        clean = target.read_text(encoding="utf-8")
        target.write_text(fault.patched, encoding="utf-8")
        try:
            said = self.make(fault.tests)
            if said is not None:
                errors = [line for line in said.splitlines() if "error" in line]
                fault.outcome, fault.by = "does not compile", (errors or [said[-200:]])[0].strip()
                return
            for test in fault.tests:
                failed = self.run(test, PATIENCE_S + PATIENCE * self.times[test])
                if failed:
                    fault.outcome, fault.by = "killed", f"{test}: {failed}"
                    return
            fault.outcome = "SURVIVES"
        finally:
            target.write_text(clean, encoding="utf-8")


# ---- the run ----------------------------------------------------------------------------------------


def prepare(benches, tests):
    """Builds all copies and runs the tests without a fault; returns what is wrong, or None."""
    for bench in benches:
        said = bench.set_up(tests)
        if said:
            return said
    for test in tests:
        begun = time.monotonic()
        failed = benches[0].run(test)
        if failed:
            return f"test_{test} fails without a fault: {failed}"
        for bench in benches:
            bench.times[test] = time.monotonic() - begun
    return None


def left(begun, done, count):
    """How long the rest takes, in words."""
    seconds = (time.monotonic() - begun) / done * (count - done)
    return f"{seconds / 60:.0f} min left" if seconds >= 90 else f"{seconds:.0f} s left"


def try_all(benches, faults):
    """Every fault, over the copies of the tree."""
    waiting, lock = queue.Queue(), threading.Lock()
    # faults of one file one after the other: a file is compiled once for each, not twice
    for fault in sorted(faults, key=lambda f: str(f.path)):
        waiting.put(fault)
    begun, done = time.monotonic(), [0]

    def work(bench):
        while True:
            try:
                fault = waiting.get_nowait()
            except queue.Empty:
                return
            bench.try_fault(fault)
            with lock:
                done[0] += 1
                print(f"[{done[0]}/{len(faults)}, {left(begun, done[0], len(faults))}] "
                      f"{fault.outcome}: {fault} ({fault.path.name}"
                      f"{'; ' + fault.by if fault.by else ''})", flush=True)

    threads = [threading.Thread(target=work, args=(bench,)) for bench in benches]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def report(faults):
    """The table, and whether all is well."""
    lines, rooms = [], {}
    for fault in faults:
        rooms.setdefault(fault.room, []).append(fault)
    width = max(len(room) for room in rooms)
    lines.append(f"{'room':<{width}}  faults  killed")
    for room, own in rooms.items():
        killed = sum(fault.outcome == "killed" for fault in own)
        lines.append(f"{room:<{width}}  {len(own):6}  {killed:6}")
    killed = sum(fault.outcome == "killed" for fault in faults)
    broken = [fault for fault in faults if fault.outcome == "does not compile"]
    for fault in faults:
        if fault.outcome != "killed":
            lines.append(f"{fault.outcome}: {fault} ({fault.path}, {LIST.name}:{fault.line})"
                         f"{': ' + fault.by if fault.by else ''}")
    lines.append(f"{killed} of {len(faults)} faults killed, {100 * killed / len(faults):.1f} %; "
                 f"{100 * LEAST_KILLED:.0f} % are asked for")
    return lines, killed >= LEAST_KILLED * len(faults) and not broken


def main():
    """See the head of this file."""
    parser = argparse.ArgumentParser(prog="dev mutate", description="plant faults, run unit tests")
    parser.add_argument("--jobs", type=int, default=min(8, os.cpu_count() or 1),
                        help="copies of the tree to work in (as many as there are processors)")
    parser.add_argument("--list", action="store_true", help="name the faults, plant none")
    parser.add_argument("words", nargs="*", help="faults whose room and name hold one of these")
    arguments = parser.parse_args()
    faults, wrong = read_faults(LIST.read_text(encoding="utf-8"))
    if arguments.words:
        faults = [fault for fault in faults if any(word in str(fault) for word in arguments.words)]
    wrong += check(faults, sources(ROOT))
    if not faults:
        wrong.append(f"no fault is called {' or '.join(arguments.words)}")
    if wrong:
        print(*(f"{LIST.relative_to(ROOT)}: {line}" for line in wrong), sep="\n", file=sys.stderr)
        return 1
    if arguments.list:
        print(*(f"{fault.path}: {fault}" for fault in faults), sep="\n")
        return 0
    benches = [Bench(i + 1) for i in range(max(1, min(arguments.jobs, len(faults))))]
    print(f"{len(faults)} faults; building and running the tests without any", flush=True)
    said = prepare(benches, sorted({test for fault in faults for test in fault.tests}))
    if said:
        print(said, file=sys.stderr)
        return 1
    try_all(benches, faults)
    lines, good = report(faults)
    print("", *lines, sep="\n")
    (BUILD / "report").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
