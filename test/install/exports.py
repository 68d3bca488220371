# SPDX-License-Identifier: Apache-2.0
"""Libraries export what public headers declare, to anyone, and nothing else but what is marked as private.

usage: exports.py COMPILER... -- LIBRARY... -- HEADER...
"""
import itertools
import pathlib
import re
import subprocess
import sys
import tempfile

# By which a plugin is loaded; plugins define it.
ENTRY = "weft_extension_query"
PROTOTYPE = re.compile(r"^/\* ([^:]*):\d+:\S+ \*/ extern .*?\b(weft_\w+) \(", re.MULTILINE)


def declared(compiler, headers):
    """Which header declares each function, as the compiler sees it."""
    with tempfile.TemporaryDirectory() as folder:
        source, list_ = pathlib.Path(folder, "all.c"), pathlib.Path(folder, "list")
        paths = [pathlib.Path(header).resolve() for header in headers if header.endswith(".h")]
        source.write_text("".join(f'#include "{path}"\n' for path in paths))
        subprocess.run([*compiler, "-std=c17", "-fsyntax-only", "-aux-info", list_, source], check=True)
        return {name: header for header, name in PROTOTYPE.findall(list_.read_text())}


def exported(library):
    """Name and version of each symbol of a library."""
    done = subprocess.run(["nm", "-D", "--defined-only", library], stdout=subprocess.PIPE, text=True, check=True)
    for line in done.stdout.splitlines():
        _, kind, name = line.split()
        if kind != "A":
            yield tuple(re.split("@+", name)) if "@" in name else (name, None)


def main():
    parts = [list(part) for is_end, part in itertools.groupby(sys.argv[1:], "--".__eq__) if not is_end]
    compiler, libraries, headers = parts
    wanted = set(declared(compiler, headers))
    assert len(wanted) > 300, wanted
    found = {library: list(exported(library)) for library in libraries}
    public = [name for symbols in found.values() for name, version in symbols
              if version != "WEFT_PRIVATE" and name != ENTRY]
    faults = [f"{name} is declared and not exported" for name in sorted(wanted - set(public))]
    faults += [f"{name} is exported and not declared" for name in sorted(set(public) - wanted)]
    faults += [f"{name} is exported twice" for name in sorted(set(public)) if public.count(name) > 1]
    faults += [f"{name} is declared and private" for symbols in found.values() for name, version in symbols
               if version == "WEFT_PRIVATE" and name in wanted]
    print("\n".join(faults) or f"{len(public)} functions")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
