# SPDX-License-Identifier: Apache-2.0
"""Range and step of a slider: round numbers that stay within the joint limits."""

from __future__ import annotations

import math
from typing import NamedTuple

_COARSEST = {True: 0.1, False: 1e-3}  # largest step of an angle [deg], of a distance [m]
_STEPS = 100  # minimum number of steps of a slider
_ROUNDING = 1e-9  # tolerance for limits after unit conversion, in steps


class SliderRange(NamedTuple):
    """Range and step of a slider, in degrees or metres."""

    low: float
    high: float
    step: float

    def including(self, value: float) -> SliderRange:
        """Extend the range to include a value outside the limits, beyond rounding."""
        low, high = self.low, self.high
        if value <= low - self.step:
            low = _rounded(math.floor(value / self.step), self.step)
        if value >= high + self.step:
            high = _rounded(math.ceil(value / self.step), self.step)
        return SliderRange(low, high, self.step)

    def nearest(self, value: float) -> float:
        """Value clipped to the range."""
        return min(max(value, self.low), self.high)


def slider_range(lower: float, upper: float, is_angle: bool) -> SliderRange:
    """Slider range within two limits.

    Args:
        lower: lower limit [deg, m].
        upper: upper limit [deg, m].
        is_angle: whether the limits are angles.
    """
    step = _COARSEST[is_angle]
    if 0.0 < upper - lower < _STEPS * step:
        step = 10.0 ** math.floor(math.log10((upper - lower) / _STEPS))
    low = _rounded(math.ceil(lower / step - _ROUNDING), step)
    high = _rounded(math.floor(upper / step + _ROUNDING), step)
    return SliderRange(low, max(high, low + step), step)


def _rounded(steps: int, step: float) -> float:
    """Multiple of a step, rounded to the fewest decimals."""
    return round(steps * step, max(0, -math.floor(math.log10(step))))
