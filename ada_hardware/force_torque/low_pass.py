# SPDX-License-Identifier: Apache-2.0
"""Butterworth filter of second order for six-vectors that come at a steady rate."""

from __future__ import annotations

import math

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError


class LowPass:
    """Damps what is faster than a frequency: |H|² = 1 / (1 + (W/W_c)⁴), with W = tan(π f T).

    The bilinear transform of H(s) = 1 / (s² + √2 s + 1) with s = (1 - z⁻¹) / (1 + z⁻¹) / tan(π f_c T): the cut-off, at
    which 1/√2 is left, is met exactly, and what is constant comes through unchanged. Far below the cut-off the output
    is late by √2 / (2 π f_c).
    """

    def __init__(self, cutoff: float, period: float) -> None:
        """Prepare; the filter starts in steady state at the first value.

        Args:
            cutoff: f_c [Hz].
            period: T, between two values [s].

        Raises:
            InputError: the cut-off is not between 0 and half the rate.
        """
        if not 0.0 < cutoff < 0.5 / period:
            text = (
                f"filter_cutoff is {cutoff:g} Hz; at {1.0 / period:g} samples per second it must be above 0 and below "
                f"{0.5 / period:g} Hz. Use 0 for no filter."
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
        self._first: Array | None = None  # the two stored states of the transposed direct form
        self._second: Array = np.zeros(6)

    def restart(self) -> None:
        """Reset: after a gap old values must not leak into new ones."""
        self._first = None

    def step(self, value: Array) -> Array:
        """The filtered value."""
        if self._first is None:  # steady state at this value
            self._first = (1.0 - self._b0) * value
            self._second = (self._b0 - self._a2) * value
        result = self._b0 * value + self._first
        self._first = 2.0 * self._b0 * value - self._a1 * result + self._second
        self._second = self._b0 * value - self._a2 * result
        return np.asarray(result)
