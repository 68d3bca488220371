# SPDX-License-Identifier: Apache-2.0
"""A build installed into an empty place, for tests that use it as a stranger would: TEST.py BUILD SOURCE."""
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

BUILD, SOURCE = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]


def run(*command, **options):
    """What `command` prints; an AssertionError with everything it said when it fails."""
    words = list(map(str, command))
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(words)}: {done.returncode}\n{done.stdout}")
    return done.stdout


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.root = pathlib.Path(cls.folder.name)
        run("meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", cls.root / "destination")
        (found,) = cls.root.glob("destination/**/weft.pc")
        cls.libraries = found.parent.parent
        configured = re.search(r"^prefix=(.*)$", found.read_text(), re.MULTILINE).group(1)
        cls.prefix = pathlib.Path(f"{cls.root}/destination{configured}")
        for file in found.parent.glob("*.pc"):  # the prefix is where it lies for the moment
            file.write_text(re.sub(r"^prefix=.*$", f"prefix={cls.prefix}", file.read_text(), flags=re.MULTILINE))
        cls.environment = os.environ | {
            "PKG_CONFIG_LIBDIR": str(found.parent),
            "LD_LIBRARY_PATH": str(cls.libraries),
            "LC_ALL": "C",
        }

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def flags(self, package):
        """What pkg-config alone says."""
        return shlex.split(run("pkg-config", "--cflags", "--libs", package, env=self.environment))

    def build(self, output, *arguments):
        run("cc", "-std=c17", "-O1", *STRICT, "-o", self.root / output, *arguments)
        return self.root / output
