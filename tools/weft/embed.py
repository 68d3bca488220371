# SPDX-License-Identifier: Apache-2.0
"""Writes the bytes of a file as the elements of a C array: embed.py IN OUT."""
import pathlib
import sys

data = pathlib.Path(sys.argv[1]).read_bytes()
pathlib.Path(sys.argv[2]).write_text("".join(f"{byte}," + "\n" * (i % 32 == 31) for i, byte in enumerate(data)) + "\n")
