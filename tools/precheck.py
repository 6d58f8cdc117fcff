# SPDX-License-Identifier: Apache-2.0
"""What `make` needs to set up .venv and this machine lacks: modules of Python, and disk space.

Usage: precheck.py GIGABYTES VENV

Standard library only, and run by the Python that .venv will be made from.
"""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path


def main() -> int:
    """Exit code 1 if nothing can be set up."""
    gigabytes, free = float(sys.argv[1]), shutil.disk_usage(".").free / 1e9
    if free < gigabytes and not Path(sys.argv[2]).exists():
        print(
            f"make: {sys.argv[2]} needs {gigabytes:g} GB, but {free:.1f} GB are free in {Path.cwd()}", file=sys.stderr
        )
        return 1
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
