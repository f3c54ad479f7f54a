#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A file as a C array: embed.py INPUT OUTPUT.c NAME defines NAME[] and NAME_size."""
import sys


def main():
    source, target, name = sys.argv[1:]
    with open(source, "rb") as file:
        data = file.read()
    rows = (data[i:i + 20] for i in range(0, len(data), 20))
    with open(target, "w", encoding="ascii") as out:
        out.write("#include <stddef.h>\n\n")
        out.write(f"extern const unsigned char {name}[];\nextern const size_t {name}_size;\n\n")
        out.write(f"_Alignas(16) const unsigned char {name}[] = {{\n")
        for row in rows:
            out.write(",".join(str(byte) for byte in row) + ",\n")
        out.write(f"}};\nconst size_t {name}_size = sizeof {name};\n")


if __name__ == "__main__":
    main()
