# SPDX-License-Identifier: Apache-2.0
"""Values that a parameter of a sweep goes through: listed ones, or random ones.

A random value is a function of seed, number of the draw and key alone: runs can be made in any order, on any machine,
and another parameter more or less changes none of them. It is made from the raw bits of PCG64 (numpy promises that they
stay, and does not promise that of its distributions).
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
_UNIT_INTERVAL = 2.0**-53  # distance of the 2^53 numbers from 0 on, below 1


@dataclass(frozen=True)
class ListAxis:
    """A parameter that takes every one of some values.

    Attributes:
        key: of the scenario, in full.
        values: as the scenario's file would have them.
        place: file and line, for messages.
    """

    key: str
    values: tuple[Any, ...]
    place: str

    @property
    def samples(self) -> tuple[Any, ...]:
        """Values to be checked before the first run."""
        return self.values

    def data(self) -> Any:
        """Data for the header of the results."""
        return list(self.values)


@dataclass(frozen=True)
class RandomAxis:
    """A parameter with random values.

    Attributes:
        key: of the scenario, in full.
        kind: of the distribution.
        first: least value, or the mean.
        second: greatest value, or the standard deviation.
        unit: of both, as it is written.
        place: file and line, for messages.
    """

    key: str
    kind: Literal["uniform", "normal"]
    first: float
    second: float
    unit: str
    place: str

    def value(self, seed: int, draw: int) -> Any:
        """The value of a draw."""
        raw = np.random.PCG64(np.random.SeedSequence([seed, draw, zlib.crc32(self.key.encode())])).random_raw(2)
        share, other = ((int(bits) >> 11) * _UNIT_INTERVAL for bits in raw)
        if self.kind == UNIFORM:
            return with_unit(self.first + (self.second - self.first) * share, self.unit)
        normal = math.sqrt(-2.0 * math.log1p(-share)) * math.cos(2.0 * math.pi * other)  # Box and Muller
        return with_unit(self.first + self.second * normal, self.unit)

    @property
    def samples(self) -> tuple[Any, ...]:
        """Values to be checked before the first run."""
        ends = (self.first, self.second) if self.kind == UNIFORM else (self.first,)
        return tuple(with_unit(x, self.unit) for x in ends)

    def data(self) -> Any:
        """Data for the header of the results."""
        return {self.kind: [with_unit(self.first, self.unit), with_unit(self.second, self.unit)]}


Axis: TypeAlias = ListAxis | RandomAxis


def evenly(first: float, last: float, count: int, unit: str) -> tuple[Any, ...]:
    """Values at equal distances, both ends among them."""
    inner = [first + (last - first) * i / (count - 1) for i in range(count - 1)]
    return tuple(with_unit(x, unit) for x in [*inner, last])


def with_unit(number: float, unit: str) -> Any:
    """A value as a scenario's file has it: a number, or a text with its unit."""
    return f"{number!r} {unit}" if unit else number


def number_and_unit(value: Any) -> tuple[float, str] | None:
    """A value's number and unit; None where it is neither a number nor a text that begins with one."""
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
    """Single values and lists by their keys with dots."""
    found: dict[str, Any] = {}
    for key, value in data.items():
        full = f"{path}.{key}" if path else key
        if isinstance(value, Mapping) and value:
            found |= flat(value, full)
        else:
            found[full] = value
    return found
