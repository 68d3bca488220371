#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes networks as instance files: generate.py FOLDER NAME... ; without names it lists them."""

import itertools
import pathlib
import random
import sys

from instance import Instance


def from_edges(name, count, edges, extent=2):
    """A tensor for each vertex, a label for each edge."""
    inputs = [[] for _ in range(count)]
    for label, (a, b) in enumerate(edges):
        inputs[a].append(label)
        inputs[b].append(label)
    return Instance(name, inputs, [], [extent] * len(edges))


def regular(count, seed, degree=3):
    """A random regular graph without loops and double edges: pairs of stubs are drawn until they make one."""
    draw = random.Random(seed)
    while True:
        stubs, edges = [vertex for vertex in range(count) for _ in range(degree)], set()
        while stubs:
            draw.shuffle(stubs)
            left = []
            for a, b in zip(stubs[::2], stubs[1::2]):
                edge = (min(a, b), max(a, b))
                if a == b or edge in edges:
                    left += [a, b]
                else:
                    edges.add(edge)
            if len(left) == len(stubs):
                break
            stubs = left
        if not stubs:
            return from_edges(f"regular_{count}_{seed}", count, sorted(edges))


def lattice(*extents):
    """Open boundaries."""
    points = list(itertools.product(*map(range, extents)))
    number = {point: i for i, point in enumerate(points)}
    edges = []
    for point in points:
        for axis in range(len(extents)):
            other = tuple(x + (i == axis) for i, x in enumerate(point))
            if other in number:
                edges.append((number[point], number[other]))
    return from_edges("lattice_" + "x".join(map(str, extents)), len(points), edges)


def chain(count, seed):
    """Matrices, extents from 2 to 200."""
    draw = random.Random(seed)
    sizes = [draw.randint(2, 200) for _ in range(count + 1)]
    return Instance(f"chain_{count}_{seed}", [[i, i + 1] for i in range(count)], [0, count], sizes)


def circuit(rows, columns, depth, seed):
    """An amplitude of a random circuit on a grid: layers of single gates and of two-qubit gates on one of four
    patterns of neighbours in turn. The single gates of a layer are absorbed into the gates before them."""
    draw, count = random.Random(seed), rows * columns
    inputs, wires, labels = [[qubit] for qubit in range(count)], list(range(count)), count

    def apply(*qubits):
        nonlocal labels
        fresh = list(range(labels, labels + len(qubits)))
        inputs.append([wires[qubit] for qubit in qubits] + fresh)
        for qubit, label in zip(qubits, fresh):
            wires[qubit] = label
        labels += len(qubits)

    for layer in range(depth):
        down, odd = layer // 2 % 2, layer % 2
        for row, column in itertools.product(range(rows), range(columns)):
            other = (row + down, column + 1 - down)
            if (row if down else column) % 2 == odd and other[0] < rows and other[1] < columns and draw.random() < 0.9:
                apply(row * columns + column, other[0] * columns + other[1])
    inputs += [[label] for label in wires]
    return Instance(f"circuit_{rows}x{columns}x{depth}_{seed}", inputs, [], [2] * labels)


def expression(count, seed):
    """Any expression: labels in one to four operands, in the output or not, extents from 1 to 6."""
    draw = random.Random(seed)
    labels = draw.randint(count, 2 * count + 1)
    inputs = [[] for _ in range(count)]
    for label in range(labels):
        for operand in draw.sample(range(count), min(count, draw.choice([1, 2, 2, 2, 2, 3, 4]))):
            inputs[operand].append(label)
    used = sorted({label for operand in inputs for label in operand})
    output = draw.sample(used, min(len(used), draw.randint(0, 3)))
    return Instance(f"expression_{count}_{seed}", inputs, output, [draw.randint(1, 6) for _ in range(labels)])


NETWORKS = {f"regular_{count}_{seed}": (regular, count, seed)
            for count in (20, 50, 100, 150, 200, 250, 300, 1000) for seed in range(3)}
NETWORKS |= {f"chain_{count}_0": (chain, count, 0) for count in (20, 100, 1000)}
NETWORKS |= {"lattice_" + "x".join(map(str, extents)): (lattice, *extents)
             for extents in ((8, 8), (10, 10), (12, 12), (14, 14), (16, 16), (5, 5, 5))}
NETWORKS |= {f"circuit_{rows}x{columns}x{depth}_{seed}": (circuit, rows, columns, depth, seed)
             for rows, columns, depth in ((4, 4, 10), (5, 5, 12), (6, 6, 14), (7, 7, 16)) for seed in range(2)}
NETWORKS |= {f"expression_{count}_{seed}": (expression, count, seed) for count in (4, 8, 20, 60) for seed in range(2)}


def make(name):
    function, *arguments = NETWORKS[name]
    made = function(*arguments)
    made.name = name
    return made


def main():
    if len(sys.argv) < 3:
        sys.exit("usage: generate.py FOLDER NAME|all ...\nnames: " + " ".join(NETWORKS))
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in NETWORKS if sys.argv[2:] == ["all"] else sys.argv[2:]:
        if name not in NETWORKS:
            sys.exit(f"generate: there is no network {name}; names: " + " ".join(NETWORKS))
        make(name).save(folder / f"{name}.json")


if __name__ == "__main__":
    main()
