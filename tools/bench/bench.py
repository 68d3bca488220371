#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures weft against hand-written loops and, on request, numpy, jax and onnxruntime. See README.md."""

import argparse
import datetime
import json
import os
import pathlib
import platform
import random
import statistics
import subprocess
import sys
import time

import native
import needs
import peers

SAMPLE_NS = 5_000_000  # a sample repeats short calls until it lasts about this long
# Thread pools spin for a while after their last call, and would take the next contestant's processors; on one thread
# little, but processor time is that of all threads.
CALM_S, CALM_ALONE_S = 0.25, 0.004
WARM_CALLS = 2  # before each sample: its arrays are in the caches then as far as they go
COMPILERS = ("jax", "onnxruntime")
PACKAGES = ["numpy", "jax", "onnxruntime", "onnx"]
TREE = pathlib.Path(__file__).resolve().parents[2]


def parse_arguments():
    parser = argparse.ArgumentParser(prog="tools/bench/run", description=__doc__)
    parser.add_argument("--threads", default="1", help="thread counts, one run each: 1,2 (default 1)")
    parser.add_argument("--cases", help="names or beginnings of names, separated by commas (default all)")
    parser.add_argument("--rounds", type=int, default=15, help="samples of each contestant (default 15)")
    parser.add_argument("--json", help="file for all figures")
    parser.add_argument("--peers", action="store_true", help="measure numpy, jax and onnxruntime too")
    parser.add_argument("--python", default=os.environ.get("WEFT_BENCH_PYTHON"),
                        help="an interpreter that has them (default $WEFT_BENCH_PYTHON)")
    parser.add_argument("--venv", help="make a virtual environment with the peers in this directory, or use it")
    parser.add_argument("--processor-time", action="store_true",
                        help="time that the process runs: for a machine that others keep busy, with one thread")
    parser.add_argument("--library", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not all(count.isdigit() and int(count) > 0 for count in options.threads.split(",")) or options.rounds < 1:
        parser.error("--threads takes positive numbers separated by commas, --rounds a positive number")
    if options.processor_time and options.threads != "1":
        parser.error("--processor-time adds up the time of all threads, so it says something of one thread only")
    return options


# ---- where the peers live ----


def make_environment(directory):
    """The interpreter of a virtual environment at `directory`, made when it is not there yet."""
    path = pathlib.Path(directory).resolve()
    if path.is_relative_to(TREE):
        sys.exit(f"bench: the virtual environment {path} would lie inside the tree {TREE}; name a directory outside it")
    python = path / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(path)], check=True, stdout=sys.stderr)
        subprocess.run([str(python), "-m", "pip", "install", "-q", *PACKAGES], check=True, stdout=sys.stderr)
    return str(python)


def find_interpreter(options):
    if not options.peers:
        return sys.executable
    if options.venv:
        return make_environment(options.venv)
    if options.python:
        return options.python
    sys.exit(f"bench: --peers needs --python with an interpreter that has {', '.join(PACKAGES)}, or --venv with a "
             "directory to make one in")


# ---- measuring, in a process of its own for each number of threads ----


def chosen(cases, wanted):
    if not wanted:
        return list(range(len(cases)))
    starts = wanted.split(",")
    names = [case.name.decode() for case in cases]
    for start in starts:
        if not any(name.startswith(start) for name in names):
            raise native.Failure(f"no case begins with {start!r}: there are {', '.join(names)}")
    return [i for i, name in enumerate(names) if name.startswith(tuple(starts))]


def by_processor(run):
    """The same measured by what the process took from its processor, while others may have had it."""
    def timed(repeat):
        begin = time.process_time_ns()
        run(repeat)
        return time.process_time_ns() - begin
    return timed


def contestants_of(bench, options):
    runs, compile_ms = {"floor": bench.floor, "weft": bench.weft}, {}
    compile_ms["weft"] = (bench.facts.program_ns + bench.facts.compile_ns) / 1e6
    for name, run, spent in peers.contestants(bench) if options.peers else ():
        runs[name] = run
        if spent is not None:
            compile_ms[name] = spent
    if options.processor_time:
        runs = {name: by_processor(run) for name, run in runs.items()}
    return runs, compile_ms


def repeats_of(run):
    """How often a sample repeats the call; the calls that find out also warm up."""
    repeat = 1
    while True:
        spent = run(repeat)
        if spent >= SAMPLE_NS / 2 or repeat >= 1 << 20:
            return max(1, round(repeat * SAMPLE_NS / spent)) if spent < SAMPLE_NS else repeat
        repeat *= 2


def sample(runs, rounds, threads):
    """Nanoseconds per call of each contestant, round by round, in another order each time: who follows one that reads
    the same arrays would always find them in the cache, and who follows one with copies of its own would not."""
    names, order = list(runs), random.Random(1)
    repeats = {name: repeats_of(runs[name]) for name in names}
    times = {name: [] for name in names}
    for _ in range(rounds):
        order.shuffle(names)
        for name in names:
            time.sleep(CALM_S if threads > 1 else CALM_ALONE_S)
            runs[name](WARM_CALLS)
            times[name].append(runs[name](repeats[name]) / repeats[name])
    return times


def measure(library, index, options):
    threads = int(options.threads)
    bench = native.Bench(library, index, threads)
    try:
        runs, compile_ms = contestants_of(bench, options)
        times = sample(runs, options.rounds, threads)
        runs.clear()
        case, facts = bench.case, bench.facts
        return {
            "case": case.name.decode(), "bound": case.bound.decode(), "dtype": case.dtype.decode(), "threads": threads,
            "bytes": case.bytes, "flops": case.flops, "error": facts.error, "steps": facts.steps,
            "peak_bytes": facts.peak_bytes, "compile_ms": compile_ms,
            "program_ms": facts.program_ns / 1e6, "times_ns": times,
            "median_ns": {name: statistics.median(t) for name, t in times.items()},
            "min_ns": {name: min(t) for name, t in times.items()},
            "relative": {name: paired(times[name], times["weft"]) for name in times if name != "weft"},
        }
    finally:
        bench.close()


def paired(others, ours):
    """Speed of ours relative to another's: the median over rounds of its time divided by ours."""
    return statistics.median(a / b for a, b in zip(others, ours))


def work(options):
    threads = int(options.threads)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    peers.limit_threads(threads)
    library = native.Library(options.library)
    results = {"machine": machine(), "threads": threads, "processor_time": options.processor_time, "results": []}
    if options.peers:
        results["peers"] = peers.versions(("numpy", *COMPILERS))
    for index in chosen(library.cases(), options.cases):
        result = measure(library, index, options)
        results["results"].append(result)
        print(f"{result['case']}: weft at {result['relative']['floor']:.2f} of the floor", file=sys.stderr)
    json.dump(results, sys.stdout)


def machine():
    model = platform.processor()
    with open("/proc/cpuinfo", encoding="ascii") as lines:
        for line in lines:
            if line.startswith("model name"):
                model = line.split(":")[1].strip()
                break
    return {"cpu": model, "cores": os.cpu_count(), "load": os.getloadavg()[0],
            "date": datetime.date.today().isoformat()}


# ---- reporting ----


def best_peer(result):
    named = {name: result["relative"][name] for name in peers.PEERS if name in result["relative"]}
    return min(named.values()) if named else None


def scaled(nanoseconds):
    if nanoseconds is None:
        return "-"
    for unit, size in (("ms", 1e6), ("us", 1e3)):
        if nanoseconds >= size:
            return f"{nanoseconds / size:.3g} {unit}"
    return f"{nanoseconds:.3g} ns"


def row_of(result):
    median, least, relative = result["median_ns"], result["min_ns"], result["relative"]
    cells = [result["case"], result["bound"]]
    cells += [f"{scaled(median.get(name))} ({scaled(least.get(name))})" if name in median else "-"
              for name in ("floor", "weft", *peers.PEERS)]
    peer = best_peer(result)
    cells += [f"{relative['floor']:.2f}", "-" if peer is None else f"{peer:.2f}"]
    compile_ms = result["compile_ms"]
    cells += [f"{compile_ms[name]:.1f}" if name in compile_ms else "-" for name in ("weft", *COMPILERS)]
    return "| " + " | ".join(cells) + " |"


def print_table(run):
    about = run["machine"]
    versions = "".join(f", {name} {version}" for name, version in run.get("peers", {}).items())
    clock = "processor time, " if run["processor_time"] else ""
    print(f"{about['cpu']}, {about['cores']} cores, threads: {run['threads']}, {clock}load {about['load']:.1f}"
          f"{versions}, {about['date']}\n")
    head = ["case", "bound", "floor", "weft", *peers.PEERS, "weft/floor", "weft/best peer", "compile ms",
            *(f"{name} compile ms" for name in COMPILERS)]
    print("| " + " | ".join(head) + " |")
    print("|" + "|".join([" --- "] * 2 + [" ---: "] * (len(head) - 2)) + "|")
    for result in run["results"]:
        print(row_of(result))
    print()


def main():
    options = parse_arguments()
    if options.worker:
        needs.modules(*(PACKAGES if options.peers else []))
        try:
            work(options)
        except native.Failure as failure:
            sys.exit(f"bench: {failure}")
        return
    python = find_interpreter(options)
    runs = []
    for threads in options.threads.split(","):
        command = [python, "-B", __file__, "--worker", "--library", options.library, "--threads", threads,
                   "--rounds", str(options.rounds)]
        command += ["--cases", options.cases] if options.cases else []
        command += ["--peers"] if options.peers else []
        command += ["--processor-time"] if options.processor_time else []
        worker = subprocess.run(command, stdout=subprocess.PIPE, env={**os.environ, **peers.MEMORY}, check=False)
        if worker.returncode != 0:
            sys.exit(worker.returncode)
        runs.append(json.loads(worker.stdout))
        print_table(runs[-1])
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(runs, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
