# SPDX-License-Identifier: Apache-2.0
"""Reading of files as bytes and as nodes, atomic writing, and strict JSON; every failure names the file."""

from __future__ import annotations

import json
import math
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ada_dynamics.errors import AdaError, ModelError
from ada_dynamics.structured_text.nodes import Node
from ada_dynamics.structured_text.yaml_text import parse_json, parse_yaml

MAX_BYTES = 64 * 1024 * 1024


def read_file(path: str | os.PathLike[str]) -> bytes:
    """Content of a regular file of limited size.

    Raises:
        ModelError: the file is missing, not readable, too large, a directory or a device.
    """
    try:
        file = Path(path)
        status = file.stat()
    except FileNotFoundError:
        raise ModelError(f"{path}: no such file (current directory: {Path.cwd()}).") from None
    except (OSError, ValueError) as problem:
        raise ModelError(f"{_shown(path)}: it cannot be opened ({_reason(problem)}).") from None
    if stat.S_ISDIR(status.st_mode):
        raise ModelError(f"{path}: it is a directory; give the path of a .urdf or .xacro file in it.{_inside(file)}")
    if not stat.S_ISREG(status.st_mode):
        raise ModelError(f"{path}: it is not a regular file; give the path of a .urdf or .xacro file.")
    if status.st_size > MAX_BYTES:
        raise ModelError(f"{path}: it has {status.st_size} bytes; a robot description may have at most {MAX_BYTES}.")
    try:
        with file.open("rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except OSError as problem:
        raise ModelError(f"{path}: it cannot be read ({_reason(problem)}).") from None


def has_longer_line(data: bytes, most: int) -> bool:
    """Return True if a text has a line of more than `most` bytes."""
    at = 0
    while len(data) - at > most:
        end = data.rfind(b"\n", at, at + most + 1)
        if end < 0:
            return True
        at = end + 1
    return False


def parsed(path: Path) -> Node:
    """Content of a YAML or JSON file.

    Raises:
        ModelError: the file is not readable, or is not valid UTF-8, YAML or JSON; the message names file and line.
    """
    data = read_file(path)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise ModelError(f"{path}, line {line}: it is not UTF-8 text ({problem.reason}).") from None
    return parse_json(text, str(path)) if path.suffix.lower() == ".json" else parse_yaml(text, str(path))


def _shown(path: object) -> str:
    text = str(path)
    return repr(text if len(text) <= 80 else text[:77] + "...")


def _reason(problem: OSError | ValueError) -> str:
    return problem.strerror or str(problem) if isinstance(problem, OSError) else str(problem)


def _inside(directory: Path) -> str:
    """Descriptions in a directory, as a hint in messages."""
    try:
        found = sorted(p.name for p in directory.iterdir() if p.suffix in {".urdf", ".xacro"})
    except OSError:
        return ""
    return f" It has {', '.join(found[:6])}{', ...' if len(found) > 6 else ''}." if found else ""


# --- output --------------------------------------------------------------------------------------------------------
@contextmanager
def atomic_write(path: Path, error: type[AdaError]) -> Iterator[Path]:
    """Yield the path of a temporary file that replaces `path` when the block succeeds.

    Args:
        path: file to write.
        error: type of the exception raised if the file cannot be written.
    """
    temporary = path.with_name(f".{path.name[:80]}.{os.getpid()}.part")
    try:
        try:
            yield temporary
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as problem:
        words = f"{path} cannot be written: {problem.strerror or problem}."
        raise error(words, file=path, value=problem.errno) from None


def to_json(value: Any, indent: int | None = None) -> str:
    """JSON text. Arrays become lists, NaN and Inf become null, objects unknown to JSON become their `str`."""
    return json.dumps(_plain(value), indent=indent, ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, set | frozenset):
        return [_plain(one) for one in sorted(value, key=str)]
    return value if value is None or isinstance(value, bool | int | str) else str(value)
