#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Filters the file names on stdin: prints those that a build folder compiles.

    ... | compiled_files.py BUILD-FOLDER

Reads compile_commands.json; names are taken from the current directory.
"""
import json
import os
import sys


def main():
    folder = sys.argv[1]
    with open(os.path.join(folder, "compile_commands.json"), encoding="utf-8") as commands:
        compiled = {os.path.realpath(os.path.join(row["directory"], row["file"]))
                    for row in json.load(commands)}
    for name in sys.stdin.read().splitlines():
        if os.path.realpath(name) in compiled:
            print(name)


if __name__ == "__main__":
    main()
