# SPDX-License-Identifier: Apache-2.0
"""Finds frames in bytes as they come, for any protocol in which a frame's beginning tells its length."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class FrameParser(Generic[T]):
    """One end of a line: takes bytes in any pieces, and resynchronises after damage.

    Attributes:
        refused: bytes that were no part of a frame.
        runs: how often such bytes came in a row.
    """

    def __init__(self, length: Callable[[bytes], int | None], decode: Callable[[bytes], T | None]) -> None:
        """Begin with an empty line.

        Args:
            length: of the frame that begins with these bytes, or how many are needed to tell; None: none begins so.
            decode: what a whole frame says; None: it is none after all.
        """
        self._length, self._decode, self._buffer = length, decode, b""
        self.refused = self.runs = 0
        self._is_in_run = False

    def feed(self, data: bytes) -> list[T]:
        """Contents of the frames that these bytes complete."""
        self._buffer += data
        found = []
        while self._buffer:
            length = self._length(self._buffer)
            if length is not None and len(self._buffer) < length:
                break
            said = None if length is None else self._decode(self._buffer[:length])
            if length is None or said is None:
                self._buffer = self._buffer[1:]
                self.refused += 1
                self.runs += not self._is_in_run
                self._is_in_run = True
            else:
                self._buffer = self._buffer[length:]
                self._is_in_run = False
                found.append(said)
        return found

    @property
    def waiting(self) -> int:
        """Bytes of a frame that is not complete."""
        return len(self._buffer)

    def forget(self) -> None:
        """Drop a frame that is not complete."""
        self.refused += len(self._buffer)
        self._buffer = b""
