# SPDX-License-Identifier: Apache-2.0
"""Builds weft in each way it is tested and runs the tests of each; tools/check calls it in the root of the tree.
--quick is for every commit: one build, without what takes longest, in three minutes. --coverage prints what the tests of
--quick reach, and runs nothing else.

A stage prints one line, with what passed, what failed and its time; the output of what failed follows. Everything it
writes lies in build/. The last line is "N passed, N failed", whatever happens.
"""
import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import programs
import stage as runner
from stage import Broken

FOLDER = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path("build")
LOGS = BUILD / "check"
CONCURRENT = ["builds", "cache", "chain", "concurrent", "disk", "executor", "branches", "pool",
              "specialize", "steps", "store", "tiers"]
FUZZ_SECONDS = 10
RANDOM_SECONDS = 120
# Of what debuggers read, backtraces need the lines alone, which take a quarter less to compile.
LINES = "-g1"
LIGHT = ["-Doptimization=1", f"-Dc_args={LINES}"]
# Compiled ahead of time: sanitizers see nothing of it, so the build of `plain` makes it for all.
BITCODE = f"-Dbitcode={(BUILD / 'runtime/freestanding').resolve()}"
SANITIZERS = {
    "ASAN_OPTIONS": "detect_stack_use_after_return=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "TSAN_OPTIONS": f"halt_on_error=1:second_deadlock_stack=1:suppressions={FOLDER / 'races.txt'}",
}


def configure(stage, directory, options, **environment):
    if (directory / "build.ninja").exists():
        stage.require("meson", "configure", directory, *options)
    else:
        stage.require("meson", "setup", directory, *options, **environment)


def configure_clang(stage, directory, *options, flags=""):
    """With the sanitizers of clang. That of gcc 12 reports the TLS of a library loaded later as a leak; a suppression helps,
    but looking it up takes 0.2 s in each process. Generated code does not say of which type its functions are. What does not
    go on after an error is smaller, and compiles faster."""
    checks = "-fno-sanitize=function -fno-sanitize-recover=all"
    configure(stage, directory, ["-Db_sanitize=address,undefined", "-Db_lundef=false", f"-Dc_args={LINES} {checks} {flags}",
                                 *options], CC="clang-19")


def build(stage, directory, *targets):
    stage.require("ninja", "-k", "0", "-C", directory, *targets)


def meson_tests(stage, directory, *selection):
    """Runs tests of a build and notes them, those too that run when the stage is told to end."""
    report = directory / "meson-logs" / "testlog.json"
    report.unlink(missing_ok=True)
    options = ["--no-rebuild", "--print-errorlogs", "--timeout-multiplier", "6", *selection]
    try:
        stage.call("meson", "test", "-C", directory, *options)
    finally:
        for result in map(json.loads, report.read_text().splitlines() if report.exists() else ()):
            if result["result"] != "SKIP":
                stage.note(result["name"].split(" / ")[-1], result["result"] in ("OK", "EXPECTEDFAIL"))
    if not report.exists():
        raise Broken(f"meson test -C {directory}")


def percent(part, whole):
    return f"{100 * part / whole:5.1f} %" if whole else "    - "


def print_coverage(stage, directory):
    """What the tests reached of each folder; LOGS/coverage.txt has the lines they did not."""
    summary, folders = LOGS / "coverage.json", ["lib", "runtime", "backends", "extensions"]
    filters = [word for folder in folders for word in ("--filter", f"{folder}/")]
    # Threads that count at the same time lose some, so that a line which gcov calculates may come out below zero. To count
    # atomically takes ten times as long as everything else in C.
    options = ["--exclude-unreachable-branches", "--gcov-ignore-parse-errors", "-j", "2"]
    stage.require("gcovr", "--root", ".", *filters, "--json-summary", summary, "--txt", LOGS / "coverage.txt", *options,
                  directory)
    files = json.loads(summary.read_text())["files"]
    for folder in folders:
        inside = [f for f in files if f["filename"].startswith(f"{folder}/")]
        lines, branches = (percent(sum(f[f"{what}_covered"] for f in inside), sum(f[f"{what}_total"] for f in inside))
                           for what in ("line", "branch"))
        print(f"covered  {folder:10} {lines} of lines {branches} of branches", flush=True)


def print_machine(stage):
    """What everything else runs on: the processor, and `weft info` without its lists of features and ops."""
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    names = {line.partition(": ")[2] for line in lines if line.startswith("model name")}
    print(f"processor   {' and '.join(names)}, {len(os.sched_getaffinity(0))} cores")
    info = subprocess.run([BUILD / "tools/weft", "info"], stdout=subprocess.PIPE, text=True, check=True).stdout
    print("\n".join(line.split(" +")[0] for line in info.split("\n\n")[0].splitlines()), flush=True)


def build_plain(stage):
    configure(stage, BUILD, ["--werror", f"-Dc_args={LINES}"])
    build(stage, BUILD)
    print_machine(stage)


def choose(tests, turn):
    """Names of all tests, but of those of the suite `turn` that differ in the number at their end one alone."""
    groups = {}
    for test in tests:
        of_turn = "weft:turn" in test["suite"]
        groups.setdefault(test["name"].rpartition("-")[0] if of_turn else test["name"], []).append(test["name"])
    return [names[turn % len(names)] for names in groups.values()]


def plain(stage):
    """Of the suite `turn` another part each time."""
    build_plain(stage)
    turn = time.time_ns() // 10**9 % 1000
    print(f"turn     {turn}", flush=True)
    tests = json.loads(subprocess.check_output(["meson", "introspect", "--tests", BUILD]))
    meson_tests(stage, BUILD, *choose(tests, turn))


def quick(stage):
    build_plain(stage)
    meson_tests(stage, BUILD, "--no-suite", "long", "--no-suite", "turn")


def address(stage):
    directory = BUILD / "address"
    configure_clang(stage, directory, "-Doptimization=1", BITCODE)
    build(stage, directory)
    meson_tests(stage, directory)


def coverage(stage):
    directory = BUILD / "coverage"
    configure(stage, directory, ["-Db_coverage=true", *LIGHT])
    for counts in directory.rglob("*.gcda"):
        counts.unlink()
    build(stage, directory)
    meson_tests(stage, directory, "--no-suite", "long", "--no-suite", "turn")
    print_coverage(stage, directory)


def thread(stage):
    directory = BUILD / "tsan"
    configure(stage, directory, ["-Db_sanitize=thread", BITCODE, *LIGHT])
    build(stage, directory, "backends/llvm/libweft-llvm.so", "runtime/libweft-rt.a", "tools/weft",
          *(f"test/unit-{name}" for name in CONCURRENT))
    meson_tests(stage, directory, *CONCURRENT, "object-api")


def fuzz(stage):
    """Not optimised: that would take longer than the fuzzers run."""
    directory = BUILD / "fuzz"
    configure_clang(stage, directory, "-Doptimization=0", "-Dfuzzers=true", flags="-fsanitize=fuzzer-no-link")
    targets = json.loads(subprocess.check_output(["meson", "introspect", "--targets", directory]))
    names = sorted(t["name"] for t in targets if t["name"].startswith("fuzz-"))
    build(stage, directory, *(f"test/{name}" for name in names))
    limits = [f"-max_total_time={FUZZ_SECONDS}", "-print_final_stats=1"]
    for pair in (names[i:i + 2] for i in range(0, len(names), 2)):
        commands = [[directory / "test" / name, *limits, f"-artifact_prefix={LOGS}/{name}-"] for name in pair]
        for name, status in zip(pair, stage.call_all(commands)):
            stage.note(name, status == 0)


def random(stage):
    """New programs each time; build/test/random --seed takes one again."""
    seed = time.time_ns() // 10**6 * 1000
    print(f"random   seeds from {seed}", flush=True)
    options = ["--seed", seed, "--seconds", RANDOM_SECONDS, "--jobs", os.cpu_count(), "--out", LOGS]
    stage.note("random", stage.call(BUILD / "test/random", *options) == 0)


# Each with the seconds after which it is broken off.
STAGES = {"plain": (plain, 1800), "random": (random, 900), "address": (address, 1800), "thread": (thread, 600),
          "fuzz": (fuzz, 900)}
QUICK = {"quick": (quick, 900)}
COVERAGE = {"coverage": (coverage, 1800)}


def run_stage(name, body, limit, environment):
    """How many passed and failed, and whether there is to be no other stage."""
    begin = time.monotonic()
    path = LOGS / f"{name}.log"
    passed, failed, interrupted = runner.run(body, path, limit, environment)
    print(f"{name:8} {len(passed):4} passed {len(failed):3} failed {time.monotonic() - begin:6.1f} s", flush=True)
    if failed:
        print(f"failed: {', '.join(failed)}; the end of {path}:")
        print("".join(path.read_text(errors="replace").splitlines(keepends=True)[-200:]), flush=True)
    return len(passed), len(failed), interrupted


def check_programs():
    """Prints what is wrong with the programs that stages start; whether there is nothing."""
    packages = subprocess.run(["tools/setup", "--list"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    found = list(programs.problems(packages))
    for sentence in found:
        print(f"programs: {sentence}")
    return not found


def check(stages, totals):
    LOGS.mkdir(parents=True, exist_ok=True)
    if not check_programs():
        totals["failed"] += 1
        return
    environment = SANITIZERS | {"PATH": programs.link(LOGS / "programs")}
    for name, (body, limit) in stages.items():
        passed, failed, interrupted = run_stage(name, body, limit, environment)
        totals["passed"] += passed
        totals["failed"] += failed
        if interrupted:
            break


def main():
    parser = argparse.ArgumentParser(prog="tools/check", description=__doc__)
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--quick", dest="stages", action="store_const", const=QUICK, default=STAGES)
    chosen.add_argument("--coverage", dest="stages", action="store_const", const=COVERAGE)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    totals = {"passed": 0, "failed": 0}
    try:
        check(options.stages, totals)
    except (Exception, KeyboardInterrupt) as broken:
        totals["failed"] += 1
        print(f"broken off: {type(broken).__name__}: {broken}")
    print(f"{totals['passed']} passed, {totals['failed']} failed")
    return 1 if totals["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
