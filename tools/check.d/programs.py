# SPDX-License-Identifier: Apache-2.0
"""The programs that the check starts, and whether tools/setup installs them.

A stage finds no others: its PATH is a folder with links to these, and to those of Debian's essential packages.
"""
import os
import pathlib
import shutil
import subprocess

# What check.py, meson and the tests start by name; and what compilers do.
PROGRAMS = ["aarch64-linux-gnu-ar", "aarch64-linux-gnu-gcc", "ar", "as", "cc", "clang-19", "cmake", "doxygen", "g++",
            "gcc", "gcc-ar", "gcov", "gcovr", "ld", "llvm-config-19", "llvm-link-19", "make", "meson", "ninja", "nm",
            "opt-19", "pkg-config", "protoc-c", "python3", "qemu-aarch64", "qemu-x86_64", "readelf"]
# Used where they are.
OPTIONAL = ["ccache"]
MODULES = ["numpy"]
SYSTEM = "/usr/sbin:/usr/bin:/sbin:/bin"


def find(program):
    return shutil.which(program, path=SYSTEM)


def ask(program, *arguments):
    """What a program of the system prints, even where it fails."""
    return subprocess.run([find(program), *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


def names(path):
    """A file as packages may name it: itself, then what it links to, each with /usr and without."""
    yield from (path, path.removeprefix("/usr"))
    if os.path.islink(path):
        yield from names(os.path.join(os.path.dirname(path), os.readlink(path)))


def owners(paths):
    """The package of each file; files of none are left out."""
    wanted = {path: list(names(path)) for path in paths}
    lines = ask("dpkg-query", "--search", *(name for several in wanted.values() for name in several)).splitlines()
    known = {}
    for line in lines:
        packages, _, name = line.partition(": ")
        if not line.startswith("diversion "):
            known[name] = packages.split(":")[0]
    return {path: next(known[name] for name in several if name in known)
            for path, several in wanted.items() if known.keys() & several}


def essential():
    lines = ask("dpkg-query", "--show", "--showformat", "${Package} ${Essential}\n").splitlines()
    return {line.split()[0] for line in lines if line.endswith(" yes")}


def find_module(name):
    return ask("python3", "-c", f"import {name}; print({name}.__file__)").strip() or None


def problems(packages, programs=PROGRAMS, modules=MODULES):
    """A sentence for each program and module of Python that is not there, or that `packages` do not bring."""
    found = {name: find(name) for name in programs}
    found |= {f"the module {name} of python3": find_module(name) for name in modules}
    owned = owners([path for path in found.values() if path])
    allowed = essential() | set(packages)
    for name, path in found.items():
        if path is None:
            yield f"{name} is not there"
        elif path not in owned:
            yield f"{name} ({path}) is of no package"
        elif owned[path] not in allowed:
            yield f"{name} is of the package {owned[path]}, which tools/setup does not install"


def essential_programs():
    files = map(pathlib.PurePath, ask("dpkg-query", "--listfiles", *essential()).splitlines())
    return {"sh"} | {file.name for file in files if str(file.parent) in SYSTEM.split(":")}


def link(folder):
    """Fills `folder` with links to the programs; what PATH has to be then."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in essential_programs().union(PROGRAMS, OPTIONAL):
        path = find(name)
        if path:
            (folder / name).symlink_to(path)
    return str(pathlib.Path(folder).resolve())
