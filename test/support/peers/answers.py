# SPDX-License-Identifier: Apache-2.0
"""Answers of a device on their way to the host; every fault has a switch."""

from __future__ import annotations

import random
from collections.abc import Callable


class Answers:
    """Replies of a device, with switches for silence, loss, delay and damage."""

    def __init__(self, answer_after: float) -> None:
        self.is_silent, self.lose, self.answer_after = False, 0.0, answer_after
        self.mangle: Callable[[bytes, random.Random], bytes | None] | None = None
        self.chance = random.Random(1)

    def said(self, data: bytes) -> bytes | None:
        """An answer as it arrives, or None if nothing does."""
        if self.is_silent or self.chance.random() < self.lose:
            return None
        return data if self.mangle is None else self.mangle(data, self.chance)
