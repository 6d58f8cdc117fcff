# SPDX-License-Identifier: Apache-2.0
"""Data files of the package (robots, parameters, launch files), install commands of its extras, and entry points.

The files are in the folder that contains `package.xml`, `urdf/`, `config/` and `launch/`:

- the root of the repository for a checkout, an editable install and `colcon build --symlink-install`;
- `share/ada_dynamics` below the installation prefix for pip and colcon.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import shlex
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, Literal, TypeAlias, get_args

from ada_dynamics.errors import AdaError, check_name, unknown_name

NAME = "ada_dynamics"
Kind: TypeAlias = Literal["urdf", "config", "launch"]

# From <prefix>/lib/python3.x/site-packages to <prefix>; folders above belong to other installations.
_STEPS_TO_PREFIX = 4


def find(kind: Kind, name: str, folder: Path | None = None) -> Path:
    """Return the path of a data file.

    Args:
        kind: "urdf", "config" or "launch".
        name: path below that folder, separated by "/", such as "pa10/pa10.urdf".
        folder: data folder; that of this installation by default.

    Raises:
        InputError: the kind or the file does not exist; the message names the searched folder and similar names.
        AdaError: the installation lacks its data files.
    """
    below = _folder(kind, folder)
    path = PurePosixPath(name)
    if not name or path.is_absolute() or ".." in path.parts or not (below / path).is_file():
        raise unknown_name(f"{kind} file below {below}", name, names(kind, folder))
    return below / path


def names(kind: Kind, folder: Path | None = None) -> list[str]:
    """Sorted names of the data files of a kind, as accepted by `find`."""
    below = _folder(kind, folder)
    files = (path.relative_to(below) for path in below.rglob("*") if path.is_file())
    return sorted(path.as_posix() for path in files if not _is_ignored(path))


def _is_ignored(path: Path) -> bool:
    """Return True for byte code, hidden files and editor backups, which setup.py does not install."""
    return path.name.endswith("~") or any(part == "__pycache__" or part.startswith(".") for part in path.parts)


def _folder(kind: Kind, folder: Path | None) -> Path:
    check_name("kind of data file", kind, get_args(Kind))
    return (folder_of(Path(__file__).parent) if folder is None else folder) / kind


def folder_of(package: Path) -> Path:
    """Return the data folder of the package at a path.

    Raises:
        AdaError: no data folder is found; `error.allowed` lists the searched folders.
    """
    searched = _candidates(package)
    for root in searched:
        if (root / "package.xml").is_file():
            return root
    text = f"the data files of ada_dynamics are missing: package.xml is in none of {', '.join(map(str, searched))}."
    raise AdaError(f"{text} Install the package again, with pip or with colcon.", allowed=tuple(searched))


def _candidates(package: Path) -> list[Path]:
    """Candidate data folders of the package at a path, in order of preference."""
    found: list[Path] = []
    # The imported path is searched first: if an installer links single files out of a cache, only this path leads to
    # share/. If the checkout is linked, the resolved path leads to the checkout.
    for above in (package.absolute().parents, package.resolve().parents):
        found.append(above[0])
        found.extend(prefix / "share" / "ada_dynamics" for prefix in above[:_STEPS_TO_PREFIX])
    return list(dict.fromkeys(found))


def how_to_install(extra: str) -> str:
    """Return the command that installs an extra; it names the source of the package, which is not on an index."""
    folder = Path(__file__).resolve().parents[1]
    if (folder / "setup.py").is_file():  # a checkout, directly or by a link of colcon
        return f"pip install -e {shlex.quote(f'{folder}[{extra}]')}"
    try:
        record = json.loads(importlib.metadata.distribution(NAME).read_text("direct_url.json") or "{}")
    except importlib.metadata.PackageNotFoundError:
        record = {}
    source = record.get("url")  # PEP 610
    if source is None:
        return f"pip install '.[{extra}]' in the folder of {NAME}'s source"
    if "vcs_info" in record:
        source = f"{record['vcs_info']['vcs']}+{source}@{record['vcs_info']['commit_id']}"
    return f"pip install {shlex.quote(f'{NAME}[{extra}] @ {source}')}"


@cache
def provided(group: str, name: str | None = None) -> tuple[Any, ...]:
    """Objects that installed distributions provide by the entry points of a group, or by those of a name."""
    points = [one for one in importlib.metadata.entry_points(group=group) if name in (None, one.name)]
    return tuple(point.load() for point in points if importlib.util.find_spec(point.module.partition(".")[0]))
