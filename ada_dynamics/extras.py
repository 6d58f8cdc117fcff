# SPDX-License-Identifier: Apache-2.0
"""Install commands of the optional dependencies, for error messages.

The package is not on an index, therefore a command names the folder or repository that it was installed from.
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
    """Return the command that installs an extra of this package from any working directory.

    Args:
        extra: name of an extra in setup.py, such as "view".
    """
    source = _direct_url() or _checkout()
    if source is None:
        return f"pip install '.[{extra}]' in the folder of {NAME}'s source"
    flag = "-e " if source.is_editable else ""
    return f"pip install {flag}{shlex.quote(f'{source.before}[{extra}]{source.after}')}"


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
