# SPDX-License-Identifier: Apache-2.0
"""Logs as .npz files: arrays, and metadata as text; reading executes no code from the file."""

from __future__ import annotations

import json
import struct
import sys
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError, ModelError, RecordingError
from ada_dynamics.simulation.log_quantities import LogQuantities
from ada_dynamics.simulation.record.content import Content, content_of, event_of, event_text
from ada_dynamics.structured_text.files import atomic_write, to_json

# Errors of numpy, zipfile and json for a damaged file; headers of arrays are Python literals.
DAMAGE = (
    *(ValueError, KeyError, TypeError, EOFError, AttributeError, SyntaxError, RecursionError, MemoryError),
    *(NotImplementedError, zipfile.BadZipFile, zlib.error, struct.error, tokenize.TokenError),
)
T = TypeVar("T")
_MOST_MEMBERS = 1000
_ENCRYPTED = 0x1  # flag of a member
MOST_EXPANDED = 128 * 1024 * 1024  # [byte], maximum size of decompressed members; those of a log are not compressed
_ROWS = ("t", "q", "v", "a", "tau")


def write_npz(log: LogQuantities, path: Path) -> Path:
    """Write a log; an existing file is replaced atomically."""
    content = content_of(log)
    arrays = {name: getattr(log, name) for name in _ROWS}
    arrays["external_wrenches"] = _stacked(log.external, len(log))
    arrays["contact_wrenches"] = _stacked(log.contact_wrenches, len(log))
    arrays["singular"] = np.array(log.singular, dtype=np.float64)
    texts = {f"text_{key}": np.array(text) for key, text in content.texts().items()}
    texts["text_events"] = np.array(to_json([json.loads(event_text(event)) for event in log.events]))
    texts["text_complete"] = np.array(to_json(log.info.get("complete", True)))
    with atomic_write(path, RecordingError) as temporary, temporary.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays, **texts)
    return path


def _stacked(wrenches: Mapping[str, Array], rows: int) -> Array:
    return np.stack([*wrenches.values()]) if wrenches else np.empty((0, rows, 6))


def read_arrays(path: Path) -> dict[str, Any]:
    """Return all arrays of a file after a check of their size against that of the file, or a limit if compressed.

    Raises:
        OSError: the file cannot be read.
        DAMAGE: one of these errors if the file is damaged.
    """
    with zipfile.ZipFile(path) as archive:
        _check_members(archive.infolist(), path.stat().st_size)
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def _check_members(members: Sequence[zipfile.ZipInfo], size: int) -> None:
    """Reject members that exceed the size limit, before they are read."""
    if len(members) > _MOST_MEMBERS:
        raise ValueError(f"it has {len(members)} members; the limit is {_MOST_MEMBERS}")
    if any(member.flag_bits & _ENCRYPTED for member in members):  # zipfile raises a RuntimeError only when it is read
        raise ValueError("a member of it is encrypted")
    expanded = sum(member.file_size for member in members)
    if expanded > max(size, MOST_EXPANDED):
        raise ValueError(f"its members have {expanded} bytes after decompression; the limit is {MOST_EXPANDED}")


def text_in(array: Any) -> str:
    """Return the text of an array without dimensions.

    Raises:
        ValueError: the array is not a text; numpy accepts any four bytes as a character.
    """
    codes = np.frombuffer(array.tobytes(), np.dtype(np.uint32).newbyteorder(array.dtype.byteorder))
    if array.dtype.kind != "U" or array.ndim or np.max(codes, initial=0) > sys.maxunicode:
        raise ValueError("an array is not a text")
    return str(array)


def read_npz(path: Path, make: Callable[..., T]) -> T:
    """Read a log.

    Args:
        path: the file.
        make: `Log`.

    Raises:
        RecordingError: the file is damaged, or is not a log.
    """
    try:
        found = read_arrays(path)
        texts = {key[5:]: text_in(value) for key, value in found.items() if key.startswith("text_")}
        content = Content.of_texts(texts)
        rows = {name: found[name] for name in _ROWS}
        return make(
            content.model,
            **rows,
            external=dict(zip(content.external, found["external_wrenches"], strict=True)),
            contact_wrenches=dict(zip(content.contacts, found["contact_wrenches"], strict=True)),
            contact_frames=content.contact_frames,
            events=[event_of(event) for event in json.loads(texts["events"])],
            singular=found["singular"].tolist(),
            info={**content.info, "complete": bool(json.loads(texts["complete"]))},
        )
    except OSError as problem:
        raise RecordingError(f"{path} cannot be read: {problem.strerror or problem}.") from None
    except (*DAMAGE, InputError, ModelError) as problem:
        said = str(problem)[:300]  # zipfile repeats the name of a member
        reason = f"it has no {said}" if isinstance(problem, KeyError) else said or type(problem).__name__
        raise RecordingError(
            f"{path} was not written by Log.save, or is damaged: {reason}. Read other .npz files with numpy.load."
        ) from None
