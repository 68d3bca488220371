# SPDX-License-Identifier: Apache-2.0
"""Multiplications of einsum's derivatives beside those that the planner counts for the contraction: gradient_cost.py
BUILD.

The result with all gradients takes three times as many at most, and so does the result with its tangent, for trees,
stars, rings, lattices, hyperedges and batches, in the planner's order and in given ones.
"""
import argparse
import ctypes
import math
import pathlib
import random
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from gradient_random import ORDERS, EinsumOptions
from binding import POINTER, SIZE, Ints, ints, items
from trial import Library

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

# ---- networks -------------------------------------------------------------------------------------------------------


def of_edges(draw, count, edges, extents, opened=()):
    """Operands 0 .. count - 1, a label for each edge between some of them; `opened` are in the result."""
    terms = [""] * count
    for letter, edge in zip(LETTERS, edges):
        for operand in edge:
            terms[operand] += letter
    names = LETTERS[:len(edges)]
    output = "".join(names[i] for i in opened)
    return ",".join(terms) + "->" + output, {letter: draw.choice(extents) for letter in names}


def networks(draw):
    tree = [(draw.randrange(i), i) for i in range(1, 24)]
    yield "tree", of_edges(draw, 24, tree, (2, 3, 4, 7))
    yield "tree with open labels", of_edges(draw, 12, tree[:11] + [(3,), (7,), (0,)], (2, 3, 5), (11, 12, 13))
    yield "star", of_edges(draw, 9, [(0, i) for i in range(1, 9)], (2, 3, 4))
    yield "star without a middle", ("ai,bi,ci,di->abcd", dict(a=3, b=4, c=5, d=2, i=6))
    yield "chain", ("ab,bc,cd,de,ef,fg->ag", dict(a=3, b=7, c=4, d=9, e=5, f=6, g=8))
    yield "ring", of_edges(draw, 12, [(i, (i + 1) % 12) for i in range(12)], (2, 3, 5))
    lattice = [(4 * y + x, 4 * y + x + 1) for y in range(4) for x in range(3)] + [(i, i + 4) for i in range(12)]
    yield "lattice", of_edges(draw, 16, lattice, (2, 3))
    hyper = [tuple(draw.sample(range(8), draw.choice((2, 3, 4)))) for _ in range(8)] + [(i,) for i in range(8)]
    yield "hyperedges", of_edges(draw, 8, hyper, (2, 3))
    yield "hyperedges with open labels", of_edges(draw, 8, hyper, (2, 3), (0, 3, 9))
    yield "batch", ("zab,zbc,zcd,zde->zae", dict(z=4, a=3, b=5, c=6, d=2, e=7))
    yield "attention", ("bqhd,bkhd->bhqk", dict(b=2, q=5, k=6, h=3, d=4))
    yield "elementwise", ("ab,ab,ab,b->ab", dict(a=5, b=6))


# ---- counting -------------------------------------------------------------------------------------------------------

def extents_of(text):
    return [int(extent) for extent in re.search(r": \w+\[([^\]]*)\]$", text).group(1).split(", ") if extent]


def count_products(text):
    """The multiplications of a program's dots and muls."""
    shapes, total = {}, 0
    for line in text.splitlines():
        match = re.match(r" +(%\w+) = (\w+)\(([^)]*)\)", line)
        if not match:
            continue
        name, op, operands = match.groups()
        shapes[name] = extents_of(line)
        if op == "mul":
            total += math.prod(shapes[name])
        if op == "dot":
            summed = re.search(r"contract_a = \[([^\]]*)\]", line).group(1)
            first = shapes[operands.split(", ")[0]]
            total += math.prod(shapes[name]) * math.prod(first[int(axis)] for axis in summed.split(", ") if axis)
    return total


class Counter:
    def __init__(self, build):
        self.weft = Library(build)
        self.weft.library.weft_einsum_plan_log10_flops.restype = ctypes.c_double

    def planned(self, text, shapes, options):
        plan = POINTER()
        lists = [ints(shape) for shape in shapes]
        self.weft.einsum_plan_create(None, text.encode(), SIZE(len(shapes)), items(Ints, lists),
                                     ctypes.byref(options), ctypes.byref(plan))
        flops = 10 ** self.weft.einsum_plan_log10_flops(plan)
        self.weft.einsum_plan_destroy(plan)
        return flops

    def traced(self, text, shapes, options, mode):
        """Multiplications of the result and of its gradients or of its tangent."""
        weft, graph, count = self.weft, self.weft.create_graph(), len(shapes)
        operands = [weft.input(graph, f"x{i}", "f8", shape) for i, shape in enumerate(shapes)]
        outputs = [weft.trace("einsum", text.encode(), operands, ctypes.byref(options))]
        if mode == "reverse":
            given = weft.trace("input", graph, b"g", weft.dtype("f8"), weft.tensor_shape(outputs[0]))
            outputs += weft.several("vjp", count, outputs, [given], operands)
        elif mode == "forward":
            given = [weft.input(graph, f"t{i}", "f8", shape) for i, shape in enumerate(shapes)]
            outputs += weft.several("jvp", 1, outputs, operands, given)
        program = weft.compile_some(graph, outputs, None)
        total = count_products(weft.program_text(program).decode())
        weft.program_release(program)
        weft.graph_destroy(graph)
        return total


def path_of(draw, count):
    path = []
    for left in range(count, 1, -1):
        path += draw.sample(range(left), 2)
    return path


def check(counter, title, text, extents, order, path):
    shapes = [[extents[letter] for letter in term] for term in text.split("->")[0].split(",")]
    options = EinsumOptions(size=ctypes.sizeof(EinsumOptions), order=ORDERS[order], path=ints(path), moves=200)
    planned = counter.planned(text, shapes, options)
    right = True
    for mode, most in (("value", 1), ("reverse", 3), ("forward", 3)):
        found = counter.traced(text, shapes, options, mode)
        if found > most * planned * (1 + 1e-9):
            print(f"{title}, {order}, {mode}: {found} multiplications, {found / planned:.3f} times those of {text}")
            right = False
    return right


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    counter, draw, failed, count = Counter(parser.parse_args().build), random.Random(7), 0, 0
    for title, (text, extents) in networks(draw):
        for order in ("auto", "left", "path", "path"):
            path = path_of(draw, text.count(",") + 1) if order == "path" else []
            failed += not check(counter, title, text, extents, order, path)
            count += 1
    print(f"{count} contractions, {failed} of them with too many multiplications")
    counter.weft.executor_destroy(counter.weft.executor)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
