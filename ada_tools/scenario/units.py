# SPDX-License-Identifier: Apache-2.0
"""Values with units such as "135 deg", "1 ms" or "0.3 N m/rad", converted to SI numbers of a required dimension.

A plain number is in SI units. Factors of a unit are separated by spaces or "*", each "/" applies to the following
factor only, and "^" is a power: "kg m^2", "m/s^2", "N m/rad". Other dimensions are rejected.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from types import MappingProxyType

from ada_dynamics.errors import InputError
from ada_dynamics.structured_text.lexical import BadNumber, near, to_float


@dataclass(frozen=True)
class Dimension:
    """Exponents of metre, kilogram, second and radian."""

    m: int = 0
    kg: int = 0
    s: int = 0
    rad: int = 0

    def times(self, other: Dimension, power: int = 1) -> Dimension:
        """Dimension of the product with a power of another dimension."""
        return Dimension(
            self.m + power * other.m, self.kg + power * other.kg, self.s + power * other.s, self.rad + power * other.rad
        )

    def __str__(self) -> str:
        """Name with the SI unit, such as "a time [s]"."""
        return _NAMES.get(self) or f"a quantity [{self.si() or '1'}]"

    def si(self) -> str:
        """Unit in SI base units."""
        parts = (("kg", self.kg), ("m", self.m), ("s", self.s), ("rad", self.rad))
        return " ".join(name if power == 1 else f"{name}^{power}" for name, power in parts if power)


NUMBER = Dimension()
LENGTH = Dimension(m=1)
ANGLE = Dimension(rad=1)
TIME = Dimension(s=1)
MASS = Dimension(kg=1)
SPEED = Dimension(m=1, s=-1)
ANGULAR_SPEED = Dimension(rad=1, s=-1)
ACCELERATION = Dimension(m=1, s=-2)
FORCE = Dimension(m=1, kg=1, s=-2)
MOMENT = Dimension(m=2, kg=1, s=-2)
STIFFNESS = Dimension(kg=1, s=-2)
DAMPING = Dimension(kg=1, s=-1)
TURNING_STIFFNESS = Dimension(m=2, kg=1, s=-2, rad=-1)
TURNING_DAMPING = Dimension(m=2, kg=1, s=-1, rad=-1)

_NAMES = {
    NUMBER: "a plain number",
    LENGTH: "a length [m]",
    ANGLE: "an angle [rad]",
    TIME: "a time [s]",
    MASS: "a mass [kg]",
    SPEED: "a speed [m/s]",
    ANGULAR_SPEED: "an angular velocity [rad/s]",
    ACCELERATION: "an acceleration [m/s^2]",
    FORCE: "a force [N]",
    MOMENT: "a moment [N m]",
    STIFFNESS: "a stiffness [N/m]",
    DAMPING: "a damping [N s/m]",
    TURNING_STIFFNESS: "a stiffness [N m/rad]",
    TURNING_DAMPING: "a damping [N m s/rad]",
    Dimension(s=-1): "a frequency [1/s]",
}

# SI value and dimension by symbol.
UNITS = MappingProxyType(
    {
        "m": (1.0, LENGTH),
        "cm": (1e-2, LENGTH),
        "mm": (1e-3, LENGTH),
        "um": (1e-6, LENGTH),
        "km": (1e3, LENGTH),
        "s": (1.0, TIME),
        "ms": (1e-3, TIME),
        "us": (1e-6, TIME),
        "min": (60.0, TIME),
        "h": (3600.0, TIME),
        "rad": (1.0, ANGLE),
        "mrad": (1e-3, ANGLE),
        "deg": (math.pi / 180.0, ANGLE),
        "°": (math.pi / 180.0, ANGLE),
        "rpm": (math.pi / 30.0, ANGULAR_SPEED),
        "kg": (1.0, MASS),
        "g": (1e-3, MASS),
        "N": (1.0, FORCE),
        "mN": (1e-3, FORCE),
        "kN": (1e3, FORCE),
        "Nm": (1.0, MOMENT),
        "J": (1.0, MOMENT),
        "Hz": (1.0, Dimension(s=-1)),
        "%": (1e-2, NUMBER),
        "1": (1.0, NUMBER),
    }
)

_VALUE = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(.*?)\s*$", re.DOTALL)
_FACTOR = re.compile(r"([^\s*·/^\d]+|1)(?:\^(-?\d))?")
_LONGEST = 60


class BadValue(InputError):
    """Text that is not a value of the required dimension."""


def to_si(text: str, wanted: Dimension) -> float:
    """SI value of a text such as "135 deg".

    Args:
        text: number with or without a unit.
        wanted: required dimension.

    Raises:
        BadValue: not a finite number, unknown unit, or wrong dimension.
    """
    number, unit = split(text)
    if not unit:
        return number
    factor, dimension = _unit(unit.replace("µ", "u").replace("μ", "u"))
    if dimension != wanted:
        raise BadValue(f"{text.strip()!r} is {dimension}, not {wanted}", value=dimension, allowed=wanted)
    if unit in {"deg", "°"}:
        return math.radians(number)
    return number * factor


def value_in(text: str, units: str) -> float:
    """Value of a text such as "5 deg" in one of some units.

    Args:
        text: number with or without a unit; without one it is in these units already.
        units: units of different dimensions, such as "N m/rad, N/m".

    Raises:
        BadValue: not a finite number, unknown unit, or wrong dimension.
    """
    number, unit = split(text)
    if not unit or unit in units.split(", "):
        return number
    factor, dimension = _unit(unit.replace("µ", "u").replace("μ", "u"))
    for one in units.split(", "):
        size, wanted = _unit(one)
        if dimension == wanted:
            return number * factor / size
    raise BadValue(f"{text.strip()!r} is {dimension}; the unit is {units or '1'}", value=dimension, allowed=units)


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


def _unit(text: str) -> tuple[float, Dimension]:
    """Value and dimension of a product of units."""
    factor, dimension = 1.0, NUMBER
    divides = closed = False
    for part in re.findall(r"/|[^/\s*·]+", text):
        if part == "/":
            if divides:
                raise BadValue(f"the unit {text!r} has two slashes in a row")
            divides = True
            continue
        if closed and not divides:
            raise BadValue(f"the unit {text!r} is ambiguous: write the divisor last, as in N m s/rad")
        value, of, power = _factor(part, text)
        power = -power if divides else power
        factor, dimension = factor * value**power, dimension.times(of, power)
        closed, divides = closed or divides, False
    if divides:
        raise BadValue(f"the unit {text!r} ends with a slash")
    return factor, dimension


def _factor(part: str, text: str) -> tuple[float, Dimension, int]:
    """Value, dimension and power of a factor such as s^2."""
    found = _FACTOR.fullmatch(part.replace("²", "^2").replace("³", "^3"))
    name = found.group(1) if found else part
    if found is None or name not in UNITS:
        hint = near(name, list(UNITS))
        raise BadValue(f"{name!r} in {text!r} is not a known unit. {hint}Known: {', '.join(UNITS)}")
    value, dimension = UNITS[name]
    return value, dimension, int(found.group(2) or 1)
