# SPDX-License-Identifier: Apache-2.0
"""Materials of contacts: stiffness, loss and friction, with defaults that a step of 1 ms carries.

Four rates decide what a step h can follow, for a body of mass m that stands on n points (`docs/contact.md` derives
them): ω = √(p g / sink) of the springs, whatever the mass; 3/2 e g of the loss at rest, and 3/2 e ω v at an impact with
the speed v; μ g / v_s of the friction at rest. A wide body turns up to √3 as fast as it heaves, and a high one feels
the friction at its foot up to four times.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ada_dynamics.algorithms.contact import EXPONENTS, Law
from ada_dynamics.errors import InputError

GRAVITY = 9.81  # [m/s²], for estimates
EXPLICIT_LIMIT = 1.5  # step times rate for RK4 and RKF45, whose own limits are 2.8 and more on the negative real axis
TURNING = 3.0  # square of a wide body's turning rate by that of its heaving
LEVER = 4.0  # a body's inverse mass at its foot by that at its centre of mass
DAMPING_RATIO = 0.2  # of a body at rest on its contacts


def finite(value: object, what: str, *, positive: bool = False) -> float:
    """A finite number that is not negative.

    Raises:
        InputError: it is not.
    """
    try:
        x = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        x = np.nan
    if not np.isfinite(x) or x < 0.0 or (positive and x == 0.0):
        wanted = "positive" if positive else "not negative"
        raise InputError(f"{what} is {value!r}; it must be a finite number, {wanted}.")
    return x


@dataclass(frozen=True)
class Material:
    """Constants of contacts: Hunt and Crossley's normal force and regularised Coulomb friction.

    The defaults carry 1 kg on four points with a step of 1 ms by every integrator, and sink 0.5 mm.

    Attributes:
        stiffness: k in f = k δ^p (1 + 3/2 e δ̇) [N/m^p].
        dissipation: e, loss of restitution per impact speed [s/m]; 0 is elastic.
        friction: coefficient μ.
        slip_speed: under which friction is as good as viscous; what stands on a slope creeps with about
            slip_speed tan(slope) / μ [m/s].
        exponent: p, 1 (a bed of springs) or 1.5 (two balls, Hertz).
    """

    stiffness: float = 5000.0
    dissipation: float = 4.0
    friction: float = 0.8
    slip_speed: float = 0.02
    exponent: float = 1.0

    def __post_init__(self) -> None:
        """Check the values."""
        for name in ("stiffness", "slip_speed"):
            object.__setattr__(self, name, finite(getattr(self, name), f"material: {name}", positive=True))
        for name in ("dissipation", "friction"):
            object.__setattr__(self, name, finite(getattr(self, name), f"material: {name}"))
        if self.exponent not in EXPONENTS:
            raise InputError(f"material: exponent is {self.exponent!r}; it must be 1 (springs) or 1.5 (Hertz).")
        object.__setattr__(self, "exponent", float(self.exponent))

    def law(self) -> Law:
        """The same for the algorithms."""
        return Law(self.stiffness, self.exponent, self.dissipation, self.friction, self.slip_speed)

    def sink(self, load: float) -> float:
        """How deep a contact sinks under a steady load [m].

        Args:
            load: on one point [N].
        """
        return float((finite(load, "load") / self.stiffness) ** (1.0 / self.exponent))

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
        """As stiff as a robot of this mass and an explicit step allow, or as the given sink asks for.

        Args:
            mass: that the contacts carry [kg].
            points: among which the weight is shared.
            step: of an explicit integrator (RK4, RKF45) [s].
            sink: under the weight [m]; 0.5 mm where the step allows it.
            friction: coefficient.
            exponent: of the depth.

        Raises:
            InputError: a value is unusable, or the step cannot follow contacts that sink so little.
        """
        mass, step = finite(mass, "mass", positive=True), finite(step, "step", positive=True)
        friction, points_given = finite(friction, "friction"), finite(points, "points", positive=True)
        if exponent not in EXPONENTS:
            raise InputError(f"exponent is {exponent!r}; it must be 1 (springs) or 1.5 (Hertz).")
        least = exponent * TURNING * GRAVITY * (step / EXPLICIT_LIMIT) ** 2
        if sink is None:
            sink = max(5e-4, 4.0 * least)
        elif finite(sink, "sink", positive=True) < least:
            raise InputError(
                f"sink is {sink:g} m: so stiff contacts swing faster than an explicit step of {step:g} s follows. "
                f"Allow {least:.3g} m or more, take a shorter step, or integrate with 'semi_implicit'."
            )
        stiffness = mass * GRAVITY / (points_given * sink**exponent)
        rate = float(np.sqrt(exponent * GRAVITY / sink))
        dissipation = 2.0 * DAMPING_RATIO * rate / (1.5 * GRAVITY)
        slip_speed = max(LEVER * friction * GRAVITY * step / EXPLICIT_LIMIT, 1e-3)
        return cls(stiffness, dissipation, friction, slip_speed, exponent)
