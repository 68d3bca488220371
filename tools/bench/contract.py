#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Contracts with weft, numpy, torch and jax, alternating, in weft's order and in the peers' own. See README.md."""

import argparse
import json
import math
import multiprocessing
import pathlib
import statistics
import sys

import contestants
import instance as forms
import needs

PATIENCE_S = 60  # for drawing operands and for the check


def parse_arguments():
    parser = argparse.ArgumentParser(prog="tools/bench/contract", description=__doc__)
    parser.add_argument("files", nargs="*", help="instance files or tables of expressions (default contractions.txt)")
    parser.add_argument("--cases", help="groups or beginnings of expressions, separated by spaces (default all)")
    parser.add_argument("--dtype", default="f32", help="f32, f64, c64 or c128, or several with commas (default f32)")
    parser.add_argument("--threads", type=int, default=1, help="of everyone (default 1)")
    parser.add_argument("--rounds", type=int, default=5, help="of all contestants (default 5)")
    parser.add_argument("--seconds", type=float, default=5, help="for the rounds of a case: fewer then (default 5)")
    parser.add_argument("--limit", type=float, default=10, help="seconds for a call and what prepares it (default 10)")
    parser.add_argument("--memory", type=float, default=4, help="GiB for arrays of a case (default 4)")
    parser.add_argument("--plan-seconds", type=float, default=0, help="weft's time budget (default: its own choice)")
    parser.add_argument("--peers", default=",".join(contestants.PEERS),
                        help=f"some of {', '.join(contestants.PEERS)} (default all)")
    parser.add_argument("--most", type=float, default=1e11,
                        help="multiplications a second: orders that would take longer than --limit are refused")
    parser.add_argument("--processor-time", action="store_true",
                        help="time that the process runs: for a machine that others keep busy, with one thread")
    parser.add_argument("--json", help="file that gets a line for each case")
    parser.add_argument("--table", nargs="+", metavar="FILE", help="measure nothing: print the table of such files")
    parser.add_argument("--library", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.peers = [name for name in options.peers.split(",") if name]
    if options.processor_time and options.threads != 1:
        parser.error("--processor-time counts all threads together: it needs --threads 1")
    for name in {*options.peers} - {*contestants.PEERS}:
        parser.error(f"there is no peer {name!r}")
    for name in {*options.dtype.split(",")} - {*contestants.DTYPES}:
        parser.error(f"there is no dtype {name!r}")
    return options


def chosen(options):
    """(case, dtype) of all that are asked for; one with a dtype of its own only once."""
    files = options.files or [pathlib.Path(__file__).with_name("contractions.txt")]
    cases = [case for path in files for case in forms.load_cases(path)]
    if options.cases:
        starts = tuple(options.cases.split())
        cases = [case for case in cases if case.group in starts or case.x.name.startswith(starts)]
    dtypes = options.dtype.split(",")
    return [(case, case.dtype or dtype) for dtype in dtypes for case in cases if not case.dtype or dtype == dtypes[0]]


# ---- the process that contracts ----


class Server:
    def __init__(self, options):
        self.options, self.process = options, None

    def start(self):
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=contestants.serve, args=(theirs, self.options), daemon=True)
        self.process.start()
        theirs.close()

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.join()
        self.process = None

    def ask(self, case, dtype):
        """The row of a case. Whoever takes too long, or ends the process, is left out of the next attempt."""
        excluded = {}
        while True:
            if self.process is None:
                self.start()
            self.pipe.send((case, dtype, excluded))
            who, answer = self.listen()
            if answer is not None:
                return answer
            self.stop()
            if who in excluded or who in (None, "the check"):
                return {"failures": {who or "operands": "no answer"}}
            excluded[who] = self.reason

    def listen(self):
        who = None
        while True:
            patience = self.options.limit if who not in (None, "the check") else PATIENCE_S
            if not self.pipe.poll(patience):
                self.reason = f"beyond {self.options.limit:g} s"
                return who, None
            try:
                word, what = self.pipe.recv()
            except EOFError:
                self.reason = "ended the process"
                return who, None
            if word == "done":
                return who, what
            who = what


# ---- figures ----


def scale(dtype):
    return 4 if dtype.startswith("c") else 1


def traffic(x, dtype):
    """Bytes of operands, of diagonals where labels repeat, and result, once."""
    elements = sum(math.prod(x.sizes[label] for label in set(labels)) for labels in [*x.inputs, x.output])
    return elements * {"bool": 1, "i32": 4, "f32": 4, "f64": 8, "c64": 8, "c128": 16}[dtype]


class Machine:
    """Multiplications a second of the fastest contestant of a large product, and bytes a second of a copy."""

    def __init__(self, server, options):
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            self.bandwidth = pool.apply(contestants.bandwidth, (options,))
        self.server, self.peaks = server, {}

    def peak(self, dtype):
        if dtype not in self.peaks:
            large = forms.Instance("peak", [(0, 1), (1, 2)], (0, 2), [2048] * 3)
            rows = self.server.ask(forms.Case("peak", large, "ij,jk->ik"), dtype)["contestants"]
            self.peaks[dtype] = 2048**3 / min(min(row["times_ms"]) for row in rows.values()) * 1e3
        return self.peaks[dtype]

    def roofline_ms(self, x, log10_flops, dtype):
        if dtype not in ("f32", "f64", "c64", "c128"):
            return traffic(x, dtype) / self.bandwidth * 1e3
        return max(10**log10_flops / self.peak(dtype), traffic(x, dtype) / self.bandwidth) * 1e3


def measure(options):
    server, results = Server(options), []
    machine = Machine(server, options)
    for case, dtype in chosen(options):
        row = {"case": case.x.name, "group": case.group, "dtype": dtype, "threads": options.threads}
        row |= server.ask(case, dtype)
        if "contestants" in row:
            row["roofline_ms"] = machine.roofline_ms(case.x, row["contestants"]["weft"]["log10_flops"], dtype)
            row |= {"peak": machine.peaks.get(dtype), "bandwidth": machine.bandwidth}
        results.append(row)
        print(short(row), file=sys.stderr)
        if options.json:
            with open(options.json, "a") as log:
                print(json.dumps(row), file=log)
    server.stop()
    return results


# ---- the table ----


def paired(row, name):
    """How much faster weft is: the median over rounds of the other's time over weft's."""
    ours = row["contestants"]["weft"]["times_ms"]
    return statistics.median(t / w for t, w in zip(row["contestants"][name]["times_ms"], ours))


def best_peer(row):
    speeds = [paired(row, name) for name in row.get("contestants", {}) if not name.startswith("weft")]
    return min(speeds) if speeds else None


def number(value, digits=3):
    return "-" if value is None else f"{value:.{digits}g}"


def short(row):
    rows = row.get("contestants", {})
    times = ", ".join(f"{name} {statistics.median(who['times_ms']):.4g} ms{wrong(who)}" for name, who in rows.items())
    failures = ", ".join(f"{name}: {why}" for name, why in row["failures"].items())
    return f"{row['case']} {row['dtype']}: {'; '.join(filter(None, (times, failures)))}"


def wrong(who):
    return "" if who["error"] is None or who["error"] <= 1 else f" (error {number(who['error'])})"


def cell(row, name):
    if name in row.get("contestants", {}):
        who = row["contestants"][name]
        return f"{number(statistics.median(who['times_ms']))}{wrong(who)}"
    return row["failures"].get(name, "-").split(":")[0]


def print_table(results):
    """Of each order what a peer took; a peer's own one is given where it has one."""
    for row in [row for row in results if "bandwidth" in row][:1]:
        print(f"threads: {row['threads']}, copies {number(row['bandwidth'] / 1e9)} GB/s, multiplications in 10^9/s: " +
              ", ".join(f"{dtype} {number(peak / 1e9)}" for dtype, peak in
                        {r["dtype"]: r["peak"] for r in results if r.get("peak")}.items()) + "\n")
    columns = [*contestants.PEERS, *(f"{name}, own order" for name in contestants.PEERS)]
    print("| contraction | log10 multiplies | planning | compiling | roofline | weft | " + " | ".join(columns) +
          " | roofline/weft | best peer/weft |")
    print("| --- |" + " ---: |" * (len(columns) + 7))
    for row in results:
        weft = row.get("contestants", {}).get("weft")
        name = f"| `{row['case']}` {row['dtype']} | "
        if weft is None:
            print(name + "; ".join(f"{who}: {why}" for who, why in row["failures"].items()) + " |")
            continue
        facts = [f"{weft['log10_flops']:.2f}", number(weft["plan_ms"]), number(weft["compile_ms"]),
                 number(row["roofline_ms"]), cell(row, "weft")]
        share = row["roofline_ms"] / statistics.median(weft["times_ms"])
        print(name + " | ".join(facts + [cell(row, peer) for peer in columns]) +
              f" | {number(share, 2)} | {number(best_peer(row))} |")


def print_summary(results):
    """Geometric means of each group."""
    print("\n| group | contractions | roofline/weft | best peer/weft | weft is at least as fast as all in |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for key in dict.fromkeys((row["group"], row["dtype"]) for row in results):
        rows = [row for row in results if (row["group"], row["dtype"]) == key and "weft" in row.get("contestants", {})]
        speeds = [speed for row in rows if (speed := best_peer(row)) is not None]
        shares = [row["roofline_ms"] / statistics.median(row["contestants"]["weft"]["times_ms"]) for row in rows]
        if speeds:
            print(f"| {key[0]}, {key[1]} | {len(rows)} | {statistics.geometric_mean(shares):.2f} | "
                  f"{statistics.geometric_mean(speeds):.2f} | {sum(speed >= 1 for speed in speeds)} |")


def main():
    options = parse_arguments()
    if options.table:
        results = [json.loads(line) for path in options.table for line in pathlib.Path(path).read_text().splitlines()]
    else:
        needs.modules("numpy")
        contestants.limit_threads(options.threads)
        results = measure(options)
    print_table(results)
    print_summary(results)
    sys.exit(any(wrong(who) for row in results for who in row.get("contestants", {}).values()))


if __name__ == "__main__":
    main()
