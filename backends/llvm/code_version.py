# SPDX-License-Identifier: Apache-2.0
"""Writes what code depends on besides its kernel and the processor: code_version.py OUT DEPENDENCIES TEXT FOLDER...

OUT defines WEFT_CODE_VERSION: TEXT and a hash of all sources in the folders. DEPENDENCIES lists them for ninja.
"""
import hashlib
import pathlib
import sys

out, dependencies, text, *folders = sys.argv[1:]
sources = sorted(p for folder in folders for p in pathlib.Path(folder).iterdir() if p.suffix in (".c", ".h", ".def"))
found = hashlib.sha256()
for source in sources:
    found.update(source.read_bytes())
pathlib.Path(out).write_text(f'#define WEFT_CODE_VERSION "{text} {found.hexdigest()[:16]}"\n')
pathlib.Path(dependencies).write_text(f"{out}: " + " ".join(str(p).replace(" ", "\\ ") for p in sources) + "\n")
