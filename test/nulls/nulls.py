#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads preprocessed public headers, writes a table of calls for nulls.c: each function with what it points to missing.

Usage: nulls.py OUTPUT COMPILER... (the compiler's command reads the headers named in nulls.h)
"""
import re
import subprocess
import sys

# What a parameter of that type is where it is not missing; otherwise, pointers are to zeros, and numbers are 1.
VALID = {
    "weft_graph *": "graph",
    "weft_executor *": "executor",
    "weft_program *": "program",
    "weft_array *": "array",
    "weft_module *": "module",
    "weft_einsum_plan *": "plan",
    "weft_queue *": "queue",
    "weft_eager *": "eager",
    "weft_eager_array *": "eager_array",
    "weft_eager_arrays": "WEFT_EAGER_ARRAYS(eager_array)",
    "weft_event *": "event",
    "weft_status *": "NULL",
    "weft_allocator *": "weft_allocator_default()",
    "weft_runtime *": "weft_runtime_reference()",
    "weft_extension *": "weft_einsum_extension()",
    "char *": '(char *)"x"',
    "weft_array *const *": "&array",
    "weft_tensor": "x",
    "weft_tensors": "WEFT_TENSORS(x)",
    "weft_extent": "weft_extent_of(1)",
}
# What else is missing: a list of one item that is nowhere, a tensor that is none.
MISSING = {
    "weft_tensor": "(weft_tensor){0}",
    "weft_tensors": "(weft_tensors){1, NULL}",
    "weft_ints": "(weft_ints){1, NULL}",
    "weft_eager_arrays": "(weft_eager_arrays){1, NULL}",
    "weft_shape": "(weft_shape){1, NULL}",
    "weft_index_items": "(weft_index_items){1, NULL}",
    "weft_extent": "(weft_extent){0}",
}
# What has the graph that an error of tracing sticks to.
GRAPHS = {"weft_graph *", "weft_tensor", "weft_tensors"}
NUMBERS = {"_Bool", "int", "unsigned", "double", "float", "size_t", "int32_t", "int64_t", "uint32_t", "uint64_t"}


def declarations(text):
    """(result, name, parameters) of each function declared."""
    text = re.sub(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)", "", text)
    depth, flat = 0, []
    for c in text:
        depth += (c == "{") - (c == "}")
        if depth == 0:
            flat.append(" ;"[c == "}"] if c == "}" else c)
    group = r"(?:[^()]|\((?:[^()]|\([^()]*\))*\))*"
    pattern = r"(?:^|;)\s*((?:const\s+|struct\s+|unsigned\s+)*\w+[\s*]+)(weft_\w+)\s*\((%s)\)\s*(?=;)" % group
    return re.findall(pattern, "".join(flat))


def split(parameters):
    depth, part, parts = 0, "", []
    for c in parameters:
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            parts.append(part)
            part = ""
        else:
            part += c
    return [" ".join(p.split()) for p in parts + [part]]


def type_of(parameter):
    """The type without const of what is pointed to, structs without the keyword; `T name[]` is `T *`."""
    if "(*" in parameter:
        return "function *"
    array = parameter.endswith("[]")
    base = re.sub(r"\w+(\[\])?$", "", parameter).strip()
    if base.replace("const", "").replace("struct", "").strip() == "":
        base = parameter  # no name
    base = re.sub(r"^const ", "", base)
    return re.sub(r"\bstruct ", "", base) + (" *" if array else "")


def arguments(parameters):
    """Expressions over `missing`, a set of bits, how many of them can be, and which of these have a graph."""
    written, count, graphs = [], 0, 0
    for parameter in parameters:
        kind = type_of(parameter)
        pointer = kind.endswith("*")
        place = "zeros" if parameter.startswith("const ") else "written"
        valid = VALID.get(kind) or ("NULL" if kind == "function *" else "(void *)%s" % place if pointer else None)
        missing = "NULL" if pointer and kind != "function *" else MISSING.get(kind)
        if valid is None:
            valid = "1" if kind in NUMBERS else "(%s){0}" % kind
        if missing is None:
            written.append(valid)
        else:
            written.append("IS_MISSING(%d) ? %s : %s" % (count, missing, valid))
            graphs |= (kind in GRAPHS) << count
            count += 1
    return ", ".join(written), count, graphs


def kind_of(result, name):
    if result == "weft_status *" and not name.startswith("weft_status_"):
        return "STATUS"
    if result == "weft_tensor" and not name.startswith("weft_trace"):  # those know no caller's source location
        return "TENSOR"
    if name.endswith(("_destroy", "_release", "_retain")) or result in ("weft_tensor", "weft_extent", "weft_eager_array *"):
        return "ANY"
    return None  # functions that only read want an object


def main():
    output, command = sys.argv[1], sys.argv[2:]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    calls, rows = [], []
    for result, name, parameters in declarations(text):
        result = " ".join(result.split())
        parameters = [] if parameters.strip() == "void" else split(parameters)
        kind = kind_of(result, name)
        if kind is None or "va_list" in " ".join(parameters):
            continue
        written, count, graphs = arguments([p for p in parameters if p != "..."])
        call = "%s(%s)" % (name, written)
        bodies = {"STATUS": "return %s;", "TENSOR": "traced = %s; return NULL;", "ANY": "(void)%s; return NULL;"}
        body = bodies[kind] % call
        calls.append("static weft_status *call_%s(unsigned missing) { (void)missing; %s }" % (name, body))
        rows.append('    {"%s", call_%s, %d, %d, %s},' % (name, name, count, graphs, kind))
    with open(output, "w", encoding="utf-8") as file:
        file.write("\n".join(calls) + "\n\nstatic const function functions[] = {\n" + "\n".join(rows) + "\n};\n")


main()
