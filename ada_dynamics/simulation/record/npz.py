# SPDX-License-Identifier: Apache-2.0
"""Logs as .npz files: arrays as they are, the rest as text; nothing in it is executed when read."""

from __future__ import annotations

import json
import struct
import sys
import tokenize
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError, ModelError, RecordingError
from ada_dynamics.output_files import atomic_write, to_json
from ada_dynamics.simulation.log import Log
from ada_dynamics.simulation.record.content import Content, content_of, event_of, event_text

# What numpy, zipfile and json raise where the bytes of a file are wrong: heads of arrays are Python literals.
DAMAGE = (
    *(ValueError, KeyError, TypeError, EOFError, AttributeError, SyntaxError, RecursionError, MemoryError),
    *(NotImplementedError, zipfile.BadZipFile, zlib.error, struct.error, tokenize.TokenError),
)
_MOST_MEMBERS = 1000
_ENCRYPTED = 0x1  # of a member's flags
MOST_EXPANDED = 128 * 1024 * 1024  # [byte] of compressed members; a log's are not compressed
_ROWS = ("t", "q", "v", "a", "tau")


def write_npz(log: Log, path: Path) -> Path:
    """Write a log; a file of that name is replaced in one step."""
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
    """All arrays of a file, if they are not larger than it or, compressed, not larger than what is kept for them.

    Raises:
        OSError: the file cannot be read.
        DAMAGE: any of these: it is no such file.
    """
    with zipfile.ZipFile(path) as archive:
        _check_members(archive.infolist(), path.stat().st_size)
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def _check_members(members: Sequence[zipfile.ZipInfo], size: int) -> None:
    """Refuse members that are more than the file, before anything of them is read."""
    if len(members) > _MOST_MEMBERS:
        raise ValueError(f"it has {len(members)} members; at most {_MOST_MEMBERS} are read")
    if any(member.flag_bits & _ENCRYPTED for member in members):  # zipfile raises a RuntimeError only when it is read
        raise ValueError("a member of it is encrypted")
    expanded = sum(member.file_size for member in members)
    if expanded > max(size, MOST_EXPANDED):
        raise ValueError(f"its members have {expanded} bytes, compressed; at most {MOST_EXPANDED} are read")


def text_in(array: Any) -> str:
    """The text that an array without dimensions holds.

    Raises:
        ValueError: it holds none. numpy makes a text of any four bytes, and Python fails later on one that cannot be.
    """
    codes = np.frombuffer(array.tobytes(), np.dtype(np.uint32).newbyteorder(array.dtype.byteorder))
    if array.dtype.kind != "U" or array.ndim or np.max(codes, initial=0) > sys.maxunicode:
        raise ValueError("an array that must be a text is none")
    return str(array)


def read_npz(path: Path) -> Log:
    """Read a log.

    Raises:
        RecordingError: the file is damaged, or is no log.
    """
    try:
        found = read_arrays(path)
        texts = {key[5:]: text_in(value) for key, value in found.items() if key.startswith("text_")}
        content = Content.of_texts(texts)
        rows = {name: found[name] for name in _ROWS}
        return Log(
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
        said = str(problem)[:300]  # zipfile repeats what stands in place of a name
        reason = f"it has no {said}" if isinstance(problem, KeyError) else said or type(problem).__name__
        raise RecordingError(
            f"{path} is no log that Log.save wrote, or is damaged: {reason}. Read other .npz files with numpy.load."
        ) from None
