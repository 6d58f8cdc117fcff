# SPDX-License-Identifier: Apache-2.0
"""Bounds of the inputs to a simulated robot, and detection of diverged motions; no ROS.

All bounds follow from the limits in the robot description, or, where it has none, from the weight and reach of the
robot and the time step.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.contact.stops import limit_violations
from ada_dynamics.errors import InputError
from ada_dynamics.model.joints.base import NO_LIMIT
from ada_dynamics.model.model import STANDARD_GRAVITY, Model, reach_of
from ada_robot.contract import JointLimit
from ada_robot.limits import ROUNDING, joint_limits, refused_number

WEIGHTS = 10.0  # maximum external force or unlimited motor force, in weights of the robot
REACHES = 10.0  # maximum displacement per step, in reaches of the robot
SLOWEST = 100.0  # speed below which a motion has not diverged [rad/s, m/s]
SHARE = 0.1  # maximum velocity input, as a share of the divergence threshold


class StateBounds:
    """Bounds of one robot.

    Attributes:
        force: maximum external force [N].
        moment: maximum external moment [N m].
        fastest_turning: maximum velocity input of revolute joints without a limit [rad/s].
        fastest_sliding: maximum velocity input of prismatic joints without a limit [m/s].
        joints: input limits by joint.
    """

    def __init__(self, model: Model, step: float, *, keeps_limits: bool = True) -> None:
        """Compute the bounds.

        Args:
            model: robot model.
            step: time step [s].
            keeps_limits: whether states outside the position limits are refused; False for joints without stops.
        """
        self._model, self._keeps_limits = model, keeps_limits
        gravity = float(np.linalg.norm([model.gravity, STANDARD_GRAVITY], axis=1).max())
        reach = reach_of(model)
        self.force = WEIGHTS * (model.total_mass or 1.0) * gravity
        self.moment = self.force * reach
        # half a turn per step is ambiguous: no integrator can follow it
        turning, sliding = max(math.pi / step, SLOWEST), max(REACHES * reach / step, SLOWEST)
        self.fastest_turning, self.fastest_sliding = SHARE * turning, SHARE * sliding
        self._fastest = np.where(_sliding_velocities(model), sliding, turning)
        self.joints = {limit.name: self._bounded(limit) for limit in joint_limits(model, ())}
        self._single = [n for n, joint in model.joints.items() if joint.nq == joint.nv == 1 and joint.mimic is None]

    def _bounded(self, limit: JointLimit) -> JointLimit:
        """Replace missing limits by the default bounds."""
        slides = self._model.joints[limit.name].type.slides()
        limit = limit._replace(lower=max(limit.lower, -NO_LIMIT), upper=min(limit.upper, NO_LIMIT))
        if not math.isfinite(limit.velocity):
            limit = limit._replace(velocity=self.fastest_sliding if slides else self.fastest_turning)
        if not math.isfinite(limit.effort):
            limit = limit._replace(effort=self.force if slides else self.moment)
        return limit

    def limits(self, motors: Sequence[str]) -> list[JointLimit]:
        """Return the joint limits. Args: names of the actuated joints."""
        return [limit._replace(has_motor=name in motors) for name, limit in self.joints.items()]

    # --- input --------------------------------------------------------------------------------------------------
    def check_wrench(self, wrench: Sequence[float], link: str) -> None:
        """Raise an InputError if a wrench [f, n] on a link is not finite, or too large."""
        given = np.asarray(wrench, dtype=np.float64)
        force, moment = float(np.linalg.norm(given[:3])), float(np.linalg.norm(given[3:]))
        if force <= self.force and moment <= self.moment:  # False for NaN
            return
        text = (
            f"wrench of {force:.4g} N and {moment:.4g} N m on link {link!r}: it must be finite, with at most "
            f"{self.force:.4g} N ({WEIGHTS:g} times the robot's weight) and {self.moment:.4g} N m (at its reach)."
        )
        raise InputError(text, link=link, field="wrench", value=given, allowed=(self.force, self.moment))

    def check_joints(self, positions: Mapping[str, float], velocities: Mapping[str, float]) -> None:
        """Raise an InputError if positions or velocities of joints violate their limits; ignore unknown names."""
        for what, values in (("position", positions), ("velocity", velocities)):
            for name, value in values.items():
                limit = self.joints.get(name)
                if limit is None:
                    continue
                if what == "position" and not self._keeps_limits:
                    limit = limit._replace(lower=-NO_LIMIT, upper=NO_LIMIT)
                refusal = refused_number(limit, what, value)
                if refusal is not None:
                    raise InputError(refusal.text, joint=name, field=what, value=value)

    def check_moved(self, before: Array, after: Array) -> None:
        """Raise an InputError if closing the loops has moved a joint outside its position limits."""
        if not self._keeps_limits:
            return
        were = limit_violations(self._model, before)
        for name, over in limit_violations(self._model, after).items():
            if over > ROUNDING and name not in were:
                limits = ", ".join(map(str, self._model.joints[name].bounds))
                text = (
                    f"after loop closure, joint {name!r} would be {over:.3g} outside its limits {limits}; give "
                    "positions closer to the present ones."
                )
                raise InputError(text, joint=name, field="position", value=over)

    def check_positions(self, q: ArrayLike) -> None:
        """Raise an InputError unless positions are small enough to be represented precisely."""
        self._check_sizes("position", q, np.full(np.shape(q), NO_LIMIT), "rad or m")

    def check_velocities(self, v: ArrayLike) -> None:
        """Raise an InputError if an initial velocity, also of a floating base, is too large or not finite."""
        given, model = np.asarray(v, dtype=np.float64), self._model
        self.check_joints({}, {name: float(given[model.v_index(name)][0]) for name in self._single})
        unit = "rad/s or m/s, a tenth of the divergence threshold of the time step"
        self._check_sizes("velocity", given, SHARE * self._fastest, unit)

    def _check_sizes(self, what: str, values: ArrayLike, most: Array, unit: str) -> None:
        given = np.asarray(values, dtype=np.float64)
        bad = ~(np.abs(given) <= most)
        if bad.any():
            i = int(np.argmax(bad))
            text = (
                f"{what} {i} of model {self._model.name!r} is {given[i]:.6g}; its magnitude must not exceed "
                f"{most[i]:.4g} {unit}."
            )
            raise InputError(text, field=what, value=float(given[i]), allowed=(-most[i], most[i]))

    # --- the motion ---------------------------------------------------------------------------------------------
    def diverged(self, q: Array, v: Array) -> str:
        """Return why a state has diverged, or ""."""
        # NaN fails every comparison
        if (np.abs(v) <= self._fastest).all() and (np.abs(q) <= NO_LIMIT).all():
            return ""
        if not (np.isfinite(q).all() and np.isfinite(v).all()):
            return "it is no longer finite"
        fast = np.abs(v) / self._fastest
        if fast.max(initial=0.0) > 1.0:
            i = int(np.argmax(fast))
            joint = self._model.joint_of_velocity(i)
            return (
                f"velocity {i} ({joint}) became {v[i]:.3g}, above {self._fastest[i]:.4g} rad/s or m/s (half a turn, or "
                "ten times the robot's reach, per step)"
            )
        return f"a position became {q[int(np.argmax(np.abs(q)))]:.3g}, above {NO_LIMIT:g} rad or m"


def _sliding_velocities(model: Model) -> NDArray[np.bool_]:
    """Return True for each velocity that is translational."""
    slides = np.zeros(model.nv, dtype=bool)
    for body in model.tree.bodies:
        columns = body.joint.subspace(body.joint.neutral().tolist())
        slides[body.v] = [not np.any(np.array(column.angular, dtype=np.float64)) for column in columns]
    return slides
