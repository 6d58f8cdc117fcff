# SPDX-License-Identifier: Apache-2.0
"""Files and packages that robot descriptions name, found alike with and without ROS.

An address is `package://NAME/path`, `model://NAME/path`, `$(find NAME)/path`, `file:///path`, or a path relative to the
description. A package is looked for, in this order:

1. among the data of this distribution (`ada_dynamics` and its sister packages);
2. upwards from the description: a folder whose package.xml has that name, a folder of that name, or one beside it;
3. in the prefixes of AMENT_PREFIX_PATH and below the folders of ROS_PACKAGE_PATH;
4. where pip and conda put robots: `share/` of this Python, example-robot-data, the cache of robot_descriptions.

The first package that has the file wins. Nothing is ever fetched from a network, and a path does not leave its package.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from ada_dynamics import resources
from ada_dynamics.errors import AdaError

_OWN = ("ada_dynamics", "ada_controllers", "ada_hardware")
_FIND = re.compile(r"^(?:file://)?\$\((?:find|find-pkg-share) +([^()\s]+) *\)(.*)$", re.DOTALL)
_NAME = re.compile(rb"<name[^>]*>\s*([^<\s]+)\s*</name>")
_MANIFEST_BYTES = 1 << 16  # a package's name stands at the top of its package.xml
_MOST_FOLDERS = 1000  # that are looked into below a folder of ROS_PACKAGE_PATH or of a cache
_SHOWN = 4  # places named in a message


class Address(NamedTuple):
    """The meaning of an address: a path in a package, or on this machine where there is no package."""

    package: str | None
    path: str
    problem: str = ""  # why it can never be found


class Addresses:
    """Search for what one description names; packages once found are remembered."""

    def __init__(self, near: str | os.PathLike[str] | None = None) -> None:
        """Args: file of the description; None where it came as text, without a place of its own."""
        self._near = None if near is None else Path(near)
        self._packages: dict[str, list[Path]] = {}

    def package(self, name: str) -> Path | None:
        """Folder of a package; None where there is none."""
        return next(iter(self._folders(name)), None)

    def file(self, address: str) -> Path | None:
        """The file of an address; None where there is none."""
        return next((place for place in self._places(parse_address(address)) if _is_file(place)), None)

    def package_of(self, address: str) -> Path | None:
        """Folder of the package that the file of an address is in; None for addresses without a package."""
        wanted = parse_address(address)
        if wanted.package is None:
            return None
        return next((f for f in self._folders(wanted.package) if _is_file(_inside(f, wanted.path))), None)

    def looked(self, address: str) -> str:
        """Where an address was looked for, for messages."""
        wanted = parse_address(address)
        if wanted.problem:
            return wanted.problem
        if wanted.package is None:
            if self._near is None and not Path(wanted.path).is_absolute():
                return "a relative path of a description that came as text, without a folder"
            return f"no file {next(self._places(wanted), wanted.path)}"
        folders = self._folders(wanted.package)
        if not folders:
            return f"no package {wanted.package!r} {self._everywhere()}"
        shown = ", ".join(map(str, folders[:_SHOWN])) + (", ..." if len(folders) > _SHOWN else "")
        return f"package {wanted.package!r} is {shown}, which lacks the file"

    def _everywhere(self) -> str:
        around = f"upwards from {self._near.absolute().parent}, " if self._near is not None else ""
        ament, ros = (os.environ.get(name) or "not set" for name in ("AMENT_PREFIX_PATH", "ROS_PACKAGE_PATH"))
        return (
            f"{around}in AMENT_PREFIX_PATH ({ament}), in ROS_PACKAGE_PATH ({ros}) or among the installed robots "
            f"({', '.join(map(str, _shares()))}, {_cache()})"
        )

    def _places(self, wanted: Address) -> Iterator[Path]:
        if wanted.problem:
            return
        if wanted.package is not None:
            yield from (_inside(folder, wanted.path) for folder in self._folders(wanted.package))
        else:
            for path in dict.fromkeys((wanted.path, unquote(wanted.path))):
                if Path(path).is_absolute():
                    yield Path(path)
                elif self._near is not None:
                    for file in dict.fromkeys((self._near.absolute(), _resolved(self._near))):
                        yield Path(os.path.normpath(file.parent / path))

    def _folders(self, package: str) -> list[Path]:
        if package not in self._packages:
            found = dict.fromkeys(folder for folder in _candidates(package, self._near) if _is_folder(folder))
            self._packages[package] = list(found)
        return self._packages[package]


def missing_meshes(missing: Mapping[str, str], total: int, verb: str = "found") -> str:
    """One line about meshes that are not to be had.

    Args:
        missing: why, by address.
        total: how many meshes there are.
        verb: what was tried, "found" or "read".
    """
    named = list(missing)
    shown = ", ".join(named[:_SHOWN]) + (", ..." if len(named) > _SHOWN else "")
    reasons = list(dict.fromkeys(missing.values()))
    why = "; ".join(reasons[:_SHOWN]) + ("; ..." if len(reasons) > _SHOWN else "")
    return f"{len(missing)} of {total} meshes are not {verb}: {shown} ({why})"


def parse_address(address: str) -> Address:
    """The parts of an address."""
    text = address.strip()
    if "\0" in text or not text:
        return Address(None, text, "it is no path")
    found = _FIND.match(text)
    if found:
        return _in_package(found[1], found[2])
    scheme, mark, rest = text.partition("://")
    if not mark:
        return Address(None, text)
    if scheme in ("package", "model"):
        name, _, path = rest.lstrip("/").partition("/")  # some write package:///NAME/...
        return _in_package(unquote(name), path)
    if scheme == "file":
        path = rest.removeprefix("localhost") if rest.startswith("localhost/") else rest
        return Address(None, path)
    return Address(None, rest, f"addresses of {scheme}:// are not followed")


def _in_package(name: str, path: str) -> Address:
    inside = os.path.normpath(path.lstrip("/") or ".")
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        return Address(name, path, f"{name!r} is no name of a package")
    if _leaves(inside):
        return Address(name, path, f"the path leaves package {name!r}")
    return Address(name, inside)


def _leaves(path: str) -> bool:
    """True if a path without detours leads out of its folder."""
    return path.startswith("/") or path.split("/")[0] == ".."


def _inside(folder: Path, path: str) -> Path:
    """A file of a package, by its name as written or with %20 and the like decoded."""
    plain = folder / path
    decoded = os.path.normpath(unquote(path))
    if decoded == path or "\0" in decoded or _leaves(decoded):
        return plain
    return plain if _is_file(plain) else folder / decoded


def _candidates(name: str, near: Path | None) -> Iterator[Path]:
    """Folders in which a package of this name may lie, best first; some of them do not exist."""
    if name in _OWN:
        yield from _own_share()
    if near is not None:
        yield from _upwards(name, near)
    yield from (share / name for share in ament_shares())
    for folder in _listed("ROS_PACKAGE_PATH"):
        if folder.name == name or _declared_name(folder) == name:
            yield folder
        yield from (folder / name, *(inner / name for inner in _subfolders(folder)))
    for share in _shares():
        yield from (share / name, share / "example-robot-data" / "robots" / name)
    yield from (_cache() / name, *(inner / name for inner in _subfolders(_cache())))


def _own_share() -> Iterator[Path]:
    try:
        yield resources.find("urdf", "pa10.urdf").parent.parent
    except AdaError:  # an installation without its data
        return


def _upwards(name: str, near: Path) -> Iterator[Path]:
    """Folders above a description, up to, but without, the root of the file system."""
    for file in dict.fromkeys((near.absolute(), _resolved(near))):
        for folder in file.parents[:-1]:
            if folder.name == name or _declared_name(folder) == name:
                yield folder
            yield folder / name


def ament_shares() -> list[Path]:
    """Folders of packages' data in the prefixes of a sourced ROS 2."""
    return [prefix / "share" for prefix in _listed("AMENT_PREFIX_PATH")]


def _shares() -> list[Path]:
    """Folders of packages' data beside this Python; pip's example-robot-data has a prefix of its own (cmeel)."""
    prefixes = [Path(sys.prefix), *(Path(entry) / "cmeel.prefix" for entry in sys.path if entry)]
    return [p / "share" for p in dict.fromkeys(prefixes) if _is_folder(p / "share")]


def _cache() -> Path:
    """Where the package robot_descriptions keeps what it has downloaded."""
    path = Path(os.environ.get("ROBOT_DESCRIPTIONS_CACHE") or "~/.cache/robot_descriptions")
    try:
        return path.expanduser()
    except RuntimeError:  # a user without a home
        return path


def _listed(variable: str) -> list[Path]:
    return [Path(entry) for entry in dict.fromkeys(os.environ.get(variable, "").split(os.pathsep)) if entry]


def _subfolders(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return sorted(Path(entry.path) for entry in islice(entries, _MOST_FOLDERS) if entry.is_dir())
    except OSError:
        return []


def _declared_name(folder: Path) -> str | None:
    try:
        with (folder / "package.xml").open("rb") as stream:
            found = _NAME.search(stream.read(_MANIFEST_BYTES))
    except (OSError, ValueError):
        return None
    return found[1].decode("utf-8", "replace") if found else None


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):  # a circle of links
        return path.absolute()


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False
