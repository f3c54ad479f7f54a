#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The public interface: what the headers declare, what is recorded of it, what the libraries export."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

from llmperf_test import SOURCE, Skip, case, contains, equal, expect, folder, main

sys.path.insert(0, str(SOURCE / "tests" / "tools"))
import api  # noqa: E402

BUILD = pathlib.Path(os.environ.get("LLMPERF_BUILD", SOURCE / "build"))
LIBRARY = BUILD / "model" / "libllmperf.so"
ARCHIVES = {"libllmperf-bench": BUILD / "bench" / "libllmperf-bench.a",
            "libllmperf-calib": BUILD / "calib" / "libllmperf-calib.a"}
OPTIONAL = {"llmperf_backend_cuda"}  # only where nvcc was there


def fault(source):
    """Why the record of a tree does not fit its headers; None = it does."""
    interface = api.Interface(source / "include")
    path = api.recorded_path(source, interface.number)
    if interface.number not in api.rows(source):
        return f"docs/api.md has no line for interface {interface.number}"
    if not path.exists():
        return f"interface {interface.number} is not recorded: ./dev api"
    recorded = set(path.read_text(encoding="utf-8").splitlines())
    found = set(api.table(source / "include").splitlines())
    if recorded == found:
        return None
    lines = [f"- {line}" for line in sorted(recorded - found)]
    lines += [f"+ {line}" for line in sorted(found - recorded)]
    return ("the headers have changed and LLMPERF_API_VERSION has not (docs/api.md says what to "
            "do):\n" + "\n".join(lines[:20]))


def names(command, path):
    """Symbols that nm prints behind T, with the version where there is one."""
    if shutil.which("nm") is None:
        raise Skip("nm is not installed")
    if not path.exists():
        raise Skip(f"{path.name} is not built")
    done = subprocess.run(["nm", *command, path], check=True, stdout=subprocess.PIPE, text=True)
    return [line.split()[-1] for line in done.stdout.splitlines()
            if re.search(r" [TDBRVWi] ", line)]


def tree(here):
    """A copy of what the record is about, to plant changes in."""
    for name in ("include", "tests/headers"):
        shutil.copytree(SOURCE / name, here / name)
    (here / "docs").mkdir()
    shutil.copy(SOURCE / "docs" / "api.md", here / "docs")
    return here


def replace(path, old, new):
    text = path.read_text(encoding="utf-8")
    expect(old in text, f"'{old}' is not in {path.name}")
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


@case("the public headers are what is recorded of their interface number")
def _():
    if sys.maxsize < 2 ** 32:
        raise Skip("the record is of a 64-bit machine")
    equal(fault(SOURCE), None)


@case("every interface number has its line in docs/api.md, and one file records it")
def _():
    number = api.Interface(SOURCE / "include").number
    equal(sorted(api.rows(SOURCE)), list(range(1, number + 1)))
    equal([path.name for path in (SOURCE / "tests" / "headers").glob("api-*.txt")],
          [f"api-{number}.txt"])


@case("a changed struct, enum, constant or function is seen")
def _():
    plants = (("op.h", "    double link_bytes;\n", "    double link_bytes, more;\n"),
              ("op.h", "    LLMPERF_KIND_GATHER, ", "    LLMPERF_KIND_NEW,\n    LLMPERF_KIND_GATHER, "),
              ("op.h", "double repeat;", "float repeat;"),
              ("spec.h", "#define LLMPERF_NAME_MAX 96", "#define LLMPERF_NAME_MAX 97"),
              ("base.h", "bool llmperf_parse_double(const char *text",
               "bool llmperf_parse_double(char *text"),
              ("base.h", "LLMPERF_API const char *llmperf_version(void);", ""))
    for header, old, new in plants:
        with folder() as here:
            replace(tree(here) / "include" / "llmperf" / header, old, new)
            contains(str(fault(here)), "LLMPERF_API_VERSION has not")


@case("a raised number asks for its line and its record, and has them by ./dev api")
def _():
    with folder() as here:
        base = tree(here) / "include" / "llmperf" / "base.h"
        number = api.Interface(here / "include").number
        replace(base, f"#define LLMPERF_API_VERSION {number}",
                f"#define LLMPERF_API_VERSION {number + 1}")
        contains(str(fault(here)), "docs/api.md has no line")
        contains(str(api.record(here)), "no line")
        with open(here / "docs" / "api.md", "a", encoding="utf-8") as page:
            page.write(f"| {number + 1} | 9.9.9 | a test |\n")
        contains(str(fault(here)), "is not recorded")
        equal(api.record(here), None)
        equal(fault(here), None)
        replace(here / "include" / "llmperf" / "op.h", "double repeat;", "float repeat;")
        contains(str(api.record(here)), "is released and has changed")


@case("libllmperf exports what its headers declare, each name under a version")
def _():
    wanted = api.Interface(SOURCE / "include").exported()
    found = dict(name.split("@@") for name in names(["-D", "--defined-only"], LIBRARY)
                 if "@@" in name)
    bare = [name for name in names(["-D", "--defined-only"], LIBRARY) if "@" not in name]
    equal(bare, [], "names without a version")
    equal(sorted(found), sorted(wanted))
    expect(set(found.values()) <= {"LLMPERF_1"}, f"{set(found.values())}")


@case("the list of names in libllmperf.map is the headers', in their order")
def _():
    text = api.strip((SOURCE / "model" / "libllmperf.map").read_text(encoding="utf-8"))
    equal(re.findall(r"^\s+(llmperf_\w+);", text, re.M),
          sorted(api.Interface(SOURCE / "include").exported()))


@case("an archive has what the headers that name it declare")
def _():
    interface = api.Interface(SOURCE / "include")
    equal(set(interface.libraries.values()), {"libllmperf", *ARCHIVES})
    for library, path in ARCHIVES.items():
        missing = interface.functions_of(library) - OPTIONAL - set(names(["--defined-only"], path))
        equal(sorted(missing), [], f"declared and not in {path.name}")


@case("the shared library names itself by its interface")
def _():
    if shutil.which("readelf") is None or not LIBRARY.exists():
        raise Skip("readelf or the shared library is not there")
    done = subprocess.run(["readelf", "-d", LIBRARY], check=True, stdout=subprocess.PIPE, text=True)
    contains(done.stdout, "[libllmperf.so.1]")


if __name__ == "__main__":
    main()
