# SPDX-License-Identifier: Apache-2.0
"""Force and moment limits; the first violation is latched until a reset."""

from __future__ import annotations

import math

from ada_dynamics.arrays import Array


class ForceLimits:
    """Limits of |f| and |n|.

    Attributes:
        passed: description of the first violation; "" without one.
    """

    def __init__(self, max_force: float, max_moment: float, samples: int = 1) -> None:
        """Create the limits.

        Args:
            max_force: force limit [N]; 0: none.
            max_moment: moment limit [N m]; 0: none.
            samples: successive samples above a limit that count as a violation.
        """
        self._limits = (("force", "N", "max_force", max_force), ("moment", "N m", "max_moment", max_moment))
        self._samples = samples
        self._above = 0
        self.passed = ""

    @property
    def is_watching(self) -> bool:
        """True if a limit is set."""
        return any(limit > 0.0 for *_, limit in self._limits)

    def watch(self, wrench: Array) -> bool:
        """Check a wrench; return True at the first violation since the reset."""
        sizes = (math.sqrt(float(wrench[:3] @ wrench[:3])), math.sqrt(float(wrench[3:] @ wrench[3:])))
        over = [
            f"{what} of {size:.4g} {unit}, above {name} {limit:g} {unit}"
            for size, (what, unit, name, limit) in zip(sizes, self._limits, strict=True)
            if limit > 0.0 and not size <= limit  # NaN counts as a violation
        ]
        self._above = self._above + 1 if over else 0
        return self._above >= self._samples and self.trip(" and ".join(over))

    def trip(self, words: str) -> bool:
        """Latch a violation for another reason; return True if it is the first since the reset."""
        if self.passed or not words:
            return False
        self.passed = words
        return True

    def reset(self) -> None:
        """Clear the latched violation."""
        self.passed, self._above = "", 0
