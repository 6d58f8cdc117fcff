# SPDX-License-Identifier: Apache-2.0
"""Incremental frame parser for any protocol whose first bytes determine the frame length."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class FrameParser(Generic[T]):
    """Finds frames in a byte stream and resynchronizes after errors.

    Attributes:
        refused: bytes that were not part of a frame.
        runs: number of contiguous runs of such bytes.
    """

    def __init__(self, length: Callable[[bytes], int | None], decode: Callable[[bytes], T | None]) -> None:
        """Create the parser.

        Args:
            length: returns the length of the frame that starts with the given bytes, or the number of bytes needed to
                determine it; None if no frame starts with them.
            decode: returns the content of a complete frame; None if it is invalid.
        """
        self._length, self._decode, self._buffer = length, decode, b""
        self.refused = self.runs = 0
        self._is_in_run = False

    def feed(self, data: bytes) -> list[T]:
        """Return the contents of the frames completed by `data`."""
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
        """Bytes of an incomplete frame."""
        return len(self._buffer)

    def forget(self) -> None:
        """Discard an incomplete frame, which counts as refused."""
        self.refused += len(self._buffer)
        self._buffer = b""
