# SPDX-License-Identifier: Apache-2.0
"""Instances: what is contracted, orders of it in every form, and what an order costs."""

import json
import math
import pathlib


class Instance:
    """Labels are integers: `inputs` and `output` are tuples of them, `sizes` is indexed by them."""

    def __init__(self, name, inputs, output, sizes):
        self.name, self.output, self.sizes = name, tuple(output), list(sizes)
        self.inputs = [tuple(labels) for labels in inputs]

    @property
    def shapes(self):
        return [tuple(self.sizes[label] for label in labels) for labels in self.inputs]

    def save(self, path):
        whole = {"name": self.name, "inputs": self.inputs, "output": self.output, "sizes": self.sizes}
        pathlib.Path(path).write_text(json.dumps(whole) + "\n")


def load(path):
    """A file in either form: `inputs`, `output`, `sizes`, or `format_string` and `shapes`."""
    data = json.loads(pathlib.Path(path).read_text())
    name = data.get("name", pathlib.Path(path).stem)
    if "inputs" in data:
        return Instance(name, data["inputs"], data["output"], data["sizes"])
    terms, output = data["format_string"].replace(" ", "").split("->")
    numbers, sizes, inputs = {}, [], []
    for term, shape in zip(terms.split(","), data["shapes"], strict=True):
        for label, extent in zip(term, shape, strict=True):
            if numbers.setdefault(label, len(sizes)) == len(sizes):
                sizes.append(extent)
        inputs.append([numbers[label] for label in term])
    return Instance(name, inputs, [numbers[label] for label in output], sizes)


class Case:
    """An instance in a group, its expression as weft takes it, and its dtype where it has one."""

    def __init__(self, group, x, text=None, dtype=None):
        terms = ["[" + " ".join(map(str, labels)) + "]" for labels in [*x.inputs, x.output]]
        self.group, self.x, self.dtype = group, x, dtype
        self.text = text or ",".join(terms[:-1]) + "->" + terms[-1]


def load_cases(path):
    """A table of expressions, as it says in `contractions.txt`, or an instance file. An ellipsis stands for no axis."""
    if pathlib.Path(path).suffix == ".json":
        return [Case("instances", load(path))]
    cases, group = [], None
    for line in pathlib.Path(path).read_text().splitlines():
        words = line.split()
        if line.startswith("["):
            group = line.strip("[]")
        elif words and not line.startswith("#"):
            terms, output = words[0].replace("...", "").split("->")
            labels = sorted(set(terms) - {","})
            given = [int(extent) for extent in words[1].split(",")]
            sizes = given * len(labels) if len(given) == 1 else given
            if len(sizes) != len(labels):
                raise ValueError(f"{path}: {words[0]} has {len(labels)} labels and {len(sizes)} extents")
            numbers = [[labels.index(label) for label in term] for term in [*terms.split(","), output]]
            x = Instance(f"{words[0]} {words[1]}", numbers[:-1], numbers[-1], sizes)
            cases.append(Case(group, x, words[0], *words[2:3]))
    return cases


# ---- orders: pairs of values; value i is operand i, value n + k the result of step k ----


def from_path(path, count):
    """From positions in a list that shrinks. A step over one value is none, one over more than two folds them."""
    live, pairs = list(range(count)), []
    for step in path:
        taken = [live[i] for i in step]
        live = [value for i, value in enumerate(live) if i not in set(step)]
        while len(taken) > 1:
            pairs.append((taken[0], taken[1]))
            taken[:2] = [count + len(pairs) - 1]
        live += taken
    return pairs


def to_path(pairs, count):
    live, path = list(range(count)), []
    for step, pair in enumerate(pairs):
        path.append(tuple(sorted(live.index(value) for value in pair)))
        live = [value for value in live if value not in pair] + [count + step]
    return path


def from_ssa(ssa, count):
    """The same numbering where steps over one value, which make a new one, and over several may occur."""
    known, pairs = list(range(count)), []
    for step in ssa:
        taken = [known[value] for value in step]
        while len(taken) > 1:
            pairs.append((taken[0], taken[1]))
            taken[:2] = [count + len(pairs) - 1]
        known += taken
    return pairs


# ---- costs ----


def reduced(instance):
    """Labels of each operand without repeats, extents of one, and what no other operand and not the output has."""
    uses = {}
    for labels in [*instance.inputs, instance.output]:
        for label in set(labels):
            uses[label] = uses.get(label, 0) + 1
    return [{label for label in labels if uses[label] > 1 and instance.sizes[label] != 1} for labels in instance.inputs]


def steps(instance, pairs):
    """(multiplications, elements of the result) of each step: it multiplies once for each value of all labels of its two
    operands; private labels are summed before. What is no order of the instance is refused."""
    values, uses = reduced(instance), {}
    for labels in [*values, set(instance.output)]:
        for label in labels:
            uses[label] = uses.get(label, 0) + 1
    for a, b in pairs:
        if a == b or values[a] is None or values[b] is None:
            raise ValueError(f"step ({a}, {b}) takes a value that is gone")
        both = values[a] | values[b]
        for label in values[a] & values[b]:
            uses[label] -= 2
        kept = {label for label in both if label not in values[a] or label not in values[b] or uses[label] > 0}
        for label in values[a] & values[b] & kept:
            uses[label] += 1
        yield (math.prod(instance.sizes[label] for label in both), math.prod(instance.sizes[label] for label in kept))
        values[a] = values[b] = None
        values.append(kept)
    if sum(value is not None for value in values) != 1:
        raise ValueError(f"{len(pairs)} steps leave more than one of {len(instance.inputs)} operands")


def cost(instance, pairs):
    """(log10 of the multiplications of all steps, log2 of the largest result)."""
    found = list(steps(instance, pairs))
    flops = sum(work for work, _ in found)
    return (math.log10(flops) if flops > 0 else 0.0), math.log2(max((size for _, size in found), default=1) or 1)
