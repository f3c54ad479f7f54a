#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The walls of the house: rooms.py SOURCE BUILD

Prints every include and every call that goes from a room to one above it, and every ring of calls
between files of one room; exits 1 when there is one. The order of the rooms is that of
model/meson.build, then bench, calib, cli. Calls are read from the object files of BUILD with nm, so
what an include of a public header lets through is seen too.
"""
import collections
import pathlib
import re
import subprocess
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)


def rooms_of(source):
    """(name, folder, object folders) of each room, from the bottom to the top."""
    text = (source / 'model/meson.build').read_text()
    names = re.findall(r"^  \['(\w+)', files\(", text, re.M)
    rooms = [(name, 'model/' + name, ['model/libllmperf-%s.a.p' % name]) for name in names]
    rooms += [('bench', 'bench', ['bench/libllmperf-bench.a.p']),
              ('calib', 'calib', ['calib/libllmperf-calib.a.p']),
              ('cli', 'cli', ['cli/llmperf.p'])]
    return rooms


# Rooms beside the line: they see some public headers and nothing else of ours.
BESIDE = [('kernels/cpu', 'kernels/cpu/llmperf-cpu.so.p'),
          ('kernels/cuda', 'kernels/cuda/libllmperf-cuda.a.p'),
          ('kernels/fake', 'kernels/libllmperf-fake.a.p'), ('png', 'png/llmperf-png.so.p')]
BESIDE_HEADERS = {'kernels': {'base.h', 'op.h', 'spec.h', 'backend.h', 'module.h'},
                  'png': {'base.h', 'png.h'}}


MAY_BE_LEFT_OUT = {'bench', 'calib'}  # by -Dcalib=disabled


def includes(path):
    text = re.sub(r'/\*.*?\*/', '', path.read_text(errors='replace'), flags=re.S)
    return INCLUDE.findall(text)


def crossing_includes(source, rooms):
    faults = []
    place = {}
    for at, (_, folder, _) in enumerate(rooms):
        for header in (source / folder).glob('*.h'):
            place.setdefault(header.name, []).append(at)
    for at, (name, folder, _) in enumerate(rooms):
        for path in sorted((source / folder).glob('*.[ch]')):
            for header in includes(path):
                if header.startswith('llmperf/'):
                    continue
                if (path.parent / header).is_file() and '/' not in header:
                    continue
                if '/' in header:
                    faults.append('%s/%s includes "%s": a path into another room'
                                  % (folder, path.name, header))
                    continue
                homes = place.get(header, [])
                if name == 'cli' or not any(home < at for home in homes):
                    where = rooms[homes[0]][0] if homes else 'nowhere below'
                    faults.append('%s/%s includes "%s" of %s' % (folder, path.name, header, where))
    for folder, _ in BESIDE:
        allowed = BESIDE_HEADERS[folder.split('/')[0]]
        for path in sorted((source / folder).rglob('*.[ch]')):
            for header in includes(path):
                if header.startswith('llmperf/') and header[8:] not in allowed:
                    faults.append('%s includes "%s": only %s are allowed there'
                                  % (path.relative_to(source), header, ', '.join(sorted(allowed))))
    return faults


def nm(paths):
    """{path: (what it defines, what it takes from elsewhere)} of object files."""
    found = {str(path): (set(), set()) for path in paths}
    if not paths:
        return found
    out = subprocess.run(['nm', '-A', *found], capture_output=True, text=True, check=True).stdout
    for line in out.splitlines():
        path, _, rest = line.rpartition(':')
        words = rest.split()
        if len(words) == 2 and words[0] == 'U':
            found[path][1].add(words[1])
        elif len(words) == 3 and words[1] in 'TDRBVWC':
            found[path][0].add(words[2])
    return found


def symbols(build, rooms):
    """Per object: room index, file, what it defines, what it takes from elsewhere."""
    objects = []
    for at, (_, folder, places) in enumerate(rooms):
        paths = sorted(path for place in places for path in (build / place).glob('*.o'))
        for path, (defined, wanted) in nm(paths).items():
            name = re.sub(r'\.o$', '', pathlib.Path(path).name)
            name = re.sub('^' + pathlib.Path(folder).name + '_', '', name)
            objects.append((at, '%s/%s' % (folder, name), defined, wanted))
    return objects


def crossing_calls(rooms, objects):
    home = {}
    for at, name, defined, _ in objects:
        for symbol in defined:
            home[symbol] = (at, name)
    faults, graph = [], collections.defaultdict(dict)
    for at, name, _, wanted in objects:
        for symbol in sorted(wanted):
            if symbol not in home or home[symbol][1] == name:
                continue
            there, other = home[symbol]
            if there > at and there < len(rooms):
                faults.append('%s calls %s of %s' % (name, symbol, other))
            if there == at:
                graph[name].setdefault(other, symbol)
    return faults, graph


def rings(graph):
    """Strongly connected files, by Tarjan's algorithm."""
    number, low, on, stack, found = {}, {}, set(), [], []

    def visit(name):
        number[name] = low[name] = len(number)
        stack.append(name)
        on.add(name)
        for other in graph.get(name, {}):
            if other not in number:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in on:
                low[name] = min(low[name], number[other])
        if low[name] == number[name]:
            ring = []
            while True:
                last = stack.pop()
                on.discard(last)
                ring.append(last)
                if last == name:
                    break
            if len(ring) > 1:
                found.append(sorted(ring))

    for name in sorted(graph):
        if name not in number:
            visit(name)
    return found


def describe_ring(ring, graph):
    calls = ['%s -> %s (%s)' % (a.rsplit('/', 1)[1], b.rsplit('/', 1)[1], symbol)
             for a in ring for b, symbol in sorted(graph[a].items()) if b in ring]
    return 'ring in %s: %s' % (ring[0].rsplit('/', 1)[0], '; '.join(calls))


def main():
    source, build = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    rooms = rooms_of(source)
    objects = symbols(build, rooms + [(folder, folder, [place]) for folder, place in BESIDE])
    faults = crossing_includes(source, rooms)
    built = {at for at, _, _, _ in objects}
    faults += ['%s: no object files in %s; build first' % (name, build)
               for at, (name, _, _) in enumerate(rooms)
               if at not in built and name not in MAY_BE_LEFT_OUT]
    calls, graph = crossing_calls(rooms, objects)
    faults += calls
    faults += [describe_ring(ring, graph) for ring in rings(graph)]
    for fault in faults:
        print(fault)
    print('rooms: %d rooms, %d files, %d fault%s'
          % (len(rooms), len(objects), len(faults), '' if len(faults) == 1 else 's'))
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main())
