#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The example of test/example on processors that this machine does not have: cross.py SOURCE RUNTIME WEFT CC LIBRARY.

RUNTIME is a build of the runtime for aarch64; CC and LIBRARY are those of this machine.
"""
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

SOURCE, RUNTIME, WEFT, CC, LIBRARY = sys.argv[1:6]
WITH_LIBRARY = [LIBRARY, "-pthread"]
EXAMPLE = pathlib.Path(SOURCE) / "test/example"
AARCH64 = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"]
OLD = ["qemu-x86_64", "-cpu", "Nehalem"]  # it has no AVX
PICTURES = {"zero": 0, "two": 2, "three": 3, "five": 5, "seven": 7}


def run(*command, **options):
    """What `command` prints; an AssertionError with everything it said when it fails."""
    words = list(map(str, command))
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(words)}: {done.returncode}\n{done.stdout}")
    return done.stdout


class Cross(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def compile(self, *options):
        run(WEFT, "compile", EXAMPLE / "digits.weft", "-o", self.folder, *options)

    def build(self, compiler, *flags):
        program = self.folder / "digit"
        run(compiler, "-std=c17", "-O1", "-Wall", "-Wextra", "-Werror", EXAMPLE / "digit.c", "-o", program, *flags)
        return program

    def build_here(self, *libraries):
        return self.build(CC, f"-I{SOURCE}/include", f"-I{self.folder}", self.folder / "digits.o", *libraries)

    def check(self, *program):
        said = run(*program, *(EXAMPLE / f"pictures/{name}.pgm" for name in PICTURES)).splitlines()
        found = [int(re.search(r": (\d) \(", line).group(1)) for line in said]
        self.assertEqual(found, list(PICTURES.values()))
        return said

    def install(self):
        """The flags for the object, of what is installed."""
        run("meson", "install", "-C", RUNTIME, "--no-rebuild", "--quiet", "--destdir", self.folder / "destination")
        (found,) = self.folder.glob("destination/**/weft-rt-static.pc")
        prefix = re.search(r"^prefix=(.*)$", found.read_text(), re.MULTILINE).group(1)
        found.write_text(re.sub(r"^prefix=.*$", f"prefix={self.folder}/destination{prefix}", found.read_text(),
                                flags=re.MULTILINE))
        return shlex.split(run("pkg-config", "--cflags", "--libs", "digits",
                               env={"PKG_CONFIG_LIBDIR": f"{found.parent}:{self.folder}"}))

    def test_aarch64(self):
        """Prints what a program of this machine prints."""
        self.compile("--target", "aarch64-linux-gnu")
        program = self.build("aarch64-linux-gnu-gcc", *self.install())
        said = self.check(*AARCH64, program)
        self.assertIn("isa       armv8-a", run(WEFT, "info", program).splitlines())
        self.compile("--target", "x86_64-unknown-linux-gnu")
        self.assertEqual(self.check(self.build_here(*WITH_LIBRARY)), said)

    def test_kernels_of_extensions(self):
        """What is installed with the runtime has the headers that the source of a kernel includes."""
        self.compile("--target", "aarch64-linux-gnu")
        flags = [flag for flag in self.install() if flag.startswith("-I") and str(self.folder) in flag]
        run("aarch64-linux-gnu-gcc", "-std=c17", "-O1", "-Wall", "-Wextra", "-Werror", "-c", *flags,
            f"{SOURCE}/test/plugin/sample.c", "-o", self.folder / "sample.o")
        self.assertIn("sample_median_kernel", run("nm", self.folder / "sample.o"))

    def test_two_targets_need_the_same(self):
        """Both objects need the same functions of libweft-rt, and nothing else."""
        needed = []
        for target in ["x86_64-linux-gnu", "aarch64-linux-gnu"]:
            self.compile("--target", target)
            needed.append(set(run("nm", "--undefined-only", "--format=just-symbols", self.folder / "digits.o").split()))
        self.assertEqual(*needed)
        self.assertTrue(all(name.startswith("weft_") for name in needed[0]))

    def test_without_avx(self):
        self.compile("--isa", "x86-64-v2,x86-64-v3")
        self.check(*OLD, self.build_here(*WITH_LIBRARY))

    def test_refused_without_avx(self):
        sentence = "digits was compiled for processors with x86-64-v3, this one has x86-64-v2\n"
        for options in [], ["--freestanding"]:
            with self.subTest(options):
                self.compile("--isa", "x86-64-v3", *options)
                program = self.build_here(*([] if options else WITH_LIBRARY))
                done = subprocess.run([*OLD, program, EXAMPLE / "pictures/two.pgm"], stderr=subprocess.PIPE, text=True,
                                      check=False)
                self.assertEqual((done.returncode, done.stderr), (1, sentence))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
