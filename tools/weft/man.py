# SPDX-License-Identifier: Apache-2.0
"""Makes the manual page of the command from its own help: man.py WEFT VERSION PAGE."""
import subprocess
import sys

weft, version, page = sys.argv[1:]


def say(*arguments):
    return subprocess.run([weft, "help", *arguments], check=True, capture_output=True, text=True).stdout


def plain(text):
    """Text as it stands; no line of it is a request."""
    lines = (line.replace("\\", "\\e").replace("-", "\\-") for line in text.rstrip().splitlines())
    return [".nf", *("\\&" + line if line[:1] in (".", "'") else line for line in lines), ".fi"]


names = [line.split()[0] for line in say().splitlines() if line.startswith("  ")]
lines = [f'.TH WEFT 1 "" "weft {version}"', ".SH NAME", "weft \\- compile and run tensor programs", ".SH SYNOPSIS",
         *plain(say().split("\n\n", 1)[1])]
for name in names:
    lines += [f".SH {name.upper()}", *plain(say(name))]
lines += [".SH BYTES", "Options in bytes take a number, alone or with K, M, G or T for powers of 1024: 512M, 4G.",
          ".SH ENVIRONMENT", ".TP", ".B WEFT_ISA",
          "The most of the processor's instructions that code may use: x86\\-64\\-v2, x86\\-64\\-v3, x86\\-64\\-v4 or, for",
          "\\-\\-backend ref alone, x86\\-64. Without it all that the processor has are used."]
lines += [".SH EXIT STATUS", "0 when all went well, 1 when something failed, 2 when the command was misused, or when",
          "check\\-gradients could not check, 130 when it was interrupted by SIGINT (143 by SIGTERM, 129 by SIGHUP), 141 when",
          "its output was closed."]
with open(page, "w") as file:
    file.write("\n".join(lines) + "\n")
