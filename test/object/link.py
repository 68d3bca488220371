#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Has a program of objects compiled ahead of time, and repeats the records of their runs with it.

usage: link.py [--under COMMAND] [--link SOURCE.c] CC LIBRARY INCLUDE REPLAY.c RECORDER ARGUMENT...

RECORDER ARGUMENT... --objects FOLDER writes objects and records. CC links the objects with REPLAY.c and LIBRARY, and the
program runs the records, as an argument of COMMAND where it is for another processor. With --freestanding there is no LIBRARY, and objects may need nothing but what compilers always
do. SOURCE.c has kernels of extensions.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile


ALLOWED = {"memcpy", "memmove", "memset"}


def table(numbers, freestanding):
    lines = ['#include "replay.h"']
    for n in numbers:
        lines += [f"replay_prepare c{n}_prepare;", f"replay_run c{n}_run;",
                  f"const weft_rt_manifest *c{n}_manifest(void);"]
    rows = "".join(f"    {{{n}, c{n}_prepare, c{n}_run, c{n}_manifest}},\n" for n in numbers)
    lines += [f"const replay_object replay_objects[] = {{\n{rows}}};",
              f"const size_t replay_object_count = {len(numbers)};"]
    for name, type_ in ("create", "weft_rt_pool *(*const {})(unsigned)"), ("destroy", "void (*const {})(weft_rt_pool *)"):
        value = "NULL" if freestanding else f"weft_rt_pool_{name}"
        lines.append(f"{type_.format(f'replay_pool_{name}')} = {value};")
    return "\n".join(lines) + "\n"


def needs(path):
    """Symbols that an object needs."""
    listed = subprocess.run(["nm", "--undefined-only", "--format=just-symbols", path], check=True, stdout=subprocess.PIPE,
                            text=True)
    return set(listed.stdout.split())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--under", type=str.split, default=[])
    parser.add_argument("--link", action="append", default=[])
    options, words = parser.parse_known_args()
    compiler, library, include, replay, recorder, *arguments = words
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        recorded = subprocess.run([recorder, *arguments, "--objects", name], check=False)
        if recorded.returncode != 0:
            sys.exit(recorded.returncode)
        objects = sorted(folder.glob("c*.o"))
        freestanding = "--freestanding" in arguments
        foreign = {name for path in objects for name in needs(path)} - ALLOWED if freestanding else None
        if foreign:
            sys.exit(f"objects need {' '.join(sorted(foreign))}")
        source, program = folder / "table.c", folder / "replay"
        source.write_text(table([int(re.sub(r"\D", "", path.stem)) for path in objects], freestanding))
        source_folder = pathlib.Path(replay).parent
        linked = subprocess.run([compiler, "-std=gnu17", "-O1", "-ffp-contract=off", f"-I{include}", f"-I{pathlib.Path(include).parent}", f"-I{source_folder}", replay, source, *options.link, *objects,
                        *([] if freestanding else [library]), "-Wl,--gc-sections", "-pthread", "-o", program], check=False)
        if linked.returncode != 0:
            sys.exit("the objects cannot be linked")
        sys.exit(subprocess.run([*options.under, program, folder / "records"], check=False).returncode)


if __name__ == "__main__":
    main()
