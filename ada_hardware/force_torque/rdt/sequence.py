# SPDX-License-Identifier: Apache-2.0
"""Detection of lost, late, duplicate and restarted records by their sequence numbers."""

from __future__ import annotations

from ada_hardware.force_torque.sensor_driver import SequenceCounts

WRAP = 1 << 32
_WINDOW = 256  # records before the newest one whose reception is recorded
_JUMP = 10_000  # records that can be lost at once; a larger jump is an error, or a restart of the device
_RUN = 3  # successive records with a large jump that indicate a restart
_NEAR_RUN = 32  # the same within the window, where records may be late or duplicated


class SequenceWatch:
    """Detects which records are new."""

    def __init__(self, counts: SequenceCounts) -> None:
        """Create the detector; any first number is accepted. `counts`: statistics to update."""
        self._counts = counts
        self._newest: int | None = None
        self._came = 0  # bit k: the record k before the newest one was received
        self._span = 0  # number of records from the first to the newest
        self._last_refused = 0
        self._run = 0

    def restart(self) -> None:
        """Reset: the numbers restart."""
        self._newest, self._run = None, 0

    def is_new(self, number: int) -> bool:
        """Return True if a record is newer than all before; otherwise count it."""
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
            if behind <= self._span:  # records before the first were not counted as lost
                self._counts.lost -= 1
