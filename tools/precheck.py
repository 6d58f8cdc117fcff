# SPDX-License-Identifier: Apache-2.0
"""What `make` needs of the machine and does not find: all at once, with the one line that brings it.

Standard library only, and run by the Python that .venv will be made from.
"""

from __future__ import annotations

import importlib.util
import runpy
import sys
from pathlib import Path
from typing import Any

TOOLCHAIN = Path(__file__).parents[1] / "ada_robot/interfaces/toolchain.py"


def main(arguments: list[str]) -> int:
    """Exit code 1 if nothing can be set up; with --compilers no word, and 1 if there are none."""
    toolchain: dict[str, Any] = runpy.run_path(str(TOOLCHAIN))
    _, lacks = toolchain["find"]()
    if "--compilers" in arguments:
        return 1 if lacks else 0
    needed = []
    if any(importlib.util.find_spec(name) is None for name in ("ensurepip", "venv")):
        package = "python3-venv" if toolchain["is_systems_python"]() else f"python3.{sys.version_info.minor}-venv"
        needed.append(toolchain["Lack"]("the modules venv and ensurepip of Python", package))
    if not needed and not lacks:
        return 0
    fix = toolchain["apt_line"](needed + lacks)
    hint = f" On Debian and Ubuntu: {fix}" if fix else ""
    words = toolchain["in_words"]
    if needed:
        also = f"; for /tf also {words(lacks)}" if lacks else ""
        print(f"make: {sys.executable} lacks {words(needed)}{also}.{hint}", file=sys.stderr)
        return 1
    print(
        f"make: not found: {words(lacks)}. Everything runs without, but for the topic /tf.{hint}",
        file=sys.stderr,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
