# SPDX-License-Identifier: Apache-2.0
"""Scripts that measure say what the interpreter lacks, and refuse what they cannot do: bench.py SOURCE DISPATCH."""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import unittest
import unittest.mock

SCRIPTS = pathlib.Path(sys.argv[1]).resolve() / "tools/bench"


class Needs(unittest.TestCase):
    """Without packages (-S) there is no numpy."""
    def check_lacks(self, module, name, *arguments):
        done = subprocess.run([sys.executable, "-S", "-B", SCRIPTS / name, *arguments], capture_output=True, text=True,
                              env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"})
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr, f"{sys.executable} has no module {module}; "
                                      "$WEFT_BENCH_PYTHON may name an interpreter that has\n")

    def test_numpy(self):
        for name in ["threads.py", "contract.py"]:
            self.check_lacks("numpy", name, "--library", "none")
        self.check_lacks("numpy", "permute.py", "--weft", "none")
        self.check_lacks("numpy and no ml_dtypes and no torch", "suite.py", "--worker", "--peers", "torch", "--library",
                         "none")
        self.check_lacks("numpy and no jax and no onnxruntime and no onnx", "bench.py", "--worker", "--peers",
                         "--library", "none")

    def test_peers_of_eager_arrays(self):
        self.check_lacks("numpy and no torch", "eager_peers.py", "torch")

    def test_planners(self):
        self.check_lacks("cotengra and no opt_einsum", "plan.py", "--weft", "none",
                         "--planners", "weft-tenth,cotengra-greedy,opt_einsum-dp,cotengra")


class Arguments(unittest.TestCase):
    def test_dispatch(self):
        for arguments in ["abc"], ["-3"], ["0"], ["5x"], [""], ["1", "2"]:
            with self.subTest(arguments):
                done = subprocess.run([sys.argv[2], *arguments], capture_output=True, text=True, check=False)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn("ROUNDS is a positive number", done.stderr)

    def test_rounds(self):
        for name in "suite.py", "extents.py":
            done = subprocess.run([sys.executable, "-B", SCRIPTS / name, "--rounds", "0", "--library", "none"],
                                  capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn("--rounds takes a positive number", done.stderr)

    def test_programs(self):
        sys.path.insert(0, str(SCRIPTS))
        import suite

        program = argparse.Namespace(family=b"softmax", name=b"4096 x 64")
        options = argparse.Namespace(families="soft", programs="64")
        self.assertEqual(suite.chosen([program, program], options), [0, 1])
        options.programs = "none"
        with self.assertRaisesRegex(SystemExit, "no such program"):
            suite.chosen([program], options)


class Peers(unittest.TestCase):
    """numpy's products are those of the processor's core, and a run with slow ones is refused."""
    def setUp(self):
        sys.path.insert(0, str(SCRIPTS))

    def test_the_core_is_chosen(self):
        import peers

        with unittest.mock.patch.dict(os.environ, OPENBLAS_CORETYPE="Prescott", OPENBLAS_L2_SIZE="1"):
            peers.choose_core()
            flags = re.search(r"^flags.*$", pathlib.Path("/proc/cpuinfo").read_text(), re.MULTILINE)
            cores = ["SkylakeX", "Haswell"] if flags and " avx2 " in flags[0] else ["Prescott"]
            self.assertIn(os.environ["OPENBLAS_CORETYPE"], cores)
            self.assertNotIn("OPENBLAS_L2_SIZE", os.environ)

    def test_slow_products_are_refused(self):
        import suite

        suite.refuse_slow(124, 100, "SkylakeX")
        with self.assertRaisesRegex(SystemExit, "1024 runs at 0.55 of that of BLIS, with OpenBLAS's core Prescott"):
            suite.refuse_slow(200, 110, "Prescott")


class Suite(unittest.TestCase):
    def test_every_program_has_peers(self):
        sys.path.insert(0, str(SCRIPTS))
        import suite_peers

        text = (SCRIPTS / "programs.c").read_text()
        programs = re.findall(r'{"([^"]+)",\s*"([^"]+)",\s*"', text)
        programs += [(family, f"{dtype} {extent}")
                     for dtype, extent, family in re.findall(r'SQUARE\((\w+), (\d+), "([^"]+)"', text)]
        self.assertEqual(len(programs), len(set(programs)))
        self.assertGreater(len(programs), 150)
        expected = [(family, name) for family, names in suite_peers.WAYS.items() for name in names]
        self.assertEqual(sorted(p for p in programs if p[0] != "einsum"), sorted(expected))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
