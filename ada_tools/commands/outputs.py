# SPDX-License-Identifier: Apache-2.0
"""Checks of output files before a long computation."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ada_dynamics.errors import InputError


def check_files(files: Mapping[str, Path | None]) -> None:
    """Raise InputError for files that cannot be written, and for one file with two purposes.

    Args:
        files: paths by option; None if the option is not given.

    Raises:
        InputError: names the option, the file and the reason.
    """
    taken: dict[Path, str] = {}
    for option, path in files.items():
        if path is None:
            continue
        other = taken.setdefault(path.absolute(), option)
        if other != option:
            raise InputError(f"{other} and {option} are both {path}: give different files.")
        _check_file(option, path)


def make_folder(option: str, path: Path) -> None:
    """Create the output folder of an option, and check that it is writable.

    Raises:
        InputError: names the option, the folder and the reason.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InputError(f"{option} {path}: cannot create the folder: {problem.strerror}.") from None
    if not os.access(path, os.W_OK | os.X_OK):
        raise InputError(f"{option} {path}: the folder is not writable.")


def _check_file(option: str, path: Path) -> None:
    if path.is_dir():
        raise InputError(f"{option} {path}: it is a folder; give a file.")
    if path.exists() and not path.is_file():  # opening a device or pipe may block or change it
        reason = None if os.access(path, os.W_OK) else "permission denied"
    else:
        reason = _reason_against(path)
    if reason:
        raise InputError(f"{option} {path}: cannot be written: {reason}.")


def _reason_against(path: Path) -> str | None:
    """Reason why a file cannot be written, found by opening it without changing it."""
    is_new = not path.exists()
    try:
        with path.open("ab"):
            pass
        if is_new:
            path.unlink()
    except OSError as problem:
        return problem.strerror or str(problem)
    return None
