# SPDX-License-Identifier: Apache-2.0
"""Numbers and orientations as text that reads back as the same values."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from ada_dynamics.arrays import Array

LARGEST = 1.7976931348623157e308  # stands for infinity where a format has no word for it


def number(value: float) -> str:
    """The shortest text of a float; with a point before the exponent, without which YAML 1.1 sees a word."""
    text = repr(float(value) + 0.0)  # + 0.0: no negative zero
    if "e" in text and "." not in text:
        mantissa, exponent = text.split("e")
        return f"{mantissa}.0e{exponent}"
    return text[:-2] if text.endswith(".0") else text


def numbers(values: Iterable[float]) -> str:
    """Numbers with spaces between them."""
    return " ".join(number(value) for value in values)


def bounded(value: float) -> str:
    """A number that may be infinite, for formats that cannot say so."""
    return number(value) if math.isfinite(value) else number(math.copysign(LARGEST, value))


def is_unit(R: Array) -> bool:
    """True if a rotation turns nothing."""
    return bool((np.eye(3) == R).all())
