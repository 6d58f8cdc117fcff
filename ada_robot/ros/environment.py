# SPDX-License-Identifier: Apache-2.0
"""Available ROS 2 installation: wheels from PyPI, an installed ROS 2, or none; rclpy is not imported at the top.

The wheels (`ros-rclpy` and others) need no setup, with two exceptions. They restart Python with their library folders
in LD_LIBRARY_PATH and set a marker variable, which a Python of another virtual environment must not inherit. Package
lookups need AMENT_PREFIX_PATH.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import os
import platform
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from ada_dynamics.resources import how_to_install

MARK = "_ROS_WHEELS_BOOTSTRAP_COMPLETE"
MESSAGE_PACKAGES = (
    "diagnostic_msgs",
    "geometry_msgs",
    "rosgraph_msgs",
    "sensor_msgs",
    "std_msgs",
    "std_srvs",
    "trajectory_msgs",
    "visualization_msgs",
)
PYTHONS = ((3, 10), (3, 14))  # first and last version with wheels

_WHEEL = "ros-rclpy"
_PACKAGE = "share/ament_index/resource_index/packages/rclpy"  # of an installed ROS 2


def prepare() -> None:
    """Set AMENT_PREFIX_PATH for the wheels, unless it is set."""
    if wheels_version() is not None:
        os.environ["AMENT_PREFIX_PATH"] = os.environ.get("AMENT_PREFIX_PATH") or sys.prefix


def wheels_version() -> str | None:
    """Return the version of the rclpy wheel, or None."""
    try:
        return importlib.metadata.version(_WHEEL)
    except importlib.metadata.PackageNotFoundError:
        return None


def child_environment(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return a copy of the environment for child processes, without the changes made by the wheels.

    Args:
        environment: environment to copy; by default that of this process.
    """
    copy = dict(os.environ if environment is None else environment)
    if copy.pop(MARK, None) is not None:
        folders = [entry for entry in copy.pop("LD_LIBRARY_PATH", "").split(os.pathsep) if entry]
        own = _folders_of_wheels(folders)
        kept = [entry for entry in folders if entry not in own]
        if kept:
            copy["LD_LIBRARY_PATH"] = os.pathsep.join(kept)
    if wheels_version() is not None and not copy.get("AMENT_PREFIX_PATH"):
        copy["AMENT_PREFIX_PATH"] = sys.prefix
    return copy


def _folders_of_wheels(folders: Iterable[str]) -> set[str]:
    """Return the folders added by the wheels: <prefix>/lib/python3.x/site-packages/ros_*.libs and <prefix>/lib."""
    own = {str(Path(sys.prefix) / "lib")}
    for folder in folders:
        path = Path(folder)
        if path.name.startswith("ros_") and path.suffix == ".libs":
            own |= {folder, str(path.parents[2])}
    return own


def mixed_installations() -> str | None:
    """Return a warning if a process can load both wheels from PyPI and a sourced ROS 2, else None.

    Their libraries have equal names and different contents, so that a mixture crashes.
    """
    version = wheels_version()
    prefixes = [Path(entry) for entry in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if entry]
    own = Path(sys.prefix).resolve()
    others = [str(path) for path in prefixes if (path / _PACKAGE).exists() and not path.resolve().is_relative_to(own)]
    if version is None or not others:
        return None
    return (
        f"ROS 2 from PyPI ({_WHEEL} {version} in {sys.prefix}) is mixed with a sourced ROS 2: {', '.join(others)} (by "
        "AMENT_PREFIX_PATH). Their libraries can crash each other. Use one of them: a terminal in which no setup.bash "
        "of ROS 2 was sourced, or a virtual environment without the extra [ros] (python3 -m venv "
        "--system-site-packages)."
    )


def _origin(module: str) -> Path | None:
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):  # ValueError: another module has the name
        return None
    return None if spec is None or spec.origin is None else Path(spec.origin)


def ros_problem() -> str | None:
    """Return why ROS 2 nodes cannot run in this Python, with the remedy, as one sentence; None if they can."""
    lacking = ", ".join(name for name in ("rclpy", *MESSAGE_PACKAGES) if _origin(name) is None)
    if lacking:
        return f"ROS 2 nodes need {lacking}, which {sys.executable} does not find: {_how_to_get_it()}."
    return _middleware_problem() or _import_problem()


def _how_to_get_it() -> str:
    version = ".".join(map(str, sys.version_info[:2]))
    installed = f"source the setup.bash of an installed ROS 2 whose Python is {version}"
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return f"there are wheels for x86-64 Linux only (here: {sys.platform} {platform.machine()}), so {installed}"
    if not PYTHONS[0] <= sys.version_info[:2] <= PYTHONS[1]:
        known = " to ".join(".".join(map(str, python)) for python in PYTHONS)
        return f"there are wheels for Python {known} only (here: {version}), so use one of these, or {installed}"
    return f"`{how_to_install('ros')}`, or {installed}"


def _import_problem() -> str | None:
    try:
        importlib.import_module("rclpy")
    except Exception as problem:  # a shared library that does not load can raise other errors than ImportError
        text = " ".join(str(problem).split())
        if wheels_version() is not None and MARK in os.environ:
            return (
                f"rclpy does not load ({text}) because this process inherited the settings of another Python "
                f"environment: start it through `env -u {MARK} -u LD_LIBRARY_PATH`."
            )
        return f"rclpy does not load ({type(problem).__name__}: {text}): {_how_to_get_it()}."
    return None


def _middleware_problem() -> str | None:
    """Check the middleware: the wheels contain one; if another is requested, the import of rclpy ends the process."""
    if wheels_version() is None:
        return None
    requested = os.environ.get("RMW_IMPLEMENTATION", "")
    libraries = Path(sys.prefix) / "lib"
    have = sorted(path.stem.removeprefix("lib") for path in libraries.glob("librmw_*_cpp.so"))
    have = [name for name in have if "__" not in name and not name.endswith("_shared_cpp")]
    if not have:
        return f"ROS 2 nodes need a middleware, and {libraries} contains none: `{how_to_install('ros')}`."
    if requested and requested not in have:
        return (
            f"RMW_IMPLEMENTATION is {requested!r}, which ROS 2 from PyPI lacks: unset it, or use {' or '.join(have)}."
        )
    return None


def can_send_tf() -> bool:
    """Return True if the messages of /tf are installed; PyPI lacks them."""
    return _origin("tf2_msgs") is not None
