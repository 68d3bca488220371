# SPDX-License-Identifier: Apache-2.0
"""The tracing functions of the public headers, with the names and types of their parameters, options included: what
calls them by name needs no table of them."""
import ctypes
import functools
import os
import re

from binding import POINTER, TEXT, Extent, Failure, Ints, Shape, Tensor, Tensors, structure

FUNCTION = re.compile(r"^weft_tensor weft_(\w+)\(([^;{]*)\);", re.M)
STRUCT = re.compile(r"^typedef struct (weft_\w+) \{(.*?)\} \1;", re.M | re.S)
ENUM = re.compile(r"^typedef enum (weft_\w+) \{(.*?)\} \1;", re.M | re.S)
KINDS = {
    "weft_tensor": Tensor, "weft_tensors": Tensors, "weft_ints": Ints, "weft_shape": Shape, "weft_extent": Extent,
    "weft_dtype": ctypes.c_int, "int64_t": ctypes.c_int64, "size_t": ctypes.c_size_t, "bool": ctypes.c_bool,
    "double": ctypes.c_double, "const char *": TEXT,
}


def parts(text, separator):
    return [part.strip() for part in text.split(separator) if part.strip()]


def declared(text, separator):
    return [pair for part in parts(re.sub(r"\s+", " ", text), separator) for pair in declarators(part)]


def values(names):
    """Enumerators in lower case, without what they have in common, and their values."""
    common = len(os.path.commonprefix(names))
    return {name[common:].lower(): value for value, name in enumerate(names)}


def declarators(text):
    """Pairs of a name and its type, of one declaration: "weft_ints low, high"."""
    kind, names = re.fullmatch(r"(.*?[ *])(\w+(?:, \w+)*)", text).groups()
    return [(name, kind.strip()) for name in names.split(", ")]


class Declared:
    """What headers declare."""

    def __init__(self, headers):
        text = "\n".join(header.read_text() for header in headers)
        text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
        self.function_texts, self.struct_texts = dict(FUNCTION.findall(text)), dict(STRUCT.findall(text))
        self.enums = {name: values(parts(names, ",")) for name, names in ENUM.findall(text)}

    @functools.cache
    def parameters(self, name):
        """Pairs of name and type, of the function without its prefix."""
        if name not in self.function_texts:
            raise Failure(f"no header declares weft_{name}")
        return declared(self.function_texts[name], ",")

    @functools.cache
    def struct(self, name):
        """Pairs of name and type of the fields, and the struct for ctypes; None if there is none of that name, or it is
        one of `KINDS`."""
        if name in KINDS or name not in self.struct_texts:
            return None
        fields = declared(self.struct_texts[name], ";")
        return fields, structure(name, **{field: self.kind(kind) for field, kind in fields})

    def kind(self, text):
        """The type of a field for ctypes."""
        return KINDS.get(text) or (ctypes.c_int if text in self.enums else POINTER)
