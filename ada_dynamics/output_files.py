# SPDX-License-Identifier: Apache-2.0
"""Atomically written files, and strict JSON."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ada_dynamics.errors import AdaError


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
