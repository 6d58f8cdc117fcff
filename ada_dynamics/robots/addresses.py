# SPDX-License-Identifier: Apache-2.0
"""Resolution of the files and packages named in robot descriptions, with and without ROS.

An address is `package://NAME/path`, `model://NAME/path`, `$(find NAME)/path`, `file:///path`, or a path relative to the
description. Packages are searched in this order:

1. data of this distribution (`ada_dynamics`, `ada_controllers`, `ada_hardware`);
2. parents of the description: a folder whose package.xml has that name, a folder of that name, or its sibling;
3. prefixes of AMENT_PREFIX_PATH;
4. robots installed by pip or conda: `share/` of this Python, example-robot-data, the cache of robot_descriptions.

The first package that contains the file is used. The network is never accessed, and a path cannot leave its package.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote
from xml.sax.saxutils import escape

from ada_dynamics import resources
from ada_dynamics.errors import AdaError
from ada_dynamics.model.model import Model

_OWN = ("ada_dynamics", "ada_controllers", "ada_hardware")
_FIND = re.compile(r"^(?:file://)?\$\((?:find|find-pkg-share) +([^()\s]+) *\)(.*)$", re.DOTALL)
_NAME = re.compile(rb"<name[^>]*>\s*([^<\s]+)\s*</name>")
_MANIFEST_BYTES = 1 << 16  # read from a package.xml
_MAX_FOLDERS = 1000  # searched below a cache
_MAX_NAMED = 4  # paths named in a message


class Address(NamedTuple):
    """Parsed address: a path in a package, or a path on this machine if `package` is None."""

    package: str | None
    path: str
    problem: str = ""  # reason why the address is invalid


class AddressResolver:
    """Resolves the addresses of one description; found packages are cached."""

    def __init__(self, near: str | os.PathLike[str] | None = None) -> None:
        """Initialize with the file of the description, or None for a description given as text."""
        self._near = None if near is None else Path(near)
        self._packages: dict[str, list[Path]] = {}

    def package(self, name: str) -> Path | None:
        """Return the folder of a package, or None."""
        return next(iter(self._folders(name)), None)

    def file(self, address: str) -> Path | None:
        """Return the file of an address, or None."""
        return next((place for place in self._places(parse_address(address)) if _holds(place.is_file)), None)

    def package_of(self, address: str) -> Path | None:
        """Return the folder of the package that contains the file of an address, or None without a package."""
        wanted = parse_address(address)
        if wanted.package is None:
            return None
        return next((f for f in self._folders(wanted.package) if _holds(_inside(f, wanted.path).is_file)), None)

    def searched(self, address: str) -> str:
        """Describe the search for an address in an error message."""
        wanted = parse_address(address)
        if wanted.problem:
            return wanted.problem
        if wanted.package is None:
            if self._near is None and not Path(wanted.path).is_absolute():
                return "a relative path in a description given as text, without a folder"
            return f"no file {next(self._places(wanted), wanted.path)}"
        folders = self._folders(wanted.package)
        if not folders:
            return f"no package {wanted.package!r} {self._search_path()}"
        shown = ", ".join(map(str, folders[:_MAX_NAMED])) + (", ..." if len(folders) > _MAX_NAMED else "")
        return f"package {wanted.package!r} is {shown}, which lacks the file"

    def _search_path(self) -> str:
        parents = f"in the parents of {self._near.absolute().parent}, " if self._near is not None else ""
        ament = os.environ.get("AMENT_PREFIX_PATH") or "not set"
        places = ", ".join(map(str, (*_shares(), _cache())))
        return f"{parents}in AMENT_PREFIX_PATH ({ament}) or among the installed robots ({places})"

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
            found = dict.fromkeys(folder for folder in _candidates(package, self._near) if _holds(folder.is_dir))
            self._packages[package] = list(found)
        return self._packages[package]


def missing_meshes(missing: Mapping[str, str], total: int, verb: str = "found") -> str:
    """Return one line about meshes, of a total number, that are not "found" or "read", from the reasons by address."""
    named = list(missing)
    shown = ", ".join(named[:_MAX_NAMED]) + (", ..." if len(named) > _MAX_NAMED else "")
    reasons = list(dict.fromkeys(missing.values()))
    why = "; ".join(reasons[:_MAX_NAMED]) + ("; ..." if len(reasons) > _MAX_NAMED else "")
    return f"{len(missing)} of {total} meshes are not {verb}: {shown} ({why})"


def parse_address(address: str) -> Address:
    """Parse an address."""
    text = address.strip()
    if "\0" in text or not text:
        return Address(None, text, "not a path")
    found = _FIND.match(text)
    if found:
        return _in_package(found[1], found[2])
    scheme, mark, rest = text.partition("://")
    if not mark:
        return Address(None, text)
    if scheme in ("package", "model"):
        name, _, path = rest.lstrip("/").partition("/")  # package:///NAME/... is accepted
        if rest.startswith("/") and name and not path:
            return Address(None, unquote(name))  # a file in the folder of the description
        return _in_package(unquote(name), path)
    if scheme == "file":
        path = rest.removeprefix("localhost") if rest.startswith("localhost/") else rest
        return Address(None, path)
    return Address(None, rest, f"{scheme}:// is not supported")


def _in_package(name: str, path: str) -> Address:
    inside = os.path.normpath(path.lstrip("/") or ".")
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        return Address(name, path, f"{name!r} is not a package name")
    if _leaves(inside):
        return Address(name, path, f"the path leaves package {name!r}")
    return Address(name, inside)


def _leaves(path: str) -> bool:
    """Return True if a normalized path leads out of its folder."""
    return path.startswith("/") or path.split("/")[0] == ".."


def _inside(folder: Path, path: str) -> Path:
    """Path of a file in a package; the name is percent-decoded if the literal name does not exist."""
    plain = folder / path
    decoded = os.path.normpath(unquote(path))
    if decoded == path or "\0" in decoded or _leaves(decoded):
        return plain
    return plain if _holds(plain.is_file) else folder / decoded


def _candidates(name: str, near: Path | None) -> Iterator[Path]:
    """Candidate folders of a package, in order of preference; some do not exist."""
    if name in _OWN:
        with suppress(AdaError):  # installation without data files
            yield resources.find("urdf", "pa10.urdf").parent.parent
    if near is not None:
        yield from _upwards(name, near)
    yield from (share / name for share in ament_shares())
    for share in _shares():
        yield from (share / name, share / "example-robot-data" / "robots" / name)
    yield from (_cache() / name, *(inner / name for inner in _subfolders(_cache())))


def _upwards(name: str, near: Path) -> Iterator[Path]:
    """Parents of a description except the root of the file system, and their children of the given name."""
    for file in dict.fromkeys((near.absolute(), _resolved(near))):
        for folder in file.parents[:-1]:
            if folder.name == name or _declared_name(folder) == name:
                yield folder
            yield folder / name


def ament_shares() -> list[Path]:
    """Share folders of the prefixes of a sourced ROS 2."""
    prefixes = dict.fromkeys(os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep))
    return [Path(prefix) / "share" for prefix in prefixes if prefix]


def _shares() -> list[Path]:
    """Share folders of this Python; example-robot-data from pip is in the prefix of cmeel."""
    prefixes = [Path(sys.prefix), *(Path(entry) / "cmeel.prefix" for entry in sys.path if entry)]
    return [p / "share" for p in dict.fromkeys(prefixes) if _holds((p / "share").is_dir)]


def _cache() -> Path:
    """Download folder of the package robot_descriptions."""
    path = Path(os.environ.get("ROBOT_DESCRIPTIONS_CACHE") or "~/.cache/robot_descriptions")
    try:
        return path.expanduser()
    except RuntimeError:  # no home folder
        return path


def _subfolders(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return sorted(Path(entry.path) for entry in islice(entries, _MAX_FOLDERS) if entry.is_dir())
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
    except (OSError, RuntimeError):  # circular links
        return path.absolute()


def _holds(test: Callable[[], bool]) -> bool:
    """Result of `is_file` or `is_dir` of a path; False for a path that cannot be examined."""
    try:
        return test()
    except (OSError, ValueError):
        return False


def with_lasting_addresses(text: str, model: Model, place: Path | None) -> tuple[str, int]:
    """Replace mesh addresses that are invalid from a new location of the description by file:// addresses.

    Args:
        text: URDF of the model.
        model: the model.
        place: file to which the text is written, or None for a text without file.

    Returns:
        The text and the number of changed addresses.
    """
    resolver = AddressResolver(place)
    resolvers: dict[str, AddressResolver] = {}
    changed: dict[str, str] = {}
    for link in model.links.values():
        for shape in (*link.visuals, *link.collisions):
            if shape.mesh is None or shape.description_file is None or shape.mesh in changed:
                continue
            own = resolvers.setdefault(shape.description_file, AddressResolver(shape.description_file))
            file = own.file(shape.mesh)
            if file is not None and resolver.file(shape.mesh) != file:
                changed[shape.mesh] = file.absolute().as_uri()
    for old, new in changed.items():
        for before, after in ('""', "''", "><"):
            text = text.replace(f"{before}{escape(old)}{after}", f"{before}{escape(new)}{after}")
    return text, len(changed)
