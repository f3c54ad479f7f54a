#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts every single test case that `meson test` ran in the given build folders.

    count_cases.py BUILD-FOLDER...

testlog.junit.xml has one entry a case (each TAP case of a program, or a program that is one case).
It does not record a program that died, ran out of time or printed broken TAP after good cases:
testlog.json does, so such a program counts as one failed case more. Skipped cases count as neither.
The last line is "N passed, N failed"; exit 1 when a case failed or none passed.
"""
import json
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree

GOOD = {"OK", "SKIP", "EXPECTEDFAIL"}


def short_name(name):
    """The program's name: meson versions prefix it with suite and project in various ways."""
    return name.split(" / ")[-1].split(":")[-1]


def cases_of(folder):
    """Lists of (program, case, outcome), outcome = passed, failed or skipped."""
    logs = pathlib.Path(folder) / "meson-logs"
    programs = {}
    for line in (logs / "testlog.json").read_text(encoding="utf-8").splitlines():
        if line.strip():
            entry = json.loads(line)
            programs[short_name(entry["name"])] = entry["result"]
    cases = []
    # what a failing test printed stands in the log as it is: escape sequences are no XML
    text = re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]", "?",
                  (logs / "testlog.junit.xml").read_text(errors="replace"))
    for suite in ElementTree.fromstring(text.encode()).iter("testsuite"):
        single = "." not in suite.get("name")  # programs without cases share the project's suite
        for case in suite.iter("testcase"):
            program = short_name(case.get("name") if single else suite.get("name").split(".", 1)[1])
            outcome = "passed"
            if case.find("failure") is not None or case.find("error") is not None:
                outcome = "failed"
            elif case.find("skipped") is not None:
                outcome = "skipped"
            elif single and programs.get(program) not in GOOD:
                outcome = "failed"  # time-outs, in some versions of meson
            cases.append((program, "" if single else case.get("name"), outcome))
    for program, result in programs.items():
        of_program = [outcome for name, _, outcome in cases if name == program]
        if result not in GOOD and "failed" not in of_program:
            cases.append((program, f"the program itself: {result}", "failed"))
        elif not of_program:
            cases.append((program, "no case ran", "failed"))
    return cases


def main():
    passed = failed = 0
    for folder in sys.argv[1:]:
        try:
            cases = cases_of(folder)
        except (OSError, ValueError, KeyError, ElementTree.ParseError) as error:
            print(f"{folder}: no readable test log: {error}")
            cases = [("meson", "no test log", "failed")]
        count = {"passed": 0, "failed": 0, "skipped": 0}
        for program, case, outcome in cases:
            count[outcome] += 1
            if outcome == "failed":
                print(f"{folder}: FAILED {program}{': ' if case else ''}{case}")
        print(f"{folder}: {len(cases)} cases, {count['skipped']} of them skipped")
        passed += count["passed"]
        failed += count["failed"]
    print(f"{passed} passed, {failed} failed")
    return 0 if failed == 0 and passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
