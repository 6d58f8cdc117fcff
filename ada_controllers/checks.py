# SPDX-License-Identifier: Apache-2.0
"""Checks of measured states and of references, for all controllers.

Compiled kernels check the numbers of states and references: shapes, finite numbers, joint limits; if one refuses, the
check is repeated value by value for the message.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ada_controllers.state import (
    JointPath,
    JointReference,
    PoseReference,
    Reference,
    ReferenceRefused,
    StateRefused,
    end_of,
)
from ada_dynamics.arrays import Array
from ada_dynamics.dynamics.quantities import position_guards
from ada_dynamics.expr import Traced
from ada_dynamics.jit import Kernel
from ada_dynamics.jit.compiled import Vector, compiled, compiled_kernel
from ada_dynamics.model.model import Model
from ada_robot.contract import JointLimit
from ada_robot.limits import ROUNDING, refused_number

# Maximum plausible magnitudes: norms of position, velocity and wrench vectors, and single values of references. Larger
# values mean wrong units, a faulty sensor or a diverging simulation.
MOST_POSITION, MOST_VELOCITY, MOST_ACCELERATION = 1e6, 1e4, 1e6  # [rad, m], [rad/s, m/s], [rad/s^2, m/s^2]
MOST_WRENCH = 1e5  # [N, N m]
RIGID = 1e-6  # tolerance of norm and orthogonality of the axes of a pose
_MOST = {"position": MOST_POSITION, "velocity": MOST_VELOCITY, "acceleration": MOST_ACCELERATION}


# --- states -----------------------------------------------------------------------------------------------------------
class StateCheck:
    """Refuses implausible states of a robot.

    Attributes:
        numbers: raises StateRefused for implausible positions and velocities.
    """

    def __init__(self, law: str, model: Model) -> None:
        """Compile the check of a robot; `law` is the name of the controller for messages."""
        self._law, self._model = law, model
        self.numbers: Callable[[Array, Array], Any] = compiled(
            "state", {"q": model.nq, "v": model.nv}, self._rules, self._look
        )

    def _rules(self, q: Vector, v: Vector) -> Traced:
        lengths = [sum((x * x for x in values[1:]), values[0] * values[0]) for values in (q, v)]
        most = (MOST_POSITION, MOST_VELOCITY)
        guards = [bound * bound - length for bound, length in zip(most, lengths, strict=True)]
        return Traced({"lengths": lengths}, [*guards, *position_guards(self._model.tree, q)])

    def _look(self, q: Any, v: Any) -> None:
        model = self._model
        for what, values, count in (("positions", q, model.nq), ("velocities", v, model.nv)):
            if not _is_array(values, count):
                is_array = isinstance(values, np.ndarray)
                given = f"an array of {values.dtype} and shape {values.shape}" if is_array else f"{values!r:.80}"
                text = f"the {what} of the state are {given}; robot {model.name!r} has {count}, as a float64 vector."
                raise self._refused(text, what, values, (count,))
        for what, values, where in (("position", q, model.q_index), ("velocity", v, model.v_index)):
            for name in model.joint_names:
                part = values[where(name)]
                if not np.isfinite(part).all():
                    text = f"the {what} of joint {name!r} is {part.tolist()}; it must be finite."
                    text += " The last command remains in force."
                    raise self._refused(text, what, part, "finite numbers", joint=name)
            size, most = math.hypot(*values.tolist()), _MOST[what]
            if not size <= most:
                text = f"the norm {size:.3g} of the {what} vector is too large for a robot; it must be in SI units,"
                raise self._refused(f"{text} below {most:g}.", what, size, most)
        problems = model.position_problems(q) if model.has_manifold_coordinates else []
        if problems:
            raise self._refused(f"{'; '.join(problems)}.", "q", q, None)

    def wrench(self, wrench: Any) -> None:
        """Refuse an invalid measured wrench."""
        if not _is_array(wrench, 6) or not math.hypot(*wrench.tolist()) <= MOST_WRENCH:
            shown = wrench.tolist() if isinstance(wrench, np.ndarray) else wrench
            text = f"the measured wrench is {shown!r:.80}; it must be six finite numbers [fx, fy, fz, nx, ny, nz]"
            raise self._refused(f"{text} [N, N m], below {MOST_WRENCH:g}.", "wrench", wrench, "six finite numbers")

    def wrong_time(self, time: float, last: float) -> StateRefused:
        """Return the error for an invalid time, to be raised by the caller."""
        if not math.isfinite(time):
            return self._refused(f"the time is {time!r} s; it must be finite.", "time", time, "a finite number")
        if math.isnan(last):
            return self._refused("call reset(state, time) before the first update.", "time", time, "reset first")
        text = f"the time is {time!r} s, before the last one, {last!r} s. After a clock was set back, call"
        return self._refused(f"{text} reset(state, time).", "time", time, f"at least {last!r}")

    def _refused(self, text: str, field: str, value: object, allowed: object, **facts: Any) -> StateRefused:
        return StateRefused(f"{self._law}: {text}", field=field, value=value, allowed=allowed, **facts)


# --- references -------------------------------------------------------------------------------------------------------
class ReferenceCheck:
    """Checks references for a controller with given joints."""

    def __init__(self, law: str, limits: Sequence[JointLimit]) -> None:
        """Compile the check for joints; `law` is the name of the controller for messages."""
        self._law, self._limits = law, limits
        self._names = tuple(limit.name for limit in limits)
        self._zero = np.zeros(len(limits))
        self._bounds = (
            np.array([max(limit.lower - ROUNDING, -MOST_POSITION) for limit in limits], dtype=np.float64),
            np.array([min(limit.upper + ROUNDING, MOST_POSITION) for limit in limits], dtype=np.float64),
            np.array([min(limit.velocity, MOST_VELOCITY) for limit in limits], dtype=np.float64),
        )
        self._fits = _fits(len(limits)).python_call(lambda *_: None)

    def __call__(self, reference: Reference, present: Reference | None = None) -> None:
        """Raise ReferenceRefused for an invalid reference.

        Args:
            reference: the reference.
            present: present reference; its positions are allowed beyond the limits, too, and those between them.
        """
        held = end_of(present) if isinstance(present, (JointReference, JointPath)) else None
        if isinstance(reference, JointReference):
            position, *rates = reference
            given = [position, *(self._zero if values is None else values for values in rates)]
            if self._fits(*given, *self._bounds) is None:
                for what, values in zip(_MOST, given, strict=True):
                    self._row(what, values, held)
        elif isinstance(reference, JointPath):
            self._path(reference, held)
        elif isinstance(reference, PoseReference):
            self._pose(reference)

    # --- joints -------------------------------------------------------------------------------------------------------
    def _row(self, what: str, values: Any, held: Array | None, where: str = "") -> None:
        count = len(self._names)
        if not _is_array(values, count):
            text = f"the reference's {what}{where} is {values!r:.80}; it must be a float64 vector of {count} numbers,"
            text += f" one for each of {', '.join(self._names)}."
            raise self._refused(text, what, values, f"{count} numbers")
        present = values if held is None or what != "position" else held
        for limit, value, at in zip(self._limits, values.tolist(), present.tolist(), strict=True):
            if present is held:
                limit = limit._replace(lower=min(limit.lower, at), upper=max(limit.upper, at))
            refusal, most = refused_number(limit, what, value, where), _MOST[what]
            if refusal is not None:
                raise self._refused(f"reference: {refusal.text}", what, value, None, joint=limit.name)
            if abs(value) > most:
                text = f"reference: joint {limit.name!r}: {what}{where} is {value:.3g}, too large for a robot; it must"
                text += f" be in SI units, at most {most:g}."
                raise self._refused(text, what, value, (-most, most), joint=limit.name)

    def _path(self, path: JointPath, held: Array | None) -> None:
        positions, times, velocities = path
        count = len(self._names)
        if not _is_array(positions) or positions.ndim != 2 or not len(positions):
            text = f"the positions of a path are {positions!r:.80}; they must be a float64 array of (points, {count})"
            raise self._refused(f"{text} with at least one point.", "positions", positions, f"(points, {count})")
        points = len(positions)
        if velocities is not None and not _is_array(velocities, *positions.shape):
            text = f"the velocities of a path are {velocities!r:.80}; give none, or as many as positions,"
            raise self._refused(f"{text} {positions.shape}.", "velocities", velocities, positions.shape)
        for what, rows in (("position", positions), ("velocity", () if velocities is None else velocities)):
            for i, row in enumerate(rows):
                self._row(what, row, held, f" at point {i + 1}")
        if times is None:
            return
        if not _is_array(times, points) or not np.isfinite(times).all():
            text = f"the times of a path are {times!r:.80}; give none, or a finite one for each of the {points} points"
            raise self._refused(f"{text} [s].", "times", times, f"{points} finite numbers")
        if times[0] < 0.0 or (np.diff(times) <= 0.0).any():
            text = f"the times of a path are {times.tolist()!r:.80}; they count from now on and must increase."
            raise self._refused(text, "times", times, "rising numbers from 0 on")

    # --- poses --------------------------------------------------------------------------------------------------------
    def _pose(self, reference: PoseReference) -> None:
        pose, twist = reference
        if not _is_array(pose, 4, 4) or not (np.abs(pose) <= MOST_POSITION).all():
            text = f"the reference's pose is {pose!r:.80}; it must be a float64 array of 4x4 finite numbers, at most"
            raise self._refused(f"{text} {MOST_POSITION:g}.", "pose", pose, "4x4 finite numbers")
        R = pose[:3, :3]
        is_rigid = float(np.abs(R.T @ R - np.eye(3)).max()) <= RIGID and float(np.linalg.det(R)) > 0.0
        if not is_rigid or np.abs(pose[3] - (0.0, 0.0, 0.0, 1.0)).max() > RIGID:
            text = "the reference's pose is no rigid transformation: its axes must have unit length and right angles"
            text += f" to {RIGID:g}, right-handed, and its last row must be 0 0 0 1."
            raise self._refused(text, "pose", pose, "a rigid motion")
        if twist is not None and (not _is_array(twist, 6) or not (np.abs(twist) <= MOST_VELOCITY).all()):
            text = f"the reference's twist is {twist!r:.80}; it must be six finite numbers [vx, vy, vz, wx, wy, wz]"
            text += f" [m/s, rad/s], at most {MOST_VELOCITY:g}, or None."
            raise self._refused(text, "twist", twist, "six finite numbers")

    def _refused(self, text: str, field: str, value: object, allowed: object, **facts: Any) -> ReferenceRefused:
        return ReferenceRefused(f"{self._law}: {text}", field=field, value=value, allowed=allowed, **facts)


def _is_array(values: Any, *shape: int) -> bool:
    """Return True for an array of float64, of the given shape if one is given."""
    is_plain = isinstance(values, np.ndarray) and values.dtype == np.float64
    return is_plain and (not shape or values.shape == shape)


@lru_cache(maxsize=32)
def _fits(count: int) -> Kernel:
    """Compile a kernel that succeeds if a reference is within its limits."""

    def body(
        position: Vector, velocity: Vector, acceleration: Vector, lower: Vector, upper: Vector, speed: Vector
    ) -> Traced:
        guards = []
        for i in range(count):
            guards += [position[i] - lower[i], upper[i] - position[i], speed[i] - velocity[i], speed[i] + velocity[i]]
            guards += [MOST_ACCELERATION - acceleration[i], MOST_ACCELERATION + acceleration[i]]
        return Traced({"sum": [sum(acceleration[1:], acceleration[0])]}, guards)

    vectors: Sequence[str] = ("position", "velocity", "acceleration", "lower", "upper", "speed")
    return compiled_kernel("reference_fits", dict.fromkeys(vectors, count), body)
