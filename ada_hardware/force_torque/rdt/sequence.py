# SPDX-License-Identifier: Apache-2.0
"""Lost, late, doubled and restarted records, by their numbers."""

from __future__ import annotations

from ada_hardware.force_torque.sensor_driver import SequenceCounts

WRAP = 1 << 32
_WINDOW = 256  # records behind the newest one for which it is known whether they came
_JUMP = 10_000  # records that may be lost in one piece; a greater jump is damage, or the device counts anew
_RUN = 3  # consecutive far records after which the device counts anew
_NEAR_RUN = 32  # the same for numbers within the window, where they may as well be late or come twice


class SequenceWatch:
    """Tells which records are new."""

    def __init__(self, counts: SequenceCounts) -> None:
        """Begin; the first record is new whatever its number.

        Args:
            counts: counted up here.
        """
        self._counts = counts
        self._newest: int | None = None
        self._came = 0  # bit k: the record k before the newest one came
        self._span = 0  # from the first record to the newest
        self._last_refused = 0
        self._run = 0

    def restart(self) -> None:
        """The device was asked to count anew."""
        self._newest, self._run = None, 0

    def is_new(self, number: int) -> bool:
        """True if a record is newer than all before; old ones and repeated ones are counted."""
        if self._newest is None:
            return self._begin(number)
        ahead = (number - self._newest + WRAP // 2) % WRAP - WRAP // 2
        if 0 < ahead <= _JUMP:
            self._counts.lost += ahead - 1
            return self._accept(number, ahead)
        follows = 0 < (number - self._last_refused) % WRAP <= _WINDOW
        self._run = self._run + 1 if self._run and follows else 1
        self._last_refused = number
        is_near = -_WINDOW < ahead <= 0
        if self._run >= (_NEAR_RUN if is_near else _RUN):
            self._counts.restarted += 1
            return self._begin(number)
        if is_near:
            self._count_old(-ahead)
        return False

    def _begin(self, number: int) -> bool:
        self._came = self._span = 0
        return self._accept(number, 0)

    def _accept(self, number: int, ahead: int) -> bool:
        self._newest, self._run = number, 0
        self._span += ahead
        self._came = ((self._came << min(ahead, _WINDOW)) | 1) & ((1 << _WINDOW) - 1)
        return True

    def _count_old(self, behind: int) -> None:
        bit = 1 << behind
        if self._came & bit:
            self._counts.duplicated += 1
        else:
            self._came |= bit
            self._counts.reordered += 1
            if behind <= self._span:  # what is older than the first record was never missed
                self._counts.lost -= 1
