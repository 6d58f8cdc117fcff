# SPDX-License-Identifier: Apache-2.0
"""Materials of contacts: stiffness, dissipation and friction, with defaults for a time step of 1 ms.

Four rates limit the time step h for a body of mass m on n points (`docs/contact.md` derives them): ω = √(p g / sink) of
the springs, independent of the mass; 3/2 e g of the dissipation at rest; 3/2 e ω v at an impact with speed v; and μ g /
v_s of the friction at rest. The pitching rate of a wide body is up to √3 times its heaving rate, and the friction at
the foot of a tall body acts on up to four times its inverse mass.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ada_dynamics.algorithms.contact import EXPONENTS, Law
from ada_dynamics.errors import InputError

GRAVITY = 9.81  # [m/s²], for estimates
EXPLICIT_LIMIT = (
    1.5  # time step times rate for RK4 and RKF45, whose stability limits on the negative real axis are 2.8 and more
)
TURNING = 3.0  # squared ratio of the pitching and the heaving rate of a wide body
LEVER = 4.0  # ratio of the inverse masses of a tall body at its foot and at its center of mass
DAMPING_RATIO = 0.2  # of a body at rest on its contacts


def finite_number(value: object, what: str, *, positive: bool = False) -> float:
    """Convert to a finite, non-negative number.

    Args:
        value: number.
        what: name of the value in error messages.
        positive: reject zero, too.

    Raises:
        InputError: the value is not such a number.
    """
    try:
        x = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        x = np.nan
    if not np.isfinite(x) or x < 0.0 or (positive and x == 0.0):
        allowed = "positive" if positive else "not negative"
        text = f"{what} is {value!r}; it must be a finite number, {allowed}."
        raise InputError(text, field=what, value=value, allowed=f"a finite number, {allowed}")
    return x


@dataclass(frozen=True)
class Material:
    """Parameters of contacts: Hunt-Crossley normal force and regularized Coulomb friction.

    With the defaults, every integrator simulates 1 kg on four points with a time step of 1 ms; the contacts sink 0.5
    mm.

    Attributes:
        stiffness: k in f = k δ^p (1 + 3/2 e δ̇) [N/m^p].
        dissipation: e, loss of restitution per impact speed [s/m]; 0 is elastic.
        friction: coefficient μ.
        slip_speed: speed below which friction is approximately viscous [m/s]; on a slope, a body at rest creeps at
            about slip_speed tan(slope) / μ.
        exponent: p, 1 for linear springs or 1.5 for two spheres (Hertz).
    """

    stiffness: float = 5000.0
    dissipation: float = 4.0
    friction: float = 0.8
    slip_speed: float = 0.02
    exponent: float = 1.0

    def __post_init__(self) -> None:
        """Check the values."""
        for name in ("stiffness", "slip_speed"):
            object.__setattr__(self, name, finite_number(getattr(self, name), f"material: {name}", positive=True))
        for name in ("dissipation", "friction"):
            object.__setattr__(self, name, finite_number(getattr(self, name), f"material: {name}"))
        if self.exponent not in EXPONENTS:
            text = f"material: exponent is {self.exponent!r}; it must be 1 (springs) or 1.5 (Hertz)."
            raise InputError(text, field="exponent", value=self.exponent, allowed=EXPONENTS)
        object.__setattr__(self, "exponent", float(self.exponent))

    def law(self) -> Law:
        """Contact law for `algorithms.contact`."""
        return Law(self.stiffness, self.exponent, self.dissipation, self.friction, self.slip_speed)

    def sink(self, load: float) -> float:
        """Depth of a contact under a static load [m].

        Args:
            load: normal force of one point [N].
        """
        return float((finite_number(load, "load") / self.stiffness) ** (1.0 / self.exponent))

    @classmethod
    def for_weight(
        cls,
        mass: float,
        points: int = 4,
        step: float = 1e-3,
        *,
        sink: float | None = None,
        friction: float = 0.8,
        exponent: float = 1.0,
    ) -> Material:
        """Stiffest material for the mass of a robot and an explicit time step, or for a given depth.

        Args:
            mass: mass that the contacts carry [kg].
            points: number of points that share the weight.
            step: time step of an explicit integrator (RK4, RKF45) [s].
            sink: depth under the weight [m]; 0.5 mm by default, or more if the time step requires it.
            friction: friction coefficient.
            exponent: exponent of the depth.

        Raises:
            InputError: a value is invalid, or the depth is too small for the time step.
        """
        mass, step = finite_number(mass, "mass", positive=True), finite_number(step, "step", positive=True)
        friction, points_given = finite_number(friction, "friction"), finite_number(points, "points", positive=True)
        if exponent not in EXPONENTS:
            text = f"exponent is {exponent!r}; it must be 1 (springs) or 1.5 (Hertz)."
            raise InputError(text, field="exponent", value=exponent, allowed=EXPONENTS)
        least = exponent * TURNING * GRAVITY * (step / EXPLICIT_LIMIT) ** 2
        if sink is None:
            sink = max(5e-4, 4.0 * least)
        elif finite_number(sink, "sink", positive=True) < least:
            text = (
                f"sink is {sink:g} m: contacts of this stiffness are too fast for an explicit step of {step:g} s. "
                f"Allow {least:.3g} m or more, take a shorter step, or integrate with 'semi_implicit'."
            )
            raise InputError(text, field="sink", value=sink, allowed=f"{least:.3g} m or more")
        stiffness = mass * GRAVITY / (points_given * sink**exponent)
        rate = float(np.sqrt(exponent * GRAVITY / sink))
        dissipation = 2.0 * DAMPING_RATIO * rate / (1.5 * GRAVITY)
        slip_speed = max(LEVER * friction * GRAVITY * step / EXPLICIT_LIMIT, 1e-3)
        return cls(stiffness, dissipation, friction, slip_speed, exponent)
