# SPDX-License-Identifier: Apache-2.0
"""Parameter values of a sweep: listed or random.

A random value depends only on seed, draw number and key: runs can be executed in any order on any machine, and adding
a parameter does not change the others. It is computed from the raw bits of PCG64, whose stability numpy guarantees,
unlike that of its distributions.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from ada_tools.scenario.units import BadValue, split

UNIFORM, NORMAL = "uniform", "normal"
DISTRIBUTIONS = (UNIFORM, NORMAL)
_UNIT_INTERVAL = 2.0**-53  # spacing of the 2^53 numbers in [0, 1)


@dataclass(frozen=True)
class ListAxis:
    """A parameter with listed values.

    Attributes:
        key: full scenario key.
        values: values as in the scenario file.
        place: file and line, for messages.
    """

    key: str
    values: tuple[Any, ...]
    place: str

    @property
    def samples(self) -> tuple[Any, ...]:
        """Values to validate before the first run."""
        return self.values

    def data(self) -> Any:
        """Data for the header of the results."""
        return list(self.values)


@dataclass(frozen=True)
class RandomAxis:
    """A parameter with random values.

    Attributes:
        key: full scenario key.
        kind: distribution.
        first: minimum, or mean.
        second: maximum, or standard deviation.
        unit: unit of both, as written.
        place: file and line, for messages.
    """

    key: str
    kind: Literal["uniform", "normal"]
    first: float
    second: float
    unit: str
    place: str

    def value(self, seed: int, draw: int) -> Any:
        """Value of a draw."""
        raw = np.random.PCG64(np.random.SeedSequence([seed, draw, zlib.crc32(self.key.encode())])).random_raw(2)
        share, other = ((int(bits) >> 11) * _UNIT_INTERVAL for bits in raw)
        if self.kind == UNIFORM:
            return with_unit(self.first + (self.second - self.first) * share, self.unit)
        normal = math.sqrt(-2.0 * math.log1p(-share)) * math.cos(2.0 * math.pi * other)  # Box and Muller
        return with_unit(self.first + self.second * normal, self.unit)

    @property
    def samples(self) -> tuple[Any, ...]:
        """Values to validate before the first run."""
        ends = (self.first, self.second) if self.kind == UNIFORM else (self.first,)
        return tuple(with_unit(x, self.unit) for x in ends)

    def data(self) -> Any:
        """Data for the header of the results."""
        return {self.kind: [with_unit(self.first, self.unit), with_unit(self.second, self.unit)]}


Axis: TypeAlias = ListAxis | RandomAxis


def evenly(first: float, last: float, count: int, unit: str) -> tuple[Any, ...]:
    """Evenly spaced values including both ends."""
    inner = [first + (last - first) * i / (count - 1) for i in range(count - 1)]
    return tuple(with_unit(x, unit) for x in [*inner, last])


def with_unit(number: float, unit: str) -> Any:
    """Value as in a scenario file: a number, or text with a unit."""
    return f"{number!r} {unit}" if unit else number


def number_and_unit(value: Any) -> tuple[float, str] | None:
    """Number and unit of a value; None if it does not start with a number."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value), ""
    if not isinstance(value, str):
        return None
    try:
        return split(value)
    except BadValue:
        return None


def flat(data: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    """Scalar values and lists by dotted keys."""
    found: dict[str, Any] = {}
    for key, value in data.items():
        full = f"{path}.{key}" if path else key
        if isinstance(value, Mapping) and value:
            found |= flat(value, full)
        else:
            found[full] = value
    return found
