# SPDX-License-Identifier: Apache-2.0
"""Bounds of what a simulated robot takes from outside, and of a motion that has not diverged; no ROS.

All bounds follow from the robot and its step, so that there is nothing to set: from the limits in its description, and
where that has none from its weight, its reach, and what a step can follow.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.contact.stops import limit_violations
from ada_dynamics.errors import InputError
from ada_dynamics.model.bounds import bounds_of
from ada_dynamics.model.joints.base import NO_LIMIT
from ada_dynamics.model.model import STANDARD_GRAVITY, Model, reach_of
from ada_robot.contract import JointLimit
from ada_robot.limits import ROUNDING, joint_limits, refused_number

WEIGHTS = 10.0  # of the whole robot, that a force from outside or of a motor without a limit may have
REACHES = 10.0  # of the robot, that anything may travel in a step
SLOWEST = 100.0  # [rad/s, m/s]; slower motion has not diverged, however long the step
SHARE = 0.1  # of the speed that counts as diverged, which may be given from outside


class StateBounds:
    """The bounds of one robot.

    Attributes:
        force: greatest force from outside [N].
        moment: greatest moment from outside [N m].
        fastest_turning: what may be given where there is no limit [rad/s].
        fastest_sliding: likewise [m/s].
        joints: what may be given for each joint, by name.
    """

    def __init__(self, model: Model, step: float, *, keeps_limits: bool = True) -> None:
        """Work them out.

        Args:
            model: the robot.
            step: of the simulation [s].
            keeps_limits: whether positions beyond the limits of joints are refused in states, too; false where joints
                have no stops and turn through them.
        """
        self._model, self._keeps_limits = model, keeps_limits
        gravity = float(np.linalg.norm([model.gravity, STANDARD_GRAVITY], axis=1).max())
        reach = reach_of(model)
        self.force = WEIGHTS * (model.total_mass or 1.0) * gravity
        self.moment = self.force * reach
        # Half a turn in a step looks like half a turn the other way: no integrator follows that.
        turning, sliding = max(math.pi / step, SLOWEST), max(REACHES * reach / step, SLOWEST)
        self.fastest_turning, self.fastest_sliding = SHARE * turning, SHARE * sliding
        self._fastest = np.where(_sliding_velocities(model), sliding, turning)
        self.joints = {limit.name: self._bounded(limit) for limit in joint_limits(model, ())}
        self._single = [n for n, joint in model.joints.items() if joint.nq == joint.nv == 1 and joint.mimic is None]

    def _bounded(self, limit: JointLimit) -> JointLimit:
        """A limit with numbers where the description has none."""
        slides = self._model.joints[limit.name].type.slides()
        derived = []
        if not max(-limit.lower, limit.upper) < NO_LIMIT:
            derived.append("position")
            limit = limit._replace(lower=max(limit.lower, -NO_LIMIT), upper=min(limit.upper, NO_LIMIT))
        if not math.isfinite(limit.velocity):
            derived.append("velocity")
            limit = limit._replace(velocity=self.fastest_sliding if slides else self.fastest_turning)
        if not math.isfinite(limit.effort):
            derived.append("effort")
            limit = limit._replace(effort=self.force if slides else self.moment)
        return limit._replace(derived=tuple(derived))

    def limits(self, motors: Sequence[str]) -> list[JointLimit]:
        """Limits of the joints, of which some have motors."""
        return [limit._replace(has_motor=name in motors) for name, limit in self.joints.items()]

    # --- input --------------------------------------------------------------------------------------------------
    def check_wrench(self, wrench: Sequence[float], link: str) -> None:
        """Check that a wrench [f, n] on a link is finite and not too large.

        Raises:
            InputError: it is not finite, or too large.
        """
        given = np.asarray(wrench, dtype=np.float64)
        force, moment = float(np.linalg.norm(given[:3])), float(np.linalg.norm(given[3:]))
        if force <= self.force and moment <= self.moment:  # not so for NaN
            return
        text = (
            f"a wrench of {force:.4g} N and {moment:.4g} N m on link {link!r}: finite numbers only, up to "
            f"{self.force:.4g} N ({WEIGHTS:g} times the robot's weight) and {self.moment:.4g} N m (that at its reach)."
        )
        raise InputError(text, link=link, field="wrench", value=given, allowed=(self.force, self.moment))

    def check_joints(self, positions: Mapping[str, float], velocities: Mapping[str, float]) -> None:
        """Check that positions and velocities of joints are within their limits; unknown names are ignored.

        Raises:
            InputError: one is not.
        """
        for what, values in (("position", positions), ("velocity", velocities)):
            for name, value in values.items():
                limit = self.joints.get(name)
                if limit is None:
                    continue
                if what == "position" and not self._keeps_limits:
                    limit = limit._replace(lower=-NO_LIMIT, upper=NO_LIMIT, derived=("position",))
                refusal = refused_number(limit, what, value)
                if refusal is not None:
                    raise InputError(refusal.text, joint=name, field=what, value=value)

    def check_moved(self, before: Array, after: Array) -> None:
        """Check that joints which followed others by loops are within their limits, where they were so before.

        Raises:
            InputError: one is not.
        """
        if not self._keeps_limits:
            return
        were = limit_violations(self._model, before)
        for name, over in limit_violations(self._model, after).items():
            if over > ROUNDING and name not in were:
                limits = ", ".join(map(str, bounds_of(self._model.joints[name])))
                text = (
                    f"with its loops closed, joint {name!r} would be {over:.3g} beyond its limits {limits}; take "
                    "positions nearer to the present ones."
                )
                raise InputError(text, joint=name, field="position", value=over)

    def check_positions(self, q: ArrayLike) -> None:
        """Check that positions are not so large that digits are lost.

        Raises:
            InputError: one is.
        """
        given = np.asarray(q, dtype=np.float64)
        bad = ~(np.abs(given) <= NO_LIMIT)
        if bad.any():
            i = int(np.argmax(bad))
            text = (
                f"position {i} of model {self._model.name!r} is {given[i]:.6g}; it must be within {NO_LIMIT:g} rad "
                "or m either way."
            )
            raise InputError(text, field="position", value=float(given[i]), allowed=(-NO_LIMIT, NO_LIMIT))

    def check_velocities(self, v: ArrayLike) -> None:
        """Check that the simulation can start with velocities, those of a free root too.

        Raises:
            InputError: one is too large, or not finite.
        """
        given = np.asarray(v, dtype=np.float64)
        model = self._model
        self.check_joints({}, {name: float(given[model.v_index(name)][0]) for name in self._single})
        bad = ~(np.abs(given) <= SHARE * self._fastest)
        if bad.any():
            i = int(np.argmax(bad))
            text = (
                f"velocity {i} of model {model.name!r} is {given[i]:.6g}; it must be within "
                f"{SHARE * self._fastest[i]:.4g} rad/s or m/s either way, a tenth of what a step of the simulation can "
                "follow."
            )
            raise InputError(
                text,
                field="velocity",
                value=float(given[i]),
                allowed=(-SHARE * self._fastest[i], SHARE * self._fastest[i]),
            )

    # --- the motion ---------------------------------------------------------------------------------------------
    def diverged(self, q: Array, v: Array) -> str:
        """Why a state has diverged, in words; empty where it has not."""
        # NaN fails every comparison
        if (np.abs(v) <= self._fastest).all() and (np.abs(q) <= NO_LIMIT).all():
            return ""
        if not (np.isfinite(q).all() and np.isfinite(v).all()):
            return "it is not finite any more"
        fast = np.abs(v) / self._fastest
        if fast.max(initial=0.0) > 1.0:
            i = int(np.argmax(fast))
            joint = self._model.joint_of_velocity(i)
            return (
                f"velocity {i} ({joint}) became {v[i]:.3g}; past {self._fastest[i]:.4g} rad/s or m/s "
                "(half a turn, or ten times the robot's reach, in a step) nothing can be followed"
            )
        return f"a position became {q[int(np.argmax(np.abs(q)))]:.3g}; beyond {NO_LIMIT:g} rad or m digits are lost"


def _sliding_velocities(model: Model) -> NDArray[np.bool_]:
    """True for each velocity of sliding rather than of turning."""
    slides = np.zeros(model.nv, dtype=bool)
    for body in model.tree.bodies:
        columns = body.joint.subspace(body.joint.neutral().tolist())
        slides[body.v] = [not np.any(np.array(column.angular, dtype=np.float64)) for column in columns]
    return slides
