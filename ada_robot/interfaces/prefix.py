# SPDX-License-Identifier: Apache-2.0
"""The virtual environment that message packages are built in, and why some environments are refused."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ada_dynamics.errors import InputError
from ada_dynamics.extras import how_to_install

# The last of the generators' packages; those that it needs come along.
_GENERATORS = "rosidl_generator_py"


@dataclass(frozen=True)
class Prefix:
    """Folders of one environment into which the wheels of ROS 2 are installed.

    Attributes:
        root: `sys.prefix`.
        site: of its Python packages.
    """

    root: Path
    site: Path

    @property
    def lib(self) -> Path:
        """The libraries; the loader finds them here by name."""
        return self.root / "lib"

    @property
    def share(self) -> Path:
        """Interface definitions, templates of the generators, and the ament index."""
        return self.root / "share"

    @property
    def include(self) -> Path:
        """Headers, one folder per package."""
        return self.root / "include"

    @property
    def index(self) -> Path:
        """The ament index: which packages there are, and what they have."""
        return self.share / "ament_index" / "resource_index"

    def interface_packages(self) -> list[str]:
        """Names of all packages here that have messages, services or actions."""
        return sorted(path.name for path in (self.index / "rosidl_interfaces").iterdir())


def this_prefix(environment: Mapping[str, str] = os.environ) -> Prefix:
    """The environment of the running Python.

    Args:
        environment: of the process; tells whether a ROS is sourced.

    Raises:
        InputError: it is no virtual environment, a ROS is sourced, or the wheels are not there.
    """
    sourced = environment.get("ROS_DISTRO")
    if sourced:
        raise InputError(
            f"ROS 2 {sourced} is sourced, and its packages must stay the only ones in the process. Install the missing "
            f"package there: sudo apt install ros-{sourced}-tf2-msgs"
        )
    if sys.prefix == sys.base_prefix:
        raise InputError(
            f"{sys.prefix} is no virtual environment, and nothing is built into a system's Python. "
            f"Make one: python3 -m venv .venv && . .venv/bin/activate && {how_to_install('ros')} "
            "(a checkout: make setup)"
        )
    prefix = Prefix(Path(sys.prefix), Path(sysconfig.get_path("platlib")))
    if not (prefix.share / _GENERATORS / "resource").is_dir() or not (prefix.lib / "librosidl_runtime_c.so").exists():
        raise InputError(
            f"the ROS 2 wheels with the generators of messages ({_GENERATORS}) are not in {prefix.root}; they exist "
            f"for Linux on x86-64 with Python 3.10 to 3.14. There: {how_to_install('ros')} (a checkout: make setup)"
        )
    return prefix
