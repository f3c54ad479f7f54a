#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The public interface as a table: api.py [--record] [SOURCE]

Prints every constant, enum value, struct (size, members with type, offset and size) and function of
include/llmperf, by name. tests/headers/api-N.txt is that table for interface number N; a test compares
them, so that no struct changes without the number. --record writes the file: a new one when
LLMPERF_API_VERSION was raised, and the present one only while docs/api.md calls N unreleased.
The numbers are the compiler's own, of a 64-bit machine.
"""
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

OWN = {"LLMPERF_API_VERSION", "LLMPERF_VERSION_MAJOR", "LLMPERF_VERSION_MINOR",
       "LLMPERF_VERSION_PATCH"}  # they change by themselves


def strip(text):
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.S)


def squeeze(text):
    return re.sub(r"\s*([(),*\[\]])\s*", r"\1", re.sub(r"\s+", " ", text)).strip().replace(
        ",", ", ").replace("*", " *").replace("* *", "**").replace("( *", " (*")


def split(text, mark):
    """At every `mark` outside brackets."""
    parts, depth, last = [], 0, 0
    for at, char in enumerate(text):
        depth = max(0, depth + (char in "([{") - (char in ")]}"))
        if char == mark and depth == 0:
            parts.append(text[last:at])
            last = at + 1
    return parts + [text[last:]]


class Interface:
    """What a set of headers declares. functions: name -> (header, signature)."""

    def __init__(self, include):
        self.include = pathlib.Path(include)
        self.headers = sorted((self.include / "llmperf").glob("*.h"))
        self.constants, self.functions, self.types = [], {}, {}
        self.enums, self.structs, self.opaque = {}, {}, set()
        self.libraries = {}
        for path in self.headers:
            text = path.read_text(encoding="utf-8")
            part = re.search(r"Part\s[\s*]*of\s[\s*]*(libllmperf-\w+)", text)
            self.libraries[path.name] = part.group(1) if part else "libllmperf"
            self._read(path.name, strip(text))

    @property
    def number(self):
        text = (self.include / "llmperf" / "base.h").read_text(encoding="utf-8")
        return int(re.search(r"#define LLMPERF_API_VERSION (\d+)", text).group(1))

    def _read(self, header, text):
        text = text.replace("\\\n", " ")
        for name, value in re.findall(r"^#define (LLMPERF_\w+) +(\S.*)$", text, re.M):
            if name not in OWN and re.fullmatch(r"[\w\s+*()<-]+", value) and \
                    not name.endswith("_INIT") and not value.startswith(("_", "llmperf")):
                self.constants.append(name)
        text = re.sub(r"^\s*#.*$", "", text, flags=re.M)
        text = re.sub(r'extern "C" \{|extern "C\+\+" \{', "", text)
        for statement in split(text, ";"):
            self._declaration(header, statement.strip().lstrip("}").strip())

    def _declaration(self, header, text):
        struct = re.fullmatch(r"typedef struct (\w+) \{(.*)\}\s*(\w+)", text, re.S)
        enum = re.fullmatch(r"(?:typedef )?enum ?(\w*) \{(.*)\}\s*\w*", text, re.S)
        opaque = re.fullmatch(r"typedef struct (\w+) (\w+)", text)
        function = re.search(r"\bLLMPERF_API\s+(.*)", text, re.S)
        if struct:
            self.structs[struct.group(3)] = list(members(struct.group(2)))
        elif enum:
            names = [re.split(r"[=\s]", item.strip())[0] for item in split(enum.group(2), ",")]
            self.enums.setdefault(enum.group(1) or "(no name)", []).extend(filter(None, names))
        elif opaque:
            self.opaque.add(opaque.group(2))
        elif function:
            signature = re.sub(r"\bLLMPERF_PRINTF\(.*\)$", "", function.group(1).strip())
            name = re.search(r"(\w+)\(", signature).group(1)
            self.functions[name] = (header, squeeze(signature))
        elif text.startswith("typedef"):
            name = re.search(r"\(\*(\w+)\)", text)
            self.types[name.group(1) if name else text.split()[-1]] = squeeze(text[8:])

    def library(self, header):
        """Which library a header is of: libllmperf but where it says "Part of libllmperf-X"."""
        return self.libraries[header]

    def functions_of(self, library):
        return {name for name, (header, _) in self.functions.items()
                if self.library(header) == library}

    def exported(self):
        return self.functions_of("libllmperf")


def members(body):
    """(name, type) of each member; the type with its array bounds."""
    for item in split(body, ";"):
        item = squeeze(item)
        if not item:
            continue
        pointer = re.search(r"\(\s*\*\s*(\w+)\)", item)
        if pointer:
            yield pointer.group(1), item
            continue
        base = None
        for declarator in split(item, ","):
            before, stars, name, bounds = re.fullmatch(
                r"(.*?)(\**)(\w+)((?:\[.*\])?)", declarator.strip()).groups()
            base = before.strip() if base is None else base
            yield name, f"{base} {stars}{bounds}".strip()


def program(interface):
    """C that prints what only a compiler knows."""
    lines = ["#include <stddef.h>", "#include <stdio.h>"]
    lines += [f'#include "llmperf/{path.name}"' for path in interface.headers]
    lines += ["int main(void)", "{"]
    for name in sorted(interface.constants):
        lines.append(f'    printf("constant {name} %lld\\n", (long long)({name}));')
    for enum in sorted(interface.enums):
        for name in interface.enums[enum]:
            lines.append(f'    printf("enum {enum} {name} %d\\n", (int){name});')
    for name in sorted(interface.structs):
        lines.append(f'    printf("struct {name}, %zu bytes\\n", sizeof({name}));')
        for member, kind in interface.structs[name]:
            place = f"offsetof({name}, {member}), sizeof((({name} *)0)->{member})"
            lines.append(f'    printf("    {member} at %zu, %zu bytes: {kind}\\n", {place});')
    return "\n".join(lines + ["    return 0;", "}", ""])


def table(include):
    interface = Interface(include)
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "table.c"
        source.write_text(program(interface), encoding="utf-8")
        compiler = shlex.split(os.environ.get("CC", "cc"))
        subprocess.run([*compiler, "-std=c11", "-w", "-I", str(include), "-o", source.with_suffix(""),
                        source], check=True)
        measured = subprocess.run([source.with_suffix("")], check=True, stdout=subprocess.PIPE,
                                  text=True).stdout
    lines = [f"interface {interface.number}"] + measured.splitlines()
    lines += [f"opaque {name}" for name in sorted(interface.opaque - set(interface.structs))]
    lines += [f"type {text}" for _, text in sorted(interface.types.items())]
    lines += [f"function {text}" for _, (_, text) in sorted(interface.functions.items())]
    return "\n".join(lines) + "\n"


def recorded_path(source, number):
    return pathlib.Path(source) / "tests" / "headers" / f"api-{number}.txt"


def rows(source):
    """number -> what docs/api.md says of it."""
    text = (pathlib.Path(source) / "docs" / "api.md").read_text(encoding="utf-8")
    return {int(number): line for number, line in
            re.findall(r"^\| *(\d+) *\|(.*)$", text, re.M)}


def record(source):
    source = pathlib.Path(source)
    number = Interface(source / "include").number
    path = recorded_path(source, number)
    text = table(source / "include")
    if number not in rows(source):
        return f"docs/api.md has no line for {number}: one that says what changed is required"
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return None
    if path.exists() and "unreleased" not in rows(source)[number]:
        return (f"interface {number} is released and has changed: raise LLMPERF_API_VERSION in "
                "include/llmperf/base.h and give docs/api.md a line for it")
    for old in path.parent.glob("api-*.txt"):
        old.unlink()
    path.write_text(text, encoding="utf-8")
    return None


def main():
    arguments = [word for word in sys.argv[1:] if word != "--record"]
    source = pathlib.Path(arguments[0] if arguments else ".")
    if "--record" not in sys.argv:
        sys.stdout.write(table(source / "include"))
        return
    wrong = record(source)
    if wrong:
        sys.exit(wrong)


if __name__ == "__main__":
    main()
