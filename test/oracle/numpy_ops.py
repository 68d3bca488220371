# SPDX-License-Identifier: Apache-2.0
"""Every row of lib/graph/op.def against numpy: numpy_ops.py BUILD [--rounds N] [--reference] [--shard I/N] [CHOICE...].

A CHOICE is OP, OP:DTYPE or OP:DTYPE:ROUND; all by default.
A case is a text of one node. It runs on the reference with no pass and as generated code, unless --reference is given;
every third one has symbols for extents. The library says which ops there are, of which dtypes and attributes: one
without an entry here fails, and so does an entry without an op.
"""
import argparse
import ctypes
import dataclasses
import pathlib
import sys
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from binding import POINTER, SIZE, TEXT, Failure, Policy, Tensors, Weft, numpy, shard, structure
import elementwise
import index
import leaf
import movement
import reduce
import region
from number import DTYPES, Draw, differences, name_of

ENTRIES = {**leaf.ENTRIES, **elementwise.ENTRIES, **movement.ENTRIES, **index.ENTRIES, **reduce.ENTRIES,
           **region.ENTRIES}
KINDS = ["int", "float", "bool", "dtype", "string", "ints", "extent", "extents", "data", "region"]  # weft_attr_kind
RUNTIMES = [(b"ref", b""), (b"llvm", None)]

Attribute = structure("weft_attr_def", name=TEXT, kind=ctypes.c_int)
Op = structure("weft_op_def", size=SIZE, name=TEXT, version=ctypes.c_uint32, input_count=ctypes.c_int32,
               output_count=ctypes.c_uint32, op_class=ctypes.c_uint32, traits=ctypes.c_uint32, dtypes=ctypes.c_uint32,
               attr_count=SIZE, attrs=ctypes.POINTER(Attribute))
Module = structure("weft_module", graph=POINTER, outputs=Tensors, output_names=POINTER)


@dataclasses.dataclass
class Row:
    dtypes: list
    schema: list  # names and kinds of attributes
    input_count: int


class Text:
    """A graph of one node as text."""

    def __init__(self, op, row, case, symbolic):
        self.symbolic, self.symbols = symbolic, {}
        inputs = [self.input(number, operand) for number, operand in enumerate(case.operands)]
        attributes, regions = [], []
        for name, kind in row.schema:
            written = self.attribute(kind, case.attributes[name])
            if kind == "region":
                regions.append(f" {name} {written}")
            else:
                attributes.append(f"{name} = {written}")
        results = ", ".join(f"%r{number}" for number in range(case.results))
        operands = ", ".join(f"%x{number}" for number in range(len(inputs)) if row.input_count != 0)
        listed = f" {{{', '.join(attributes)}}}" if attributes else ""
        symbols = [f"symbol {name} in [0, 4096]" for name in self.symbols]
        node = f"{results} = {op}({operands}){listed}{''.join(regions)}"
        self.text = "\n".join(["weft 0.1", *symbols, "graph {", *inputs, node, "return %r0", "}", ""])

    def extent(self, value):
        if not self.symbolic or value < 2:
            return str(value)
        self.symbols[f"n{value}"] = int(value)
        return f"n{value}"

    def extents(self, values):
        return f"[{', '.join(map(self.extent, values))}]"

    def input(self, number, operand):
        return (f'%x{number} = input() {{name = "x{number}", dtype = {name_of(operand)}, '
                f"shape = {self.extents(operand.shape)}}}")

    def attribute(self, kind, value):
        if kind == "extent":
            return self.extent(value)
        if kind == "extents":
            return self.extents(value)
        if kind == "string":
            return f'"{value}"'
        if kind == "bool":
            return str(value).lower()
        if kind == "region":
            return value(self)
        return str(list(map(int, value)) if kind == "ints" else value)


class Oracle(Weft):
    def __init__(self, build, runtimes):
        super().__init__(build / "lib/libweft.so", runtimes)

    def table(self):
        """The rows by their names."""
        self.library.weft_op_builtin.restype = ctypes.POINTER(Op)
        names, number, rows = list(DTYPES), 0, {}
        while op := self.op_builtin(SIZE(number)):
            row = op.contents
            dtypes = [name for place, name in enumerate(names) if row.dtypes >> place & 1]
            schema = [(row.attrs[i].name.decode(), KINDS[row.attrs[i].kind]) for i in range(row.attr_count)]
            rows[row.name.decode()] = Row(dtypes, schema, row.input_count)
            number += 1
        return rows

    def compile_text(self, text, passes):
        """A program of one output, and the dtype of that."""
        data, program, module = text.encode(), POINTER(), ctypes.POINTER(Module)()
        self.graph_parse(b"case", data, SIZE(len(data)), None, SIZE(0), None, ctypes.byref(module))
        try:
            outputs = module.contents.outputs
            dtype = self.tensor_dtype(outputs.items[0])
            self.library.weft_compile(POINTER(module.contents.graph), outputs, ctypes.byref(Policy(passes=passes)),
                                      ctypes.byref(program))
        finally:
            self.module_destroy(module)
        return program, list(DTYPES)[dtype]

    def problem(self, text, case, runtime):
        """What is wrong with a case on a runtime, or None."""
        name, passes = RUNTIMES[runtime]
        program, dtype = self.compile_text(text.text, passes)
        try:
            if dtype != case.dtype:
                return f"the result is of {dtype}, not {case.dtype}"
            found, = self.run(program, case.operands, [DTYPES[dtype]], runtime=name, symbols=text.symbols.items())
        except Failure as failure:
            return None if case.fails and case.fails in str(failure) else str(failure)
        finally:
            self.program_release(program)
        return f"nothing says that {case.fails}" if case.fails else differences(found, case, runtime)


def trials(table, chosen, rounds):
    """Triples of an op, a dtype and a round."""
    for choice in chosen or table:
        op, *more = choice.split(":")
        for dtype in more[:1] or table[op].dtypes:
            for number in more[1:] or range(rounds):
                yield op, dtype, int(number)


def check(weft, table, trial, runtimes):
    """How many cases there are, and how many results are wrong."""
    op, dtype, number = trial
    count = failed = 0
    with numpy.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in ENTRIES[op](Draw(f"{op}:{dtype}:{number}"), dtype):
            text = Text(op, table[op], case, (count + number) % 3 == 2)
            count += 1
            for runtime in range(runtimes):
                try:
                    problem = weft.problem(text, case, runtime)
                except Failure as failure:
                    problem = f"{failure} in\n{text.text}"
                if problem:
                    failed += 1
                    shapes = [operand.shape for operand in case.operands]
                    print(f"{op}:{dtype}:{number}, case {count} {case.attributes or ''} of {shapes} on "
                          f"{RUNTIMES[runtime][0].decode()}: {problem}")
    return count, failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--reference", action="store_true")
    parser.add_argument("--shard", type=shard, default=slice(None))
    parser.add_argument("chosen", nargs="*")
    options = parser.parse_intermixed_args()
    weft = Oracle(options.build, ["reference", "llvm"][:1 if options.reference else 2])
    table = weft.table()
    failed = 0
    for op in table.keys() ^ ENTRIES.keys():
        failed += 1
        print(f"{op} has no entry" if op in table else f"the entry {op} is of no op")
    known = [choice for choice in options.chosen or table if choice.split(":")[0] in ENTRIES]
    results = [check(weft, table, trial, 1 if options.reference else 2)
               for trial in list(trials(table, known, options.rounds))[options.shard]]
    failed += sum(wrong for _, wrong in results)
    print(f"{sum(count for count, _ in results)} cases of {len(known)} ops, {failed} of them wrong")
    weft.executor_destroy(weft.executor)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
