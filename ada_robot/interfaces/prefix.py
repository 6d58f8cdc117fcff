# SPDX-License-Identifier: Apache-2.0
"""Virtual environment in which message packages are built, and checks of its suitability."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ada_dynamics.errors import InputError
from ada_dynamics.extras import how_to_install

# last package of the generators; the others are its dependencies
_GENERATORS = "rosidl_generator_py"


@dataclass(frozen=True)
class Prefix:
    """Folders of an environment with the ROS 2 wheels.

    Attributes:
        root: `sys.prefix`.
        site: folder of Python packages.
    """

    root: Path
    site: Path

    @property
    def lib(self) -> Path:
        """Libraries, found by the loader by name."""
        return self.root / "lib"

    @property
    def share(self) -> Path:
        """Interface definitions, generator templates, and the ament index."""
        return self.root / "share"

    @property
    def include(self) -> Path:
        """Headers, one folder per package."""
        return self.root / "include"

    @property
    def index(self) -> Path:
        """Ament index: packages and their resources."""
        return self.share / "ament_index" / "resource_index"

    def interface_packages(self) -> list[str]:
        """Return the names of all packages with messages, services or actions."""
        return sorted(path.name for path in (self.index / "rosidl_interfaces").iterdir())


def this_prefix(environment: Mapping[str, str] = os.environ) -> Prefix:
    """Return the environment of the running Python.

    Args:
        environment: environment variables, which show whether a ROS is sourced.

    Raises:
        InputError: if it is no virtual environment, a ROS is sourced, or the wheels are missing.
    """
    sourced = environment.get("ROS_DISTRO")
    if sourced:
        raise InputError(
            f"ROS 2 {sourced} is sourced, and must not be mixed with other packages. Install the missing "
            f"package there: sudo apt install ros-{sourced}-tf2-msgs"
        )
    if sys.prefix == sys.base_prefix:
        raise InputError(
            f"{sys.prefix} is no virtual environment; packages are not built into the system's Python. "
            f"Create one: python3 -m venv .venv && . .venv/bin/activate && {how_to_install('ros')} "
            "(a checkout: make setup)"
        )
    prefix = Prefix(Path(sys.prefix), Path(sysconfig.get_path("platlib")))
    if not (prefix.share / _GENERATORS / "resource").is_dir() or not (prefix.lib / "librosidl_runtime_c.so").exists():
        raise InputError(
            f"the ROS 2 wheels with the message generators ({_GENERATORS}) are missing in {prefix.root}; they exist "
            f"for Linux on x86-64 with Python 3.10 to 3.14. Install: {how_to_install('ros')} (a checkout: make setup)"
        )
    return prefix
