# SPDX-License-Identifier: Apache-2.0
"""Optional dependencies: their install commands, for error messages, and what other distributions provide.

The package is not on an index, therefore a command names the folder or repository that it was installed from.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

NAME = "ada_dynamics"


def how_to_install(extra: str) -> str:
    """Return the command that installs an extra of this package from any working directory.

    Args:
        extra: name of an extra in setup.py, such as "view".
    """
    source = _direct_url() or _checkout()
    if source is None:
        return f"pip install '.[{extra}]' in the folder of {NAME}'s source"
    flag = "-e " if source.is_editable else ""
    return f"pip install {flag}{shlex.quote(f'{source.before}[{extra}]{source.after}')}"


def how_to_install_experiments() -> str:
    """Return the command that installs the experiments, a distribution of its own in the folder experiments."""
    source = _direct_url() or _checkout()
    if source is None or source.after:
        return f"pip install ./experiments in the folder of {NAME}'s source"
    return f"pip install {'-e ' if source.is_editable else ''}{shlex.quote(f'{source.before}/experiments')}"


def provided(group: str, name: str | None = None) -> list[Any]:
    """Objects that installed distributions provide by the entry points of a group, or by those of a name."""
    points = [one for one in importlib.metadata.entry_points(group=group) if name in (None, one.name)]
    return [point.load() for point in points if importlib.util.find_spec(point.module.partition(".")[0])]


@dataclass(frozen=True)
class _Source:
    """Source of the installation as an argument of pip, before and after the extra."""

    before: str
    after: str = ""
    is_editable: bool = False


def _direct_url() -> _Source | None:
    """Source recorded by pip (PEP 610)."""
    try:
        text = importlib.metadata.distribution(NAME).read_text("direct_url.json")
    except importlib.metadata.PackageNotFoundError:
        return None
    record = json.loads(text or "{}")
    url = str(record.get("url", ""))
    if "dir_info" in record:
        folder = Path(unquote(urlsplit(url).path))
        return _Source(str(folder), "", bool(record["dir_info"].get("editable"))) if _is_source(folder) else None
    if "vcs_info" in record:
        url = f"{record['vcs_info']['vcs']}+{url}@{record['vcs_info']['commit_id']}"
    return _Source(NAME, f" @ {url}") if url else None


def _checkout() -> _Source | None:
    """Checkout that contains this file, directly or by a link of colcon."""
    folder = Path(__file__).resolve().parents[1]
    return _Source(str(folder), "", True) if _is_source(folder) else None


def _is_source(folder: Path) -> bool:
    return (folder / "setup.py").is_file()
