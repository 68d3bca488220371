#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the runtime of objects for aarch64 as a user would.

usage: runtime.py SOURCE OUT DEPENDENCIES

OUT becomes the library; beside it is the folder `aarch64`, which it is built in. DEPENDENCIES becomes a list of all files
that it may depend on, for ninja.
"""
import pathlib
import shutil
import subprocess
import sys


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stdout)


def main():
    source, out, dependencies = map(pathlib.Path, sys.argv[1:])
    folder = out.parent / "aarch64"
    if not (folder / "build.ninja").exists():
        run("meson", "setup", folder, source, "--cross-file", source / "tools/cross/aarch64-linux-gnu.ini",
            "-Druntime_only=true", "--buildtype=release", "--werror")
    run("ninja", "-C", folder)
    shutil.copyfile(folder / "runtime/libweft-rt.a", out)
    files = [path for name in ["runtime", "include"] for path in sorted((source / name).rglob("*")) if path.is_file()]
    files += [source / "meson.build", source / "meson_options.txt", source / "tools/cross/aarch64-linux-gnu.ini"]
    dependencies.write_text(f"{out}: {' '.join(map(str, files))}\n")


if __name__ == "__main__":
    main()
