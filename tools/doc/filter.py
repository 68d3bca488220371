# SPDX-License-Identifier: Apache-2.0
"""Shows doxygen a header of weft: filter.py EXAMPLES HEADER prints it with comments in the form that doxygen reads.

A comment in the first column documents what follows, one after a member documents that member, the first one of a
file the file. `/* ---- title: text ---- */` opens a group that lasts to the next. EXAMPLES/HEADER.c is shown with the
file, EXAMPLES/HEADER_TITLE.c with the group, where there is one.
"""
import pathlib
import re
import sys

SECTION = re.compile(r"^/\* -{2,}\s+(.*?)\s*-{2,} \*/$", re.MULTILINE | re.DOTALL)
LEADING = re.compile(r"^/\*(?!\*)(.*?)\*/$", re.MULTILINE | re.DOTALL)
TRAILING = re.compile(r"(?<=[;,}\w\)]) +/\*(?!\*)(.*?)\*/$", re.MULTILINE | re.DOTALL)
STARS = re.compile(r"^ \* ?", re.MULTILINE)


def plain(text):
    """A comment's text with what doxygen would take for a command, a tag or a link of its own made harmless."""
    return re.sub(r"[\\@<>#%&]", lambda found: "\\" + found.group(), STARS.sub("", text)).strip()


def identifier(*words):
    return "_".join(re.sub(r"\W+", "_", word.lower()).strip("_") for word in words)


def shown(examples, name):
    """The example of that name as a comment has it; nothing where there is none."""
    return f"\n\nExample:\n\n@include {name}.c\n" if (examples / f"{name}.c").exists() else ""


class Groups:
    """Turns section comments into groups, each closed by the next."""

    def __init__(self, header, examples):
        self.header, self.examples, self.open = header, examples, False

    def close(self):
        return "/** @} */\n" if self.open else ""

    def __call__(self, found):
        title, _, details = plain(found.group(1)).partition(":")
        name = identifier(self.header.stem, title)
        closing, self.open = self.close(), True
        return f"{closing}/** @defgroup {name} {title}\n{details.strip()}{shown(self.examples, name)}\n@{{ */"


def convert(header, examples):
    text = re.sub(r"^/\* SPDX.*\n", "", header.read_text())
    groups = Groups(header, examples)
    text = SECTION.sub(groups, text)
    text = TRAILING.sub(lambda found: f" /**< {plain(found.group(1))} */", text)
    text = LEADING.sub(lambda found: f"/** {plain(found.group(1))} */", text)
    if is_file_first(text):
        first, rest = text.split("*/", 1)
        text = first.replace("/** ", f"/** @file {header.name}\n", 1) + shown(examples, header.stem) + "*/" + rest
    return text + groups.close()


def is_file_first(text):
    """Whether the first comment stands right after the include guard, where it speaks of the whole file."""
    return re.match(r"#ifndef \w+\n#define \w+\n/\*\* ", text) is not None


if __name__ == "__main__":
    examples, header = map(pathlib.Path, sys.argv[1:3])
    print(convert(header, examples))
