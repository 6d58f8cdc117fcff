# SPDX-License-Identifier: Apache-2.0
"""Limits of a force; the first one exceeded is kept until a reset."""

from __future__ import annotations

import math

from ada_dynamics.arrays import Array


class ForceLimits:
    """Limits of |f| and |n|.

    Attributes:
        passed: words on the first limit exceeded; "": none.
    """

    def __init__(self, max_force: float, max_moment: float, samples: int = 1) -> None:
        """Begin.

        Args:
            max_force: [N]; 0: none.
            max_moment: [N m]; 0: none.
            samples: in a row above a limit before it counts.
        """
        self._limits = (("force", "N", "max_force", max_force), ("moment", "N m", "max_moment", max_moment))
        self._samples = samples
        self._above = 0
        self.passed = ""

    @property
    def is_watching(self) -> bool:
        """True if there is a limit."""
        return any(limit > 0.0 for *_, limit in self._limits)

    def watch(self, wrench: Array) -> bool:
        """Check a wrench; True if a limit is exceeded for the first time since the reset."""
        sizes = (math.sqrt(float(wrench[:3] @ wrench[:3])), math.sqrt(float(wrench[3:] @ wrench[3:])))
        over = [
            f"{what} of {size:.4g} {unit}, above {name} {limit:g} {unit}"
            for size, (what, unit, name, limit) in zip(sizes, self._limits, strict=True)
            if limit > 0.0 and not size <= limit  # so that NaN counts as too much
        ]
        self._above = self._above + 1 if over else 0
        return self._above >= self._samples and self.trip(" and ".join(over))

    def trip(self, words: str) -> bool:
        """Count a limit as exceeded for another reason; True if it is the first one since the reset."""
        if self.passed or not words:
            return False
        self.passed = words
        return True

    def reset(self) -> None:
        """Forget the exceeded limit."""
        self.passed, self._above = "", 0
