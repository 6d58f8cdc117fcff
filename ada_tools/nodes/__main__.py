# SPDX-License-Identifier: Apache-2.0
"""`python -m ada_tools.nodes NAME WORDS...`: run a node without `ros2 run`, for example after pip install."""

import sys

from ada_tools.nodes.executables import main

if __name__ == "__main__":
    sys.exit(main())
