# SPDX-License-Identifier: Apache-2.0
"""The ends and steps of a slider: numbers that people can read, and never beyond the limits that they stand for."""

from __future__ import annotations

import math
from typing import NamedTuple

_COARSEST = {True: 0.1, False: 1e-3}  # step of an angle [deg], of a distance [m]
_STEPS = 100  # of a slider, at least
_ROUNDING = 1e-9  # steps by which a limit is missed because its unit was changed


class SliderRange(NamedTuple):
    """Ends and step of a slider, in degrees or metres."""

    low: float
    high: float
    step: float

    def including(self, value: float) -> SliderRange:
        """Wide enough for a value that is outside of the limits; one that rounding left out is not."""
        low, high = self.low, self.high
        if value <= low - self.step:
            low = _rounded(math.floor(value / self.step), self.step)
        if value >= high + self.step:
            high = _rounded(math.ceil(value / self.step), self.step)
        return SliderRange(low, high, self.step)

    def nearest(self, value: float) -> float:
        """A value, or the end that is nearest to it."""
        return min(max(value, self.low), self.high)


def slider_range(lower: float, upper: float, is_angle: bool) -> SliderRange:
    """The range of a slider that stays within two limits.

    Args:
        lower: limit [deg, m].
        upper: likewise.
        is_angle: whether they are angles.
    """
    step = _COARSEST[is_angle]
    if 0.0 < upper - lower < _STEPS * step:
        step = 10.0 ** math.floor(math.log10((upper - lower) / _STEPS))
    low = _rounded(math.ceil(lower / step - _ROUNDING), step)
    high = _rounded(math.floor(upper / step + _ROUNDING), step)
    return SliderRange(low, max(high, low + step), step)


def _rounded(steps: int, step: float) -> float:
    """A number of steps, as short as it can be written."""
    return round(steps * step, max(0, -math.floor(math.log10(step))))
