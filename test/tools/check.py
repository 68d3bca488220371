# SPDX-License-Identifier: Apache-2.0
"""The check itself, and tools/layers: check.py SOURCE. Stages that break off are failures; programs of unknown packages
and includes that point up are named."""
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

SOURCE = pathlib.Path(sys.argv[1]).resolve()
sys.path.insert(0, str(SOURCE / "tools/check.d"))
import check  # noqa: E402
import programs  # noqa: E402
import stage as runner  # noqa: E402


class Stages(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.log = pathlib.Path(folder.name) / "log"

    def run_stage(self, *bodies, limit=60, log=None):
        """What becomes of a stage that does these things one after the other."""
        def body(stage):
            stage.note("first", True)
            for each in bodies:
                each(stage)
        return runner.run(body, log or self.log, limit, {"WORD": "given"})

    def test_passes(self):
        def work(stage):
            stage.require("sh", "-c", "echo $WORD $OTHER", OTHER="once")
            stage.note("second", stage.call("/bin/false") == 0)
        self.assertEqual(self.run_stage(work), (["first"], ["second"], False))
        self.assertEqual(self.log.read_text(), "$ sh -c echo $WORD $OTHER\ngiven once\n$ /bin/false\n")

    def test_runs_side_by_side(self):
        def work(stage):
            for status in stage.call_all([["sh", "-c", "exit 3"], ["sh", "-c", "exit 0"]]):
                stage.note(f"with {status}", status == 0)
        self.assertEqual(self.run_stage(work), (["first", "with 0"], ["with 3"], False))

    def test_breaks_off(self):
        def divide(_):
            return 1 // 0
        for body, reason in [(lambda stage: stage.require("sh", "-c", "exit 3"), "sh -c exit 3"),
                             (lambda stage: stage.call("no-such-program"), "FileNotFoundError: .*no-such-program.*"),
                             (lambda _: signal.raise_signal(signal.SIGKILL), "it ended with the status -9"),
                             (lambda _: sys.exit(0), "it ended with the status 0"),
                             (divide, "ZeroDivisionError: .*")]:
            with self.subTest(reason):
                _, failed, interrupted = self.run_stage(body)
                self.assertRegex("|".join(failed), f"^{reason}$")
                self.assertFalse(interrupted)

    def test_full_disk(self):
        _, failed, _ = self.run_stage(lambda stage: stage.call("/bin/true"), log="/dev/full")
        self.assertRegex("|".join(failed), "^OSError: .*No space left on device")

    def test_takes_too_long(self):
        def wait(stage):
            try:
                stage.call("/bin/sleep", "1000")
            finally:
                stage.note("sleeper", False)
        begin = time.monotonic()
        self.assertEqual(self.run_stage(wait, limit=5), (["first"], ["sleeper", "it took more than 5 s"], False))
        self.assertLess(time.monotonic() - begin, 500)

    def test_leaves_nothing_running(self):
        def leave(stage):
            stage.note(stage.start("/bin/sleep", "1000").pid, True)
            raise runner.Broken("early")
        (_, number), failed, _ = self.run_stage(leave)
        self.assertEqual(failed, ["early"])
        for _ in range(100):
            state = pathlib.Path(f"/proc/{number}/stat")
            if not state.exists() or state.read_text().split()[2] == "Z":
                return
            time.sleep(0.1)
        self.fail(f"process {number} runs on")


class Turns(unittest.TestCase):
    def test_takes_one_of_each_group(self):
        tests = [{"name": f"{base}-{i}", "suite": ["weft:unit", "weft:turn"]}
                 for base, count in (("a-b", 4), ("c", 11)) for i in range(count)]
        tests += [{"name": name, "suite": ["weft:unit"]} for name in ("c-0", "d", "x-86")]
        taken = [check.choose(tests, turn) for turn in range(44)]
        self.assertEqual({len(names) for names in taken}, {5})
        self.assertTrue(all({"c-0", "d", "x-86"} < set(names) for names in taken))
        self.assertEqual({name for names in taken for name in names}, {test["name"] for test in tests})


class Last(unittest.TestCase):
    """The last line, whatever breaks."""

    def check(self, body, during=lambda process: None):
        code = ("import check, stage, signal\n"
                "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # which a shell's background ignores
                f"{body}\nraise SystemExit(check.main())")
        with tempfile.TemporaryDirectory() as folder:
            process = subprocess.Popen([sys.executable, "-c", code], cwd=folder, stdout=subprocess.PIPE, text=True,
                                       stderr=subprocess.STDOUT, 
                                       env={"PYTHONPATH": SOURCE / "tools/check.d", "PYTHONDONTWRITEBYTECODE": "1"})
            during(process)
            out = process.communicate(timeout=120)[0].splitlines()
        return process.returncode, out

    def test_no_setup(self):
        status, out = self.check("pass")
        self.assertEqual((status, out[-1]), (1, "0 passed, 1 failed"))

    def test_stages(self):
        given = """
check.check_programs = lambda: True
def good(stage): stage.note("a", True)
def bad(stage): stage.require("no-such-program")
check.STAGES = {"one": (good, 9), "two": (bad, 9), "three": (good, 9)}"""
        status, out = self.check(given)
        self.assertEqual((status, out[-1]), (1, "2 passed, 1 failed"))
        self.assertEqual([line.split()[0] for line in out if line.endswith(" s")], ["one", "two", "three"])

    def test_interrupted(self):
        given = """
check.check_programs = lambda: True
def good(stage): stage.note("a", True)
def slow(stage):
    print("waiting", flush=True)
    stage.call("/bin/sleep", "1000")
check.STAGES = {"one": (good, 9), "two": (slow, 999), "three": (good, 9)}"""
        for number in [signal.SIGINT, signal.SIGTERM]:
            def interrupt(process):
                while process.stdout.readline() != "waiting\n":
                    pass
                process.send_signal(number)
            with self.subTest(number):
                status, out = self.check(given, interrupt)
                self.assertEqual((status, out[-1]), (1, "1 passed, 1 failed"))
                self.assertNotIn("three", "".join(out))


class Programs(unittest.TestCase):
    def problems(self, packages, **more):
        return list(programs.problems(packages, **more))

    def test_setup_installs_all(self):
        packages = subprocess.run([SOURCE / "tools/setup", "--list"], capture_output=True, text=True, check=True)
        self.assertEqual(self.problems(packages.stdout.split()), [])

    def test_stages_find_no_others(self):
        with tempfile.TemporaryDirectory() as folder:
            path = programs.link(pathlib.Path(folder) / "programs")
            found = {file.name for file in pathlib.Path(path).iterdir()}
        self.assertLessEqual({"cc", "meson", "python3", "sh", "rm", "cat", "bash"}, found)
        self.assertFalse({"apt-get", "g++-12", "clang", "vi"} & found)

    def test_names_what_is_wrong(self):
        self.assertEqual(self.problems([], programs=["sh", "no-such-program"], modules=[]),
                         ["no-such-program is not there"])
        self.assertEqual(self.problems([], programs=["cc"], modules=["numpy", "no_such_module"]), [
            "cc is of the package gcc, which tools/setup does not install",
            "the module numpy of python3 is of the package python3-numpy, which tools/setup does not install",
            "the module no_such_module of python3 is not there"])


class Layers(unittest.TestCase):
    FILES = {"lib/text/low.c": '#include "lib/build/high.h"\n', "lib/build/high.h": '#include "lib/build/other.h"\n',
             "lib/build/other.h": '#include "lib/build/high.h"\n', "runtime/run/run.c": '#include "lib/text/low.h"\n',
             "lib/text/low.h": "", "lib/attic/old.h": "", "lib/README.md": "", "lib/build/fine.c": '#include "lib/text/low.h"\n',
             "runtime/base/low.c": '#include "runtime/run/high.h"\n', "runtime/run/high.h": "", "runtime/README.md": ""}
    FAULTS = ["runtime/base/low.c includes runtime/run/high.h: runtime/base stands below runtime/run",
              "runtime/run/run.c includes lib/text/low.h: runtime may not include lib",
              "lib/text/low.c includes lib/build/high.h: lib/text stands below lib/build",
              "headers include each other: lib/build/high.h lib/build/other.h lib/build/high.h",
              "lib/attic has no floor", "the table in lib/README.md is not what tools/layers --draw prints",
              "the table in runtime/README.md is not what tools/layers --draw prints"]

    def test_names_what_points_up(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in self.FILES.items():
                path = pathlib.Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            done = subprocess.run([SOURCE / "tools/layers"], cwd=folder, stdout=subprocess.PIPE, text=True)
        self.assertEqual((done.returncode, done.stdout.splitlines()), (1, self.FAULTS))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
