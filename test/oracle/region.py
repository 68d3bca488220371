# SPDX-License-Identifier: Apache-2.0
"""Loops and branches around programs that numpy can follow step by step."""
from binding import numpy
from number import DTYPES, Case, narrow, wide


def joined(dtype):
    """An op of two operands of a dtype and what it does; bools have no sum."""
    if dtype == "bool":
        return "xor", numpy.logical_xor
    return "add", lambda a, b: narrow(wide(a) + wide(b), dtype)


def folds(draw, dtype):
    """Each iteration adds the last two: what is carried passes by."""
    op, join = joined(dtype)
    for trips in (0, 1, draw.randint(2, 9)):
        a, b = (draw.small(dtype, draw.shape(0, 3)) for _ in range(2))
        b = numpy.resize(b.view(draw.plain(dtype)), a.shape).view(DTYPES[dtype])
        first, second = a, b
        for _ in range(trips):
            first, second = second, join(first, second)

        def body(text):
            kind = f"{dtype}{text.extents(a.shape)}"
            return (f"(%i : i64[], %a : {kind}, %b : {kind}) {{\n%0 = {op}(%a, %b)\nyield %b, %0\n}}")
        operands = [draw.strided(a), draw.strided(b)]
        yield Case(operands, first, dtype, {"trips": trips, "body": body, "carried": 2}, results=2)


def whiles(draw, dtype):
    """Doubles, or joins with itself, while a count is below a limit; once the limit is below the count already."""
    op, join = joined(dtype)
    for limit in (-3, draw.randint(1, 6)):
        x = draw.small(dtype, draw.shape(0, 3))
        expected, count = x, draw.randint(-1, 1)
        for _ in range(count, limit):
            expected = join(expected, expected)

        def parameters(text):
            return f"(%x : {dtype}{text.extents(x.shape)}, %c : i64[], %l : i64[])"

        def condition(text):
            return f"{parameters(text)} {{\n%0 = lt(%c, %l)\nyield %0\n}}"

        def body(text):
            one = "constant() {dtype = i64, shape = [], data = [1]}"
            return f"{parameters(text)} {{\n%0 = {op}(%x, %x)\n%1 = {one}\n%2 = add(%c, %1)\nyield %0, %2\n}}"
        yield Case([draw.strided(x), numpy.array(count), numpy.array(limit)], expected, dtype,
                   {"carried": 2, "condition": condition, "body": body}, results=2)


def conds(draw, dtype):
    """One branch joins, the other gives the second operand."""
    op, join = joined(dtype)
    for predicate in (False, True):
        a, b = (draw.small(dtype, [5, 7]) for _ in range(2))

        def branch(lines):
            def write(text):
                kind = f"{dtype}{text.extents(a.shape)}"
                return f"(%a : {kind}, %b : {kind}) {{\n{lines}\n}}"
            return write
        yield Case([numpy.array(predicate), draw.strided(a), draw.strided(b)], join(a, b) if predicate else b, dtype,
                   {"then": branch(f"%0 = {op}(%a, %b)\nyield %0"), "else": branch("yield %b")})


ENTRIES = {"fold": folds, "while": whiles, "cond": conds}
