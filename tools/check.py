# SPDX-License-Identifier: Apache-2.0
"""Builds weft in each way it is tested and runs the tests of each; tools/check calls it in the root of the tree.

A stage prints one line, with what passed, what failed and its time; the output of what failed follows. Everything it
writes lies in build/.
"""
import json
import os
import pathlib
import subprocess
import sys
import time

BUILD = pathlib.Path("build")
LOGS = BUILD / "check"
CONCURRENT = ["cache", "concurrent", "executor", "lanes", "pool", "steps"]
FUZZ_SECONDS = 5
FUZZ_FLAGS = "-fsanitize=fuzzer-no-link,address,undefined"
# use_tls: LeakSanitizer of gcc 12 takes the TLS block of a library loaded later, if it begins 16 bytes into a page, for
# one of an old glibc, and ends with signal 11 on what it reads there.
SANITIZERS = {
    "ASAN_OPTIONS": "detect_stack_use_after_return=1",
    "LSAN_OPTIONS": "use_tls=0:print_suppressions=0",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1",
}


class Broken(Exception):
    """A step without which its stage cannot go on failed."""


def call(log, command, **environment):
    log.write(f"$ {' '.join(map(str, command))}\n")
    log.flush()
    return subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, env=os.environ | environment).returncode


def require(log, command, **environment):
    if call(log, command, **environment) != 0:
        raise Broken(" ".join(map(str, command)))


def configure(log, directory, options, **environment):
    if (directory / "build.ninja").exists():
        require(log, ["meson", "configure", directory, *options])
    else:
        require(log, ["meson", "setup", directory, *options], **environment)


def meson_tests(log, directory, selection=()):
    """Runs tests of a build; the names of those that passed and of those that failed."""
    report = directory / "meson-logs" / "testlog.json"
    report.unlink(missing_ok=True)
    options = ["--print-errorlogs", "--timeout-multiplier", "6", *selection]
    call(log, ["meson", "test", "-C", directory, *options], **SANITIZERS)
    if not report.exists():
        raise Broken(f"meson test -C {directory}")
    results = [json.loads(line) for line in report.read_text().splitlines()]
    passed = [r["name"] for r in results if r["result"] in ("OK", "EXPECTEDFAIL")]
    failed = [r["name"] for r in results if r["result"] not in ("OK", "EXPECTEDFAIL", "SKIP")]
    return passed, failed


def percent(part, whole):
    return f"{100 * part / whole:5.1f} %" if whole else "    - "


def print_coverage(log, directory):
    """What the tests reached of each folder; LOGS/coverage.txt has the lines they did not."""
    summary, folders = LOGS / "coverage.json", ["lib", "runtime", "backends", "extensions"]
    filters = [word for folder in folders for word in ("--filter", f"{folder}/")]
    require(log, ["gcovr", "--root", ".", *filters, "--json-summary", summary, "--txt", LOGS / "coverage.txt",
                  "--exclude-unreachable-branches", directory])
    files = json.loads(summary.read_text())["files"]
    for folder in folders:
        inside = [f for f in files if f["filename"].startswith(f"{folder}/")]
        lines, branches = (percent(sum(f[f"{what}_covered"] for f in inside), sum(f[f"{what}_total"] for f in inside))
                           for what in ("line", "branch"))
        print(f"covered  {folder:10} {lines} of lines {branches} of branches", flush=True)


def plain(log):
    configure(log, BUILD, ["--werror"])
    require(log, ["ninja", "-k", "0", "-C", BUILD])
    return meson_tests(log, BUILD)


def address(log):
    directory = BUILD / "asan"
    options = ["-Db_sanitize=address,undefined", "-Doptimization=1", "-Db_coverage=true"]
    configure(log, directory, [*options, "-Dc_args=-fprofile-update=atomic"])
    for counts in directory.rglob("*.gcda"):
        counts.unlink()
    require(log, ["ninja", "-k", "0", "-C", directory])
    results = meson_tests(log, directory)
    print_coverage(log, directory)
    return results


def thread(log):
    directory = BUILD / "tsan"
    configure(log, directory, ["-Db_sanitize=thread"])
    return meson_tests(log, directory, CONCURRENT)


def fuzz(log):
    directory = BUILD / "fuzz"
    options = ["-Dfuzzers=true", "-Db_lundef=false", f"-Dc_args={FUZZ_FLAGS}", f"-Dc_link_args={FUZZ_FLAGS}"]
    configure(log, directory, options, CC="clang-19")
    targets = json.loads(subprocess.check_output(["meson", "introspect", "--targets", directory]))
    names = sorted(t["name"] for t in targets if t["name"].startswith("fuzz-"))
    require(log, ["meson", "compile", "-C", directory, *names])
    passed, failed = [], []
    for name in names:
        limits = [f"-max_total_time={FUZZ_SECONDS}", "-print_final_stats=1", f"-artifact_prefix={LOGS}/{name}-"]
        status = call(log, [directory / "test" / name, *limits], **SANITIZERS)
        (failed if status else passed).append(name)
    return passed, failed


STAGES = {"plain": plain, "address": address, "thread": thread, "fuzz": fuzz}


def run_stage(name, body):
    begin = time.monotonic()
    path = LOGS / f"{name}.log"
    with path.open("w") as log:
        try:
            passed, failed = body(log)
        except Broken as broken:
            passed, failed = [], [str(broken)]
    print(f"{name:8} {len(passed):4} passed {len(failed):3} failed {time.monotonic() - begin:6.1f} s", flush=True)
    if failed:
        print(f"failed: {', '.join(failed)}; the end of {path}:")
        print("".join(path.read_text(errors="replace").splitlines(keepends=True)[-200:]), flush=True)
    return len(passed), len(failed)


def main():
    LOGS.mkdir(parents=True, exist_ok=True)
    counts = [run_stage(name, body) for name, body in STAGES.items()]
    passed, failed = (sum(column) for column in zip(*counts))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
