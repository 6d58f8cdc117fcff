# SPDX-License-Identifier: Apache-2.0
"""The package's data files (robots, parameters, launch files), found alike in every layout.

A layout is a folder that holds `package.xml` beside `urdf/`, `config/` and `launch/`:

- a checkout, an editable install, `colcon build --symlink-install`: the repository's root;
- pip and plain colcon: `share/ada_dynamics` below the prefix that the package is installed in.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Literal, TypeAlias, get_args

from ada_dynamics.errors import AdaError, unknown_name

Kind: TypeAlias = Literal["urdf", "config", "launch"]

# From <prefix>/lib/python3.x/site-packages up to <prefix>. No further: the files would be another installation's.
_STEPS_TO_PREFIX = 4


def find(kind: Kind, name: str, folder: Path | None = None) -> Path:
    """Path of one data file.

    Args:
        kind: "urdf", "config" or "launch".
        name: The file's name below that folder, with "/" between folders, such as "pa10/pa10.urdf".
        folder: The data folder; by default that of this installation.

    Raises:
        InputError: No such kind or no such file; the message says where it looked and which names are near.
        AdaError: The installation lacks its data files.
    """
    below = _folder(kind, folder)
    path = PurePosixPath(name)
    if not name or path.is_absolute() or ".." in path.parts or not (below / path).is_file():
        raise unknown_name(f"{kind} file below {below}", name, names(kind, folder))
    return below / path


def names(kind: Kind, folder: Path | None = None) -> list[str]:
    """Names of all data files of one kind, sorted, as `find` takes them."""
    below = _folder(kind, folder)
    files = (path.relative_to(below) for path in below.rglob("*") if path.is_file())
    return sorted(path.as_posix() for path in files if not _is_litter(path))


def _is_litter(path: Path) -> bool:
    """Byte code, hidden files and editors' backups: setup.py does not install them either."""
    return path.name.endswith("~") or any(part == "__pycache__" or part.startswith(".") for part in path.parts)


def _folder(kind: Kind, folder: Path | None) -> Path:
    if kind not in get_args(Kind):
        raise unknown_name("kind of data file", kind, get_args(Kind))
    return (folder_of(Path(__file__).parent) if folder is None else folder) / kind


def folder_of(package: Path) -> Path:
    """The data folder of the package at a path; an AdaError says where it was looked for."""
    searched = _candidates(package)
    for root in searched:
        if (root / "package.xml").is_file():
            return root
    text = f"the data files of ada_dynamics are missing: package.xml is in none of {', '.join(map(str, searched))}."
    raise AdaError(f"{text} Install the package again, with pip or with colcon.", allowed=tuple(searched))


def _candidates(package: Path) -> list[Path]:
    """Folders in which the data of the package at this path may lie, best first."""
    found: list[Path] = []
    # The path as imported comes first: where an installer links single files out of a cache, only that one leads to
    # share/. Where it is the checkout that is linked, the real path leads to the checkout.
    for above in (package.absolute().parents, package.resolve().parents):
        found.append(above[0])
        found.extend(prefix / "share" / "ada_dynamics" for prefix in above[:_STEPS_TO_PREFIX])
    return list(dict.fromkeys(found))
