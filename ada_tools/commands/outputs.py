# SPDX-License-Identifier: Apache-2.0
"""Checks of output files, before a command works for minutes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ada_dynamics.errors import InputError


def check_files(files: Mapping[str, Path | None]) -> None:
    """Refuse files that cannot be written, and one file for two purposes.

    Args:
        files: by the option that names them; None where it is not given.

    Raises:
        InputError: the message names the option, the file and the reason.
    """
    taken: dict[Path, str] = {}
    for option, path in files.items():
        if path is None:
            continue
        other = taken.setdefault(path.absolute(), option)
        if other != option:
            raise InputError(f"{other} and {option} are both {path}: give each a file of its own.")
        _check_file(option, path)


def make_folder(option: str, path: Path) -> None:
    """Make the folder of an option, and refuse one in which nothing can be written.

    Raises:
        InputError: the message names the option, the folder and the reason.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InputError(f"{option} {path}: the folder cannot be made: {problem.strerror}.") from None
    if not os.access(path, os.W_OK | os.X_OK):
        raise InputError(f"{option} {path}: nothing can be written into that folder.")


def _check_file(option: str, path: Path) -> None:
    if path.is_dir():
        raise InputError(f"{option} {path}: that is a folder; name a file.")
    if path.exists() and not path.is_file():  # a device or a pipe, which opening may block or change
        reason = None if os.access(path, os.W_OK) else "permission denied"
    else:
        reason = _reason_against(path)
    if reason:
        raise InputError(f"{option} {path}: it cannot be written: {reason}.")


def _reason_against(path: Path) -> str | None:
    """Why a file cannot be written; found by opening it, which leaves it as it is."""
    is_new = not path.exists()
    try:
        with path.open("ab"):
            pass
        if is_new:
            path.unlink()
    except OSError as problem:
        return problem.strerror or str(problem)
    return None
