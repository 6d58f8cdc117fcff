# SPDX-License-Identifier: Apache-2.0
"""`python -m ada_tools.nodes NAME WORDS...`: run a node without `ros2 run`, for example after pip install."""

from __future__ import annotations

import sys

from ada_dynamics.errors import USAGE_ERROR
from ada_tools.nodes import executables


def main() -> int:
    """Run the node named on the command line."""
    if len(sys.argv) < 2 or sys.argv[1] not in executables.MODULES:
        names = ", ".join(executables.MODULES)
        print(f"write: python -m ada_tools.nodes NAME --ros-args ...; NAME: {names}", file=sys.stderr)
        return USAGE_ERROR
    name, *words = sys.argv[1:]
    sys.argv = [name, *words]
    return int(getattr(executables, name)())


if __name__ == "__main__":
    sys.exit(main())
