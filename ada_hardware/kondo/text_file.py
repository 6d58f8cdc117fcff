# SPDX-License-Identifier: Apache-2.0
"""Text files in UTF-8 or Shift-JIS."""

from __future__ import annotations

import os
from pathlib import Path

from ada_dynamics.errors import ModelError
from ada_dynamics.structured_text.files import read_file
from ada_hardware.kondo.errors import MotionError

_ENCODINGS = ("utf-8-sig", "cp932")


def text_of(path: str | os.PathLike[str]) -> str:
    """Read a text file in UTF-8 or Shift-JIS.

    Raises:
        MotionError: the file cannot be read or has neither encoding.
    """
    try:
        data = read_file(Path(path))
    except ModelError as problem:
        raise MotionError(str(problem), file=problem.file or path, line=problem.line, field=problem.field) from None
    for encoding in _ENCODINGS:
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise MotionError(f"{path}: neither UTF-8 nor Shift-JIS (cp932) text.", file=path, field="encoding")
