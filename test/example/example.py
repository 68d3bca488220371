# SPDX-License-Identifier: Apache-2.0
"""Compiles the examples ahead of time with an installed weft, builds and runs them: example.py BUILD SOURCE."""
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import unittest

import numpy

sys.path.insert(0, str(pathlib.Path(sys.argv[2]) / "test/install"))
from installed import SOURCE, STRICT, Installed, run  # noqa: E402

EXAMPLE = SOURCE / "test/example"
PICTURES = {"zero": 0, "two": 2, "three": 3, "five": 5, "seven": 7}
WRAPPED = ["malloc", "calloc", "realloc", "aligned_alloc", "weft_rt_prepare", "weft_rt_run"]
TOKENS = 16
NO_PICTURES = {
    b"": "is no PGM picture",
    b"P6\n1 1\n255\nabc": "is no PGM picture",
    b"P2": "is no PGM picture",
    b"P2\n": "has no size, or one over 65535",
    b"P2\n-3 4 7 1": "has no size, or one over 65535",
    b"P5\n99999999999 1 255\n": "has no size, or one over 65535",
    b"P2\n1 1": "has no greatest value from 1 to 65535",
    b"P2\n1 1 0 0": "has no greatest value from 1 to 65535",
    b"P5\n2 1\n255\n1": "has fewer pixels than its size says",
    b"P5\n1 1\n256\n1": "has fewer pixels than its size says",
    b"P2\n2 1 7 # comment": "has fewer pixels than its size says",
    b"P2\n2 1 7 1 x": "has fewer pixels than its size says",
    b"P2\n1 1 3 4": "has a pixel over its greatest value",
}


def fail(*command, **options):
    """What a program says that fails."""
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    if done.returncode != 1:
        raise AssertionError(f"{done.returncode}\n{done.stdout}{done.stderr}")
    return done.stderr


def weights():
    """The inputs of the decoder that stay the same, as decoder.c makes them."""
    random, shapes = 1, {"token_table": (32, 16), "position_table": (64, 16), "query_weights": (16, 16),
                         "key_weights": (16, 16), "value_weights": (16, 16), "output_weights": (16, 16)}
    result = {}
    for name, shape in shapes.items():
        numbers = numpy.empty(shape, numpy.float32)
        for i in range(numbers.size):
            random = (random * 1664525 + 1013904223) % 2**32
            numbers.flat[i] = (random >> 8) / 2**23 - 1
        result[name] = numbers
    return result


class Examples(Installed):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.objects = cls.root / "objects"
        for name in ["digits", "decoder"]:
            run(cls.prefix / "bin/weft", "compile", EXAMPLE / f"{name}.weft", "-o", cls.objects)
        cls.static = {name: value for name, value in cls.environment.items() if name != "LD_LIBRARY_PATH"}
        cls.static["PKG_CONFIG_PATH"] = str(cls.objects)
        cls.static["PATH"] = f"{cls.prefix}/bin:{cls.static['PATH']}"

    def objects_flags(self, name, *options):
        return shlex.split(run("pkg-config", *options, "--cflags", "--libs", name, env=self.static))

    def check_digits(self, program, **options):
        pictures = {EXAMPLE / f"pictures/{name}.pgm": digit for name, digit in PICTURES.items()}
        said = run(program, *pictures, **options).splitlines()
        self.assertEqual(len(said), len(pictures))
        for line, (picture, digit) in zip(said, pictures.items()):
            percent = re.fullmatch(rf"{re.escape(str(picture))}: {digit} \((\d+\.\d) %\)", line).group(1)
            self.assertGreater(float(percent), 90)

    # ---- digits ----

    def test_digit(self):
        program = self.build("digit", EXAMPLE / "digit.c", "-Wconversion", "-Wshadow", *self.objects_flags("digits"))
        self.check_digits(program, env=self.static)
        self.assertNotIn("weft", run("ldd", program))
        for data, complaint in NO_PICTURES.items():
            with self.subTest(data):
                (self.root / "picture").write_bytes(data)
                self.assertEqual(fail(program, "picture", cwd=self.root), f"picture: {complaint}\n")
        self.assertEqual(fail(program, "nothing", cwd=self.root), "nothing: No such file or directory\n")
        said = subprocess.run([program], stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual((said.returncode, said.stderr), (2, f"usage: {program} PICTURE.pgm ...\n"))

    def test_flags_for_static_programs(self):
        self.assertEqual(self.objects_flags("digits", "--static"), self.objects_flags("digits"))
        program = self.build("digit-static", "-static", EXAMPLE / "digit.c", *self.objects_flags("digits"))
        self.check_digits(program, env=self.static)

    def test_shared_library(self):
        program = self.build("digit-shared", EXAMPLE / "digit.c", f"-I{self.objects}", self.objects / "digits.o",
                             *self.flags("weft-rt"))
        self.check_digits(program, env=self.environment)
        self.assertIn("libweft-rt.so", run("ldd", program, env=self.environment))

    def test_library_that_contains_an_object(self):
        """It exports its own functions and those of the object, and nothing of libweft-rt."""
        source, library = self.root / "library.c", self.root / "liblibrary.so"
        source.write_text('#include "digits.h"\nweft_rt_code classify(const digits_call *call, weft_rt_workspace *w);\n'
                          "weft_rt_code classify(const digits_call *call, weft_rt_workspace *w)\n"
                          "{\n    return digits_run(call, w, NULL);\n}\n")
        self.build(library, "-shared", "-fPIC", source, *self.objects_flags("digits"))
        exported = {line.split()[-1] for line in run("nm", "-D", "--defined-only", library).splitlines()}
        plain = {re.sub("_as_in_header_.*", "_as_in_header", name) for name in exported}
        self.assertEqual(plain, {"classify", "digits_prepare", "digits_run", "digits_manifest",
                                 "digits_prepare_as_in_header", "digits_run_as_in_header"})

    def test_cpp(self):
        program = self.root / "digits"
        run("g++", "-std=c++17", "-O1", *STRICT, "-Wshadow", "-Wconversion", "-Wold-style-cast", "-o", program,
            EXAMPLE / "digits.cpp", *self.objects_flags("digits"))
        three = (EXAMPLE / "pictures/three.pgm").read_text().partition("\n16\n")[2]
        self.assertEqual(run(program, input=3 * three, env=self.static), "3\n3\n3\n")
        self.assertEqual(fail(program, input="1 2 3"), "pictures are 64 numbers each\n")
        self.assertEqual(fail(program, input=64 * 1025 * "0 "),
                         "symbol n = 1025 is outside [1, 1024] (given in extents)\n")
        self.assertEqual(fail(program, input=""), "symbol n = 0 is outside [1, 1024] (given in extents)\n")

    # ---- the decoder ----

    def step_by_step(self, token):
        """Tokens that `weft run` finds, a step a run, with keys and values in files."""
        fixed, names = self.root / "fixed.npz", ["token", "position", "keys", "values"]
        numpy.savez(fixed, **weights())
        files = {name: self.root / f"{name}.npy" for name in names}
        for name in ["keys", "values"]:
            numpy.save(files[name], numpy.zeros((64, 16), numpy.float32))
        for position in range(TOKENS):
            numpy.save(files["token"], numpy.int64(token))
            numpy.save(files["position"], numpy.int64(position))
            outputs = {"next_token": self.root / "next.npy", "new_keys": self.root / "new_keys.npy",
                       "new_values": self.root / "new_values.npy"}
            run(self.prefix / "bin/weft", "run", EXAMPLE / "decoder.weft", fixed,
                *(f"{name}={file}" for name, file in files.items()),
                *(word for name, file in outputs.items() for word in ["-o", f"{name}={file}"]))
            token = int(numpy.load(outputs["next_token"]))
            yield token
            for name in ["keys", "values"]:
                outputs[f"new_{name}"].replace(files[name])

    def test_decoder(self):
        program = self.build("decoder", EXAMPLE / "decoder.c", "-Wconversion", "-Wshadow",
                             *self.objects_flags("decoder"))
        tokens = list(map(int, run(program, 3, TOKENS, env=self.static).split()))
        self.assertEqual(tokens, list(self.step_by_step(3)))
        self.assertGreater(len(set(tokens)), 4)
        self.assertEqual(len(run(program, 3, 64).split()), 64)
        self.assertRegex(fail(program, 3, 65), r"^DATA_ERROR: dynamic_slice: start 64 on axis 0 is outside \[0, 63\]")
        self.assertRegex(fail(program, 32, 1), r"^DATA_ERROR: dynamic_slice: start 32 on axis 0 is outside \[0, 31\]")

    def test_decoder_allocates_nothing(self):
        program = self.build("decoder-counted", EXAMPLE / "decoder.c", EXAMPLE / "count_allocations.c",
                             *(f"-Wl,--wrap={name}" for name in WRAPPED), *self.objects_flags("decoder"))
        said = subprocess.run([program, "3", "64"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              check=True)
        self.assertRegex(said.stderr, r"^1 prepares allocated [1-9]\d* times, 64 runs 0 times$")

    # ---- build tools ----

    @unittest.skipUnless(shutil.which("make"), "there is no make")
    def test_make(self):
        folder = self.root / "make"
        shutil.copytree(EXAMPLE / "make", folder)
        run("make", "-C", folder, f"SOURCE={EXAMPLE}", env=self.static)
        self.check_digits(folder / "digit", env=self.static)
        run("make", "-C", folder, f"SOURCE={EXAMPLE}", "clean", env=self.static)
        self.assertEqual([file.name for file in folder.iterdir()], ["Makefile"])

    @unittest.skipUnless(shutil.which("cmake") and shutil.which("make"), "there is no cmake or make")
    def test_cmake(self):
        folder = self.root / "cmake"
        run("cmake", "-S", EXAMPLE / "cmake", "-B", folder, env=self.static)
        run("cmake", "--build", folder, env=self.static)
        self.check_digits(folder / "digit", env=self.static)

    def test_meson(self):
        folder = self.root / "meson"
        run("meson", "setup", folder, EXAMPLE / "meson", env=self.static)
        run("meson", "compile", "-C", folder, env=self.static)
        self.check_digits(folder / "digit", env=self.static)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
