#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plans instances with weft and with other planners, alternating, and compares their orders. See README.md."""

import argparse
import json
import multiprocessing
import pathlib
import statistics
import sys
import tempfile

import generate
import instance as forms
import needs
import planners

SUITE = [*(f"regular_{count}_0" for count in (20, 50, 100, 200, 300)), "lattice_", "circuit_"]


def parse_arguments():
    parser = argparse.ArgumentParser(prog="tools/bench/plan", description=__doc__)
    parser.add_argument("instances", nargs="*",
                        help="instance files, and names of generated networks or how they begin (default: " +
                        " ".join(SUITE) + ")")
    parser.add_argument("--planners", default="weft,weft-tenth,cotengra",
                        help="any of " + ", ".join(planners.MAKERS) + " (default weft,weft-tenth,cotengra)")
    parser.add_argument("--budgets", default="1", help="seconds, separated by commas (default 1)")
    parser.add_argument("--seeds", type=int, default=5, help="how many (default 5)")
    parser.add_argument("--threads", type=int, default=1, help="weft's; the others have one (default 1)")
    parser.add_argument("--processor-time", action="store_true",
                        help="budgets of the peers are what they take from the processor: for a machine that others "
                        "keep busy")
    parser.add_argument("--json", help="file that gets a line for each plan, as soon as it is there")
    parser.add_argument("--table", nargs="+", metavar="FILE", help="plan nothing: print the table of such files")
    parser.add_argument("--weft", help=argparse.SUPPRESS)
    parser.add_argument("--weft-option", action="append", default=[], help="one more word of weft's command line")
    options = parser.parse_args()
    for name in options.planners.split(","):
        if name not in planners.MAKERS:
            parser.error(f"there is no planner {name!r}: there are {', '.join(planners.MAKERS)}")
    for name in options.instances:
        if not name.endswith(".json") and not any(known.startswith(name) for known in generate.NETWORKS):
            parser.error(f"{name!r} is no .json file, and no network begins so: generate.py lists them")
    return options


def find_instances(names, folder):
    """(path, instance) of all; networks are written to `folder`."""
    for name in names:
        if name.endswith(".json"):
            yield name, forms.load(name)
            continue
        for known in generate.NETWORKS:
            if known.startswith(name):
                path = str(pathlib.Path(folder) / f"{known}.json")
                generate.make(known).save(path)
                yield path, forms.load(path)


# ---- one plan, in a process of its own: nobody finds what an earlier one left in a cache, and all can be ended ----


def work(planner, path, x, budget, seed, pipe):
    try:
        pairs, seconds = planner(path, x, budget, seed)
        flops, size = forms.cost(x, pairs)
        pipe.send({"flops": flops, "size": size, "seconds": seconds})
    except Exception as failure:  # of whatever kind: the table says that there is no order
        pipe.send({"failure": f"{type(failure).__name__}: {failure}"})


def plan(planner, path, x, budget, seed, patience):
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(False)
    process = context.Process(target=work, args=(planner, path, x, budget, seed, theirs))
    process.start()
    theirs.close()
    try:
        found = ours.recv() if ours.poll(patience) else {"failure": f"nothing after {patience:.0f} s"}
    except EOFError:
        found = {"failure": "it ended without an order"}
    process.kill()
    process.join()
    return found


def measure(options, folder):
    clock = planners.Clock(options.processor_time)
    made = {name: planners.MAKERS[name](options, clock) for name in options.planners.split(",")}
    instances = list(find_instances(options.instances or SUITE, folder))
    log = open(options.json, "a") if options.json else None
    rows = []
    for budget in map(float, options.budgets.split(",")):
        patience = (20 * budget + 20) * (10 if options.processor_time else 1)
        for path, x in instances:
            for seed in range(1, options.seeds + 1):
                names = list(made)
                for name in names[seed % len(names):] + names[:seed % len(names)]:
                    row = {"instance": x.name, "planner": name, "budget": budget, "seed": seed}
                    row |= plan(made[name], path, x, budget, seed, patience)
                    rows.append(row)
                    if log:
                        print(json.dumps(row), file=log, flush=True)
    return rows


# ---- the table ----


def figure(rows, key, digits=2):
    values = [row[key] for row in rows if key in row]
    if not values:
        return "-"
    most = f" ({min(values):.{digits}f})" if max(values) - min(values) > 0.5 * 10**-digits else ""
    return f"{statistics.median(values):.{digits}f}{most}"


def print_table(rows):
    names = [name for name in planners.MAKERS if any(row["planner"] == name for row in rows)]
    budgets = sorted({row["budget"] for row in rows})
    print("log10 of the multiplications (median over seeds, in parentheses the least); log2 of the largest result; "
          "seconds\n")
    print("| instance | budget s |" + "".join(f" {name} | log2 size | s |" for name in names))
    print("| --- | ---: |" + " ---: | ---: | ---: |" * len(names))
    for instance in dict.fromkeys(row["instance"] for row in rows):
        for budget in budgets:
            cells = []
            for name in names:
                of = [row for row in rows
                      if (row["instance"], row["budget"], row["planner"]) == (instance, budget, name)]
                size = [row["size"] for row in of if "size" in row]
                cells += [figure(of, "flops"), f"{statistics.median(size):.1f}" if size else "-",
                          f"{statistics.median(row['seconds'] for row in of if 'size' in row):.3g}" if size else "-"]
            print(f"| {instance} | {budget:g} | " + " | ".join(cells) + " |")
    for row in rows:
        if "failure" in row:
            print(f"{row['planner']} on {row['instance']}, {row['budget']:g} s, seed {row['seed']}: {row['failure']}",
                  file=sys.stderr)


def print_behind(rows):
    """Where the median of weft is above the least that any cotengra found."""
    for name in [name for name in ("weft", "weft-tenth") if any(row["planner"] == name for row in rows)]:
        behind, count = [], 0
        for key in dict.fromkeys((row["instance"], row["budget"]) for row in rows):
            of = [row for row in rows if (row["instance"], row["budget"]) == key and "flops" in row]
            ours = [row["flops"] for row in of if row["planner"] == name]
            theirs = [row["flops"] for row in of if row["planner"].startswith("cotengra")]
            if ours and theirs:
                count += 1
                if (more := statistics.median(ours) - min(theirs)) > 0.005:
                    behind.append(f"{key[0]}, {key[1]:g} s: {more:.2f}")
        print(f"\n{name} is above cotengra's least on {len(behind)} of {count}: {'; '.join(behind) or '-'}")


def main():
    options = parse_arguments()
    if options.table:
        rows = [json.loads(line) for path in options.table for line in pathlib.Path(path).read_text().splitlines()]
    else:
        needs.modules(*sorted({name.partition("-")[0] for name in options.planners.split(",")} - {"weft"}))
        planners.limit_threads()
        with tempfile.TemporaryDirectory() as folder:
            rows = measure(options, folder)
    print_table(rows)
    print_behind(rows)


if __name__ == "__main__":
    main()
