# SPDX-License-Identifier: Apache-2.0
"""Programs that `make` needs and this machine lacks, with the command that installs them.

Standard library only, and run by the Python that .venv will be made from.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path


def main() -> int:
    """Exit code 1 if nothing can be set up."""
    if all(importlib.util.find_spec(name) for name in ("ensurepip", "venv")):
        return 0
    version = f"python3.{sys.version_info.minor}"
    is_systems_python = Path(sys.base_prefix, "bin", version).resolve() == Path("/usr/bin/python3").resolve()
    package = "python3-venv" if is_systems_python else f"{version}-venv"
    print(
        f"make: {sys.executable} lacks the modules venv and ensurepip of Python. On Debian and Ubuntu: "
        f"sudo apt install {package}",
        file=sys.stderr,
    )
    return 1


if __name__ == "__main__":
    sys.exit(main())
