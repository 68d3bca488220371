# SPDX-License-Identifier: Apache-2.0
"""Signals, and what is told while a search goes on: interrupt.py WEFT."""
import json
import os
import pathlib
import pty
import random
import signal
import subprocess
import time

from support import OK, WEFT, Command, main

COUNT = 120
LONG = ["--time-budget", "20", "--objective", "flops"]


def regular(count):
    """A random graph in which each tensor has three links."""
    ends = [i // 3 for i in range(3 * count)]
    random.Random(1).shuffle(ends)
    inputs = [[] for _ in range(count)]
    for i, end in enumerate(ends):
        inputs[end].append(i // 2)
    return {"inputs": inputs, "output": [], "size_dict": {str(i): 2 for i in range(3 * count // 2)}}


class Interrupt(Command):
    def setUp(self):
        super().setUp()
        (self.folder / "regular.json").write_text(json.dumps(regular(COUNT)))

    def start(self, *arguments, **options):
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        process = subprocess.Popen([WEFT, *arguments], cwd=self.folder, **{**pipes, **options})
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def interrupt(self, number, *more):
        """Ends a search once it has an order; what it prints."""
        process = self.start("einsum", "--instance", "regular.json", *LONG, "--progress", *more)
        told = []
        while not told or "10^" not in told[-1]:
            told.append(process.stderr.readline())
            self.assertRegex(told[-1], r"^searching for \d+\.\d s of 20 s(: 10\^\d+\.\d\d multiplies, by [a-z]+)?\n$")
        process.send_signal(number)
        out, error = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 128 + number)
        return out, error.splitlines()[-1]

    def check_order(self, text):
        self.assertEqual(len(json.loads(text)), COUNT - 1)
        (self.folder / "order").write_text(text)
        self.assertEqual(self.weft("einsum", "--instance", "regular.json", "--plan-only", "--order", "order")[0], OK)

    def test_plan_only(self):
        for number in [signal.SIGINT, signal.SIGTERM]:
            out, error = self.interrupt(number, "--plan-only", "--stats", "--tree", "tree.txt")
            self.assertRegex(error, r"^weft einsum: interrupted after \d+\.\d s; the order is the best that was found until "
                                    r"then$")
            lines = out.splitlines()
            self.assertEqual(lines[0], f"operands            {COUNT}")
            self.check_order(lines[-2])
            self.assertEqual(json.loads(lines[-1])["operands"], COUNT)
            self.assertGreater((self.folder / "tree.txt").stat().st_size, 1000)

    def test_forms(self):
        out, _ = self.interrupt(signal.SIGINT, "--plan-only", "--print-order", "path")
        self.check_order(out.splitlines()[-1])

    def test_runs(self):
        (self.folder / "r.npy").write_text("old")
        out, error = self.interrupt(signal.SIGINT, "-o", "r.npy")
        self.assertRegex(error, r"^weft einsum: interrupted after .*, and nothing was run$")
        self.check_order(out.splitlines()[-1])
        self.assertEqual((self.folder / "r.npy").read_text(), "old")

    def test_second_signal_ends_at_once(self):
        """Where nothing looks at the first: nobody reads the pipe that is to be written."""
        os.mkfifo(self.folder / "pipe")
        process = self.start("einsum", "ij->", "a.npy", "-o", "pipe", "--stats")
        asleep = 0
        while asleep < 10:
            time.sleep(0.05)
            state = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0]
            asleep = asleep + 1 if state == "S" else 0
        process.send_signal(signal.SIGINT)
        with self.assertRaises(subprocess.TimeoutExpired):
            process.wait(0.3)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(60), -signal.SIGINT)

    def test_ignored_signals_stay_ignored(self):
        process = self.start("einsum", "--instance", "regular.json", "--plan-only", "--time-budget", "2", "--progress",
                             preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
        process.stderr.readline()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, OK)

    def test_terminal(self):
        """One line that changes, and is gone at the end; nothing without a terminal or --progress."""
        quiet = ["einsum", "--instance", "regular.json", "--plan-only", "--time-budget", "1.5"]
        self.assertEqual(self.weft(*quiet)[2], "")
        screen, terminal = pty.openpty()
        process = self.start(*quiet, stderr=terminal)
        os.close(terminal)
        shown = b""
        try:
            while piece := os.read(screen, 4096):
                shown += piece
        except OSError:  # how the end shows
            pass
        os.close(screen)
        self.assertEqual(process.wait(60), OK)
        self.assertRegex(shown.decode(), r"^(\rsearching for \d+\.\d s of 1\.5 s(: 10\^\d+\.\d\d multiplies, by [a-z]+)? *)+"
                                         r"\r *\r$")


if __name__ == "__main__":
    main()
