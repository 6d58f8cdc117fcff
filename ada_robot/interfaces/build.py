# SPDX-License-Identifier: Apache-2.0
"""Packages to build, their order, and detection of existing builds."""

from __future__ import annotations

import hashlib
import importlib
import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

from ada_dynamics._version import __version__
from ada_dynamics.errors import CompileError, InputError
from ada_robot.interfaces import generate
from ada_robot.interfaces.compile import compile_library
from ada_robot.interfaces.install import MARK, install
from ada_robot.interfaces.prefix import Prefix
from ada_robot.interfaces.toolchain import Toolchain
from ada_robot.posix import posix_module

# definitions of packages that the nodes need and PyPI lacks
DEFINITIONS = Path(__file__).parent / "definitions"
_LOCK = ".ada_interfaces.lock"
_WORK = ".ada_interfaces-"
_TYPE_OF_PACKAGE = re.compile(r"(?m)^\s*([a-z][a-z0-9_]*)/")
_NAME = re.compile(r"[a-z][a-z0-9_]*")


class Outcome(NamedTuple):
    """Result of the build of one package.

    Attributes:
        package: package name.
        seconds: duration of the build; None if the package existed.
        place: folder of the Python package.
    """

    package: str
    seconds: float | None
    place: Path


def packages_in(folder: Path) -> dict[str, Path]:
    """Return name and folder of each package of definitions below a folder, in the order of their dependencies.

    Raises:
        InputError: if there are none, a name is invalid, or dependencies are cyclic.
    """
    folder = folder.resolve()
    found = (
        {path.name: path for path in sorted(folder.iterdir()) if generate.definition_files(path)}
        if folder.is_dir()
        else {}
    )
    if not found:
        raise InputError(f"{folder} has no interface packages of the form PACKAGE/msg/Type.msg (or srv, action).")
    for name in found:
        if not _NAME.fullmatch(name):
            raise InputError(f"{found[name]}: package names of ROS 2 consist of lower-case letters, digits and _.")
    uses = {name: _uses(path) & set(found) - {name} for name, path in found.items()}
    try:
        return {name: found[name] for name in TopologicalSorter(uses).static_order()}
    except CycleError as problem:
        raise InputError(f"{folder}: cyclic dependency of packages: {' -> '.join(problem.args[1])}.") from None


def is_there(package: str, definitions: Path) -> Path | None:
    """Return the folder of an importable package, or None if missing or built from other sources."""
    importlib.invalidate_caches()
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations or found.origin is None:
        return None
    place = Path(found.origin).parent
    mark = place / MARK
    if mark.is_file() and mark.read_text(encoding="utf-8") != mark_of(definitions):
        return None
    return place


def mark_of(definitions: Path) -> str:
    """Return sources and tools of a build as text, to detect changes."""
    digest = hashlib.sha256()
    for path in generate.definition_files(definitions):
        digest.update(path.as_posix().encode() + b"\0" + (definitions / path).read_bytes() + b"\0")
    wheels = sorted(
        f"{one.metadata['Name']} {one.version}".lower()
        for one in importlib.metadata.distributions()
        if str(one.metadata["Name"]).lower().startswith("ros-")
    )
    made_by = f"ada_dynamics {__version__}, Python {sys.version_info.major}.{sys.version_info.minor}"
    return "\n".join([made_by, f"definitions sha256 {digest.hexdigest()}", *wheels]) + "\n"


def build(package: str, definitions: Path, prefix: Prefix, tools: Toolchain, *, force: bool = False) -> Outcome:
    """Build a package into an environment, unless it exists.

    Concurrent builds wait for each other.

    Args:
        package: package name.
        definitions: folder of its definitions.
        prefix: environment of this Python.
        tools: compilers.
        force: whether to rebuild a package that was built here.

    Raises:
        InputError: if a definition is invalid, or uses an unknown package.
        CompileError: if a compiler fails.
    """
    with _locked(prefix):
        place = is_there(package, definitions)
        if place is not None and not (force and (place / MARK).is_file()):
            return Outcome(package, None, place)
        begin = time.monotonic()
        with tempfile.TemporaryDirectory(dir=prefix.root, prefix=_WORK) as name:
            work = Path(name)
            _generate(package, definitions, prefix, work)
            library = compile_library(package, work, prefix, tools)
            install(package, definitions, work, library, prefix, mark_of(definitions))
        importlib.invalidate_caches()
        return Outcome(package, time.monotonic() - begin, prefix.site / package)


def _generate(package: str, definitions: Path, prefix: Prefix, out: Path) -> None:
    lacking = _uses(definitions) - {package} - set(prefix.interface_packages())
    if lacking:
        raise InputError(
            f"{definitions} uses {', '.join(sorted(lacking))}, missing in {prefix.root}. Add the definitions to the "
            f"same folder, or install from PyPI: pip install {' '.join(_wheel(name) for name in sorted(lacking))}"
        )
    environment = {**os.environ, "AMENT_PREFIX_PATH": str(prefix.root)}
    command = [sys.executable, generate.__file__, package, *map(str, (definitions, prefix.root, out))]
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if result.returncode < 0:
        raise CompileError(f"the message generators were killed by signal {-result.returncode}.")
    if result.returncode:
        said = [line for line in result.stderr.strip().splitlines() if line and not line.startswith((" ", "Traceback"))]
        read = [
            line.split(": ", 1)[1] for line in result.stdout.splitlines() if line.startswith("Reading input file: ")
        ]
        where = read[-1] if read else definitions
        raise InputError(f"{where}: refused by the generators of ROS 2: {said[-1] if said else 'no reason given'}")


def _wheel(package: str) -> str:
    return f"ros-{package.replace('_', '-')}"


def _uses(definitions: Path) -> set[str]:
    """Return the packages whose types the definitions use."""
    texts = ((definitions / path).read_text(encoding="utf-8") for path in generate.definition_files(definitions))
    return {name for text in texts for name in _TYPE_OF_PACKAGE.findall(text)}


@contextmanager
def _locked(prefix: Prefix) -> Iterator[None]:
    """Serialize builds, and remove the remains of killed ones."""
    with (prefix.root / _LOCK).open("w") as lock:
        locking = posix_module("fcntl", "Building message packages")
        locking.flock(lock, locking.LOCK_EX)
        for path in prefix.root.glob(f"{_WORK}*"):
            shutil.rmtree(path, ignore_errors=True)
        yield
