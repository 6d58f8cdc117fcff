# SPDX-License-Identifier: Apache-2.0
"""Logs as .npz files: arrays as they are, the rest as text; nothing in it is executed when read."""

from __future__ import annotations

import json
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError, ModelError, RecordingError
from ada_dynamics.simulation.log import Log
from ada_dynamics.simulation.record.content import Content, content_of, event_of, event_text
from ada_dynamics.whole_files import replacing, to_json

# What numpy, zipfile and json raise where the bytes of a file are wrong: heads of arrays are Python literals.
_DAMAGE = (
    *(ValueError, KeyError, TypeError, EOFError, AttributeError, SyntaxError, RecursionError, MemoryError),
    *(NotImplementedError, zipfile.BadZipFile, zlib.error, struct.error, tokenize.TokenError),
)
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
    with replacing(path, RecordingError) as temporary, temporary.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays, **texts)
    return path


def _stacked(wrenches: Mapping[str, Array], rows: int) -> Array:
    return np.stack([*wrenches.values()]) if wrenches else np.empty((0, rows, 6))


def read_npz(path: Path) -> Log:
    """Read a log.

    Raises:
        RecordingError: the file is damaged, or is no log.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            found = {name: file[name] for name in file.files}
        texts = {key[5:]: str(value) for key, value in found.items() if key.startswith("text_")}
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
    except (*_DAMAGE, InputError, ModelError) as problem:
        said = str(problem)[:300]  # zipfile repeats what stands in place of a name
        reason = f"it has no {said}" if isinstance(problem, KeyError) else said or type(problem).__name__
        raise RecordingError(
            f"{path} is no log that Log.save wrote, or is damaged: {reason}. Read other .npz files with numpy.load."
        ) from None
