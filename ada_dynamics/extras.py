# SPDX-License-Identifier: Apache-2.0
"""How to install what is optional, for messages about what is missing.

The package is on no index, so that its name alone is nothing to pip: the line names the folder it was installed from.
"""

from __future__ import annotations

import importlib.metadata
import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

NAME = "ada_dynamics"


def how_to_install(extra: str) -> str:
    """A line that installs an extra of this package, in whatever folder it is given.

    Args:
        extra: one of those in setup.py, such as "view".
    """
    source = _noted() or _checkout()
    if source is None:
        return f"pip install '.[{extra}]' in the folder of {NAME}'s source"
    flag = "-e " if source.is_editable else ""
    return f"pip install {flag}{shlex.quote(f'{source.before}[{extra}]{source.after}')}"


@dataclass(frozen=True)
class _Source:
    """Where the package came from: what pip takes, before and after the extra."""

    before: str
    after: str = ""
    is_editable: bool = False


def _noted() -> _Source | None:
    """Pip's note on where it installed the package from (PEP 610)."""
    try:
        text = importlib.metadata.distribution(NAME).read_text("direct_url.json")
    except importlib.metadata.PackageNotFoundError:
        return None
    noted = json.loads(text or "{}")
    url = str(noted.get("url", ""))
    if "dir_info" in noted:
        folder = Path(unquote(urlsplit(url).path))
        return _Source(str(folder), "", bool(noted["dir_info"].get("editable"))) if _is_source(folder) else None
    if "vcs_info" in noted:
        url = f"{noted['vcs_info']['vcs']}+{url}@{noted['vcs_info']['commit_id']}"
    return _Source(NAME, f" @ {url}") if url else None


def _checkout() -> _Source | None:
    """The checkout in which this file is, or to which colcon has linked it."""
    folder = Path(__file__).resolve().parents[1]
    return _Source(str(folder), "", True) if _is_source(folder) else None


def _is_source(folder: Path) -> bool:
    return (folder / "setup.py").is_file()
