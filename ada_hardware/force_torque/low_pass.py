# SPDX-License-Identifier: Apache-2.0
"""Second-order Butterworth low-pass filter for six-vectors sampled at a constant rate."""

from __future__ import annotations

import math

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError


class LowPass:
    """Butterworth filter: |H|² = 1 / (1 + (W/W_c)⁴), W = tan(π f T).

    Bilinear transform of H(s) = 1 / (s² + √2 s + 1) with s = (1 - z⁻¹) / (1 + z⁻¹) / tan(π f_c T): gain 1/√2 exactly at
    the cutoff frequency, gain 1 at f = 0. The delay far below the cutoff is √2 / (2 π f_c).
    """

    def __init__(self, cutoff: float, period: float) -> None:
        """Create the filter; it starts in steady state at the first value.

        Args:
            cutoff: cutoff frequency f_c [Hz].
            period: sample period T [s].

        Raises:
            InputError: the cutoff is not between 0 and half the sample rate.
        """
        if not 0.0 < cutoff < 0.5 / period:
            text = (
                f"filter_cutoff is {cutoff:g} Hz; at {1.0 / period:g} samples per second it must be above 0 and below "
                f"{0.5 / period:g} Hz. Set 0 for no filter."
            )
            raise InputError(
                text, field="filter_cutoff", value=cutoff, allowed=f"above 0 and below {0.5 / period:g} Hz"
            )
        self.cutoff, self.period = cutoff, period
        k = math.tan(math.pi * cutoff * period)
        share = 1.0 / (1.0 + math.sqrt(2.0) * k + k * k)
        self._b0 = k * k * share
        self._a1 = 2.0 * (k * k - 1.0) * share
        self._a2 = (1.0 - math.sqrt(2.0) * k + k * k) * share
        self._first: Array | None = None  # states of the transposed direct form
        self._second: Array = np.zeros(6)

    def restart(self) -> None:
        """Reset the state, after a gap in the samples."""
        self._first = None

    def step(self, value: Array) -> Array:
        """Filter a value."""
        if self._first is None:  # steady state at this value
            self._first = (1.0 - self._b0) * value
            self._second = (self._b0 - self._a2) * value
        result = self._b0 * value + self._first
        self._first = 2.0 * self._b0 * value - self._a1 * result + self._second
        self._second = self._b0 * value - self._a2 * result
        return np.asarray(result)
