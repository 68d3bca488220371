# SPDX-License-Identifier: Apache-2.0
"""Runs a stage of the check in a process of its own and under a limit: whatever happens to it is one more failure."""
import multiprocessing
import os
import signal
import subprocess

GRACE = 30  # seconds that a stage has to end once it is told to


class Broken(Exception):
    """A step without which its stage cannot go on failed."""


class Stage:
    """What a stage does its work with: it starts programs, whose output goes to the log, and notes what came of them."""

    def __init__(self, log, environment):
        self.log, self.environment = log, environment
        self.passed, self.failed = [], []

    def note(self, name, good):
        (self.passed if good else self.failed).append(name)

    def start(self, *command, **environment):
        words = list(map(str, command))
        print("$", *words, file=self.log, flush=True)
        return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=self.log, stderr=subprocess.STDOUT,
                                env=os.environ | self.environment | environment)

    def call_all(self, commands, **environment):
        """The exit statuses of programs that run at the same time, and end when the stage is told to."""
        processes = [self.start(*command, **environment) for command in commands]
        try:
            return [process.wait() for process in processes]
        finally:
            for process in processes:
                finish(process)

    def call(self, *command, **environment):
        """The exit status of a program, which ends when the stage is told to."""
        status, = self.call_all([command], **environment)
        return status

    def require(self, *command, **environment):
        if self.call(*command, **environment) != 0:
            raise Broken(" ".join(map(str, command)))


def finish(process):
    """Ends a program that still runs."""
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(GRACE / 2)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class Told(BaseException):
    """The stage was told to end."""


def work(body, path, environment, sender):
    def tell(*_):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise Told

    os.setsid()
    signal.signal(signal.SIGTERM, tell)
    stage = Stage(None, environment)
    try:
        with open(path, "w", encoding="utf-8") as stage.log:
            body(stage)
    except Told:
        pass  # whoever told says why
    except Exception as broken:
        stage.failed.append(str(broken) if isinstance(broken, Broken) else f"{type(broken).__name__}: {broken}")
    sender.send((stage.passed, stage.failed))


def kill_group(process):
    if process.pid is None:
        return
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        process.kill()  # it has no group yet, or has ended
    process.join()


def wait(process, receiver, limit):
    """What a stage found, and why there may be more."""
    why = None
    try:
        if not receiver.poll(limit):
            why = f"it took more than {limit} s"
    except KeyboardInterrupt:
        why = "it was interrupted"
    if why:
        process.terminate()
        receiver.poll(GRACE)
    try:
        return (*receiver.recv(), why) if receiver.poll() else ([], [], why)
    except EOFError:
        process.join()
        return [], [], f"it ended with the status {process.exitcode}"


def run(body, path, limit, environment):
    """Runs body(Stage) for `limit` seconds at most: the names of what passed and of what failed, and whether it was
    interrupted."""
    receiver, sender = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.Process(target=work, args=(body, path, environment, sender), daemon=True)
    try:
        process.start()
        sender.close()
        passed, failed, why = wait(process, receiver, limit)
    finally:
        kill_group(process)
    return passed, failed + [why] * bool(why), why == "it was interrupted"
