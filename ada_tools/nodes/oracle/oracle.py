# SPDX-License-Identifier: Apache-2.0
"""Our dynamics beside pinocchio's, state by state: accelerations by forward, efforts by inverse dynamics. No ROS.

Both engines get the same positions, velocities and efforts. What acts from outside (the ground, pushes) is not part of
the comparison, nor are stops: these are no matter of the equations of motion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.actuation import motor_efforts
from ada_dynamics.constraints.singular import SINGULAR, directions
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.dynamics.closed import CompiledConstraintSet
from ada_dynamics.dynamics.computation import kernels_of
from ada_dynamics.errors import InputError
from ada_dynamics.model.description import BASES
from ada_dynamics.model.joints import JOINT_TYPES
from ada_dynamics.model.model import Model
from ada_robot.simulated.source import algorithm_for
from ada_tools.engines.pinocchio_model import RANK, PinocchioModel

OPEN = 1e-6  # [m, rad] gap of loops past which both engines close them each in its own way
MOVING_APART = 1e-5  # of velocities across them, relative to the largest velocity


class Comparison(NamedTuple):
    """One quantity by both engines, by velocity.

    Attributes:
        ours: our result.
        theirs: pinocchio's.
        worst: the joint that differs most.
    """

    ours: Array
    theirs: Array
    worst: str

    @property
    def difference(self) -> Array:
        """Ours less theirs."""
        return self.ours - self.theirs

    @property
    def absolute(self) -> float:
        """The largest difference."""
        return float(np.max(np.abs(self.difference), initial=0.0))

    @property
    def relative(self) -> float:
        """The same as a share of the largest of theirs; 0 where nothing differs."""
        return self.absolute / float(np.max(np.abs(self.theirs), initial=1e-300)) if self.absolute else 0.0

    def is_within(self, absolute: float, relative: float) -> bool:
        """True if the largest difference is at most the sum of both tolerances."""
        return self.absolute <= absolute + relative * float(np.max(np.abs(self.theirs), initial=0.0))


class Verdict(NamedTuple):
    """A comparison in one state.

    Attributes:
        accelerations: [rad/s², m/s²]; None where they cannot be compared.
        efforts: that give these accelerations [N m, N]; with loops, the least ones of the motors. Likewise.
        reason: why something cannot be compared; empty where everything is.
    """

    accelerations: Comparison | None
    efforts: Comparison | None
    reason: str = ""


class Oracle:
    """Both engines for one model.

    Attributes:
        model: the mechanism.
        labels: of its velocities: names of joints, with a number where a joint has several.
    """

    def __init__(
        self, model: Model, q: ArrayLike | None = None, algorithm: str = "ada", ours: Dynamics | None = None
    ) -> None:
        """Build both.

        Args:
            model: the mechanism.
            q: positions in the way of assembly that is meant.
            algorithm: of our forward dynamics; see `algorithm_for`.
            ours: what pinocchio is compared with; None: the dynamics of the mechanism by that algorithm.

        Raises:
            InputError: pinocchio is not installed, or an argument is unusable.
        """
        self.model = model
        self.labels = [
            name if model.joints[name].nv == 1 else f"{name}[{i}]"
            for name in model.joint_names
            for i in range(model.joints[name].nv)
        ]
        self._theirs = PinocchioModel(model)
        self._ours = ours or Dynamics(model, algorithm_for(model, algorithm), q0=q if model.loops else None)
        closed = kernels_of(self._ours).closed
        if closed is not None:
            self._loops, self._rank = CompiledConstraintSet(kernels_of(self._ours)), closed.analysis.rank

    def compare(self, q: Array, v: Array, tau: Array) -> Verdict:
        """Both engines in one state.

        Args:
            q: positions.
            v: velocities.
            tau: joint efforts.

        Raises:
            InputError: a vector is not finite or has the wrong length.
        """
        reason = self._not_comparable(q, v)
        if reason:
            return Verdict(None, None, reason)
        ours = self._ours.forward(q, v, tau)
        try:
            theirs = self._forward(q, v, tau)
        except InputError as problem:
            return Verdict(None, None, str(problem))
        accelerations = self._comparison(ours, theirs)
        try:
            efforts = self._comparison(self._ours.inverse(q, v, theirs), self._efforts(q, v, theirs))
        except InputError as problem:  # with loops, the motors may be unable to do what the efforts given did
            return Verdict(accelerations, None, str(problem))
        return Verdict(accelerations, efforts)

    def _not_comparable(self, q: Array, v: Array) -> str:
        if not self.model.loops:
            return ""
        gap = float(np.max(np.abs(self._loops.violation(q))))
        if not gap <= OPEN:
            return f"the loops are open by {gap:.2g} m or rad; the engines close them each in its own way"
        drift = float(np.max(np.abs(self._loops.jacobian(q) @ v)))
        if not drift <= MOVING_APART * max(1.0, float(np.max(np.abs(v)))):
            return f"the velocities open the loops at {drift:.2g} m/s or rad/s"
        sizes = np.linalg.svd(self._loops.whitened(q), compute_uv=False)
        if self._rank and sizes[self._rank - 1] < SINGULAR * sizes[0]:
            return "the pose is singular: the loops do not determine the motion"
        return ""

    def _forward(self, q: Array, v: Array, tau: Array) -> Array:
        """Accelerations by pinocchio's own solver, or by a dense solution from its terms where that one fails."""
        *own, last = self._theirs.solvers
        for solver in own:
            try:
                return self._theirs.forward(q, v, tau, solver=solver)
            except InputError:  # the next one says what is wrong, if it is the state
                continue
        return self._theirs.forward(q, v, tau, solver=last)

    def _efforts(self, q: Array, v: Array, a: Array) -> Array:
        wanted = self._theirs.inverse(q, v, a)
        if not self.model.loops:
            return wanted
        J = self._theirs.loop_constraints.jacobian(q)
        sizes = np.linalg.svd(J, compute_uv=False)
        rank = int(np.sum(sizes > RANK * self._theirs.loop_constraints.scale(q)))
        return motor_efforts(self.model, directions(J, rank), wanted)

    def _comparison(self, ours: Array, theirs: Array) -> Comparison:
        worst = int(np.argmax(np.abs(ours - theirs)))
        return Comparison(np.array(ours), np.array(theirs), self.labels[worst])


# --- states from messages -------------------------------------------------------------------------------------------
def is_described_by_joints(model: Model) -> bool:
    """True if the values of joints by name say the whole state: each joint that moves has one of each."""
    return all(model.joints[name].nq == model.joints[name].nv == 1 for name in model.joint_names)


def state_of_joints(
    model: Model, names: Sequence[str], position: Sequence[float], velocity: Sequence[float], effort: Sequence[float]
) -> tuple[Array, Array, Array]:
    """q, v and tau of what a sensor_msgs/JointState says; joints of other robots may be among them.

    Args:
        model: a robot that `is_described_by_joints`.
        names: of joints.
        position: as many.
        velocity: as many.
        effort: as many; none at all count as zeros.

    Raises:
        InputError: joints are missing or named twice, or a list has another length.
    """
    given: Mapping[str, Sequence[float]] = {"position": position, "velocity": velocity, "effort": effort}
    for field, values in given.items():
        if len(values) != len(names) and (field != "effort" or len(values)):
            text = f"a joint state names {len(names)} joints and has {len(values)} numbers in {field}."
            raise InputError(text, field=field, value=len(values), allowed=len(names))
    place = {name: i for i, name in enumerate(names)}
    if len(place) != len(names):
        twice = next(name for i, name in enumerate(names) if place[name] != i)
        raise InputError(f"a joint state names joint {twice!r} twice.", field="name", joint=twice)
    missing = [name for name in model.joint_names if name not in place]
    if missing:
        text = f"a joint state lacks joint {', '.join(missing[:8])} of model {model.name!r}."
        raise InputError(text, field="name", joint=missing[0])
    order = [place[name] for name in model.joint_names]
    q, v, tau = (
        np.array([values[i] for i in order] if len(values) else np.zeros(len(order))) for values in given.values()
    )
    if not all(np.isfinite(x).all() for x in (q, v, tau)):
        raise InputError("a joint state has numbers that are not finite.", field="numbers")
    return q, v, tau


def base_of_sizes(model: Model, nq: int, nv: int) -> str:
    """How the root link is held where a state has so many positions and velocities.

    Args:
        model: the robot on a fixed base.
        nq: number of positions.
        nv: number of velocities.

    Raises:
        InputError: no base has so many.
    """
    sizes = {base: (model.nq + JOINT_TYPES[kind].nq, model.nv + JOINT_TYPES[kind].nv) for base, kind in BASES.items()}
    for base, size in sizes.items():
        if size == (nq, nv):
            return base
    shown = ", ".join(f"{base}: {q} and {v}" for base, (q, v) in sizes.items())
    text = (
        f"a state has {nq} positions and {nv} velocities, which fit no base of model {model.name!r} ({shown}); the "
        "robot description is of another robot."
    )
    raise InputError(text, field="base", value=(nq, nv), allowed=tuple(sizes.values()))
