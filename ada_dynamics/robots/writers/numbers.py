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


def to_rpy(R: Array) -> tuple[float, float, float]:
    """Roll, pitch and yaw of a rotation Rz(yaw) Ry(pitch) Rx(roll), accurate at pitch = ±90 deg, too.

    Roll is poorly determined there; yaw is taken from what is left of R after that roll, so their errors cancel.
    """
    roll = math.atan2(float(R[2, 1]), float(R[2, 2]))
    c, s = math.cos(roll), math.sin(roll)
    # R Rx(-roll) = Rz(yaw) Ry(pitch): its second column is (-sin yaw, cos yaw, 0)
    second = R @ np.array([0.0, c, -s])
    third = R @ np.array([0.0, s, c])
    yaw = math.atan2(-float(second[0]), float(second[1]))
    cosine = math.cos(yaw) * float(R[0, 0]) + math.sin(yaw) * float(R[1, 0])
    sine = math.cos(yaw) * float(third[0]) + math.sin(yaw) * float(third[1])
    return roll, math.atan2(sine, cosine), yaw


def to_quaternion(R: Array) -> tuple[float, float, float, float]:
    """Unit quaternion w, x, y, z of a rotation, from its largest entry (Shepperd's method)."""
    trace = float(np.trace(R))
    squares = np.array([trace, *(2.0 * float(R[i, i]) - trace for i in range(3))]) + 1.0  # 4 w², 4 x², 4 y², 4 z²
    largest = int(np.argmax(squares))
    k = 0.5 / math.sqrt(float(squares[largest]))
    if largest == 0:
        vector = [k * float(R[(i + 2) % 3, (i + 1) % 3] - R[(i + 1) % 3, (i + 2) % 3]) for i in range(3)]
        return 0.25 / k, vector[0], vector[1], vector[2]
    a = largest - 1
    vector = [k * float(R[i, a] + R[a, i]) for i in range(3)]
    vector[a] = 0.25 / k
    w = k * float(R[(a + 2) % 3, (a + 1) % 3] - R[(a + 1) % 3, (a + 2) % 3])
    return w, vector[0], vector[1], vector[2]


def is_unit(R: Array) -> bool:
    """Whether a rotation turns nothing."""
    return bool((np.eye(3) == R).all())
