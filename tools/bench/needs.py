# SPDX-License-Identifier: Apache-2.0
"""What a script cannot do without."""

import importlib.util
import sys


def modules(*names):
    """Ends the script where the interpreter lacks one of them."""
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if missing:
        sys.exit(f"{sys.executable} has no module {' and no '.join(missing)}; $WEFT_BENCH_PYTHON may name an interpreter "
                 "that has")
