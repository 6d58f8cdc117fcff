# SPDX-License-Identifier: Apache-2.0
"""Values with units such as "135 deg", "1 ms" or "0.3 N m/rad", converted to a required unit.

Factors of a unit are separated by spaces or "*", each "/" applies to the following factor only, and "^" is a power:
"kg m^2", "m/s^2", "N m/rad". Other dimensions are rejected.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import Final, TypeAlias

from ada_dynamics.errors import InputError
from ada_dynamics.structured_text.lexical import BadNumber, near, to_float

Dimension: TypeAlias = tuple[int, int, int, int]  # exponents of metre, kilogram, second and radian

NUMBER: Final = "1"
_NUMBER, _LENGTH, _TIME, _ANGLE = (0, 0, 0, 0), (1, 0, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1)
_MASS, _FORCE, _MOMENT = (0, 1, 0, 0), (1, 1, -2, 0), (2, 1, -2, 0)
# SI value and dimension by symbol.
_UNITS: Final[dict[str, tuple[float, Dimension]]] = {
    "m": (1.0, _LENGTH),
    "cm": (1e-2, _LENGTH),
    "mm": (1e-3, _LENGTH),
    "um": (1e-6, _LENGTH),
    "km": (1e3, _LENGTH),
    "s": (1.0, _TIME),
    "ms": (1e-3, _TIME),
    "us": (1e-6, _TIME),
    "min": (60.0, _TIME),
    "h": (3600.0, _TIME),
    "rad": (1.0, _ANGLE),
    "mrad": (1e-3, _ANGLE),
    "deg": (math.pi / 180.0, _ANGLE),
    "°": (math.pi / 180.0, _ANGLE),
    "rpm": (math.pi / 30.0, (0, 0, -1, 1)),
    "kg": (1.0, _MASS),
    "g": (1e-3, _MASS),
    "N": (1.0, _FORCE),
    "mN": (1e-3, _FORCE),
    "kN": (1e3, _FORCE),
    "Nm": (1.0, _MOMENT),
    "J": (1.0, _MOMENT),
    "Hz": (1.0, (0, 0, -1, 0)),
    "%": (1e-2, _NUMBER),
    NUMBER: (1.0, _NUMBER),
}
_VALUE = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(.*?)\s*$", re.DOTALL)
_FACTOR = re.compile(r"(/?)\s*([^\s*·/^\d]+|1)(?:\^(-?\d))?[\s*·]*")
_LONGEST = 60


class BadValue(InputError):
    """Text that is not a value of the required dimension."""


def value_in(text: str, units: str) -> float:
    """Value of a text such as "5 deg" in one of some units.

    Args:
        text: number with or without a unit; without one it is in these units already.
        units: unit, or units of different dimensions such as "N m/rad, N/m".

    Raises:
        BadValue: not a finite number, unknown unit, or wrong dimension.
    """
    number, unit = split(text)
    wanted = (units or NUMBER).split(", ")
    if not unit or unit in wanted:
        return number
    if unit in {"deg", "°"} and "rad" in wanted:
        return math.radians(number)
    factor, dimension = _unit(unit)
    for one in wanted:
        size, its_dimension = _unit(one)
        if dimension == its_dimension:
            return number * factor / size
    raise BadValue(f"{text.strip()!r} has another dimension; the unit is {units or NUMBER}", value=unit, allowed=units)


def split(text: str) -> tuple[float, str]:
    """Number and unit of a text such as "135 deg"; the unit is not checked.

    Raises:
        BadValue: the text does not start with a finite number.
    """
    found = _VALUE.match(text) if len(text) <= _LONGEST else None
    try:
        if found is None:
            to_float(text)  # raises with the reason
            raise BadValue(f"{text[:_LONGEST]!r} is not a value")
        return to_float(found.group(1)), found.group(2)
    except BadNumber as reason:
        raise BadValue(str(reason)) from None


@lru_cache(maxsize=256)
def _unit(text: str) -> tuple[float, Dimension]:
    """Value and dimension of a product of units."""
    rest = text.replace("µ", "u").replace("μ", "u").replace("²", "^2").replace("³", "^3").strip()
    factor, dimension, is_divided = 1.0, _NUMBER, False
    while rest:
        found = _FACTOR.match(rest)
        name = found.group(2) if found else rest
        if found is None or name not in _UNITS:
            hint = near(name, list(_UNITS))
            raise BadValue(f"{name!r} in {text!r} is not a known unit. {hint}Known: {', '.join(_UNITS)}")
        if is_divided and not found.group(1):
            raise BadValue(f"the unit {text!r} is ambiguous: write the divisor last, as in N m s/rad")
        value, of = _UNITS[name]
        power = int(found.group(3) or 1) * (-1 if found.group(1) else 1)
        factor *= value**power
        dimension = tuple(a + power * b for a, b in zip(dimension, of, strict=True))  # type: ignore[assignment]
        is_divided, rest = is_divided or bool(found.group(1)), rest[found.end() :]
    return factor, dimension
