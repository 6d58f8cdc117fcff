# SPDX-License-Identifier: Apache-2.0
"""Comparison with pinocchio at single states: accelerations by forward, efforts by inverse dynamics; no ROS.

Both engines get the same configuration, velocities and efforts. External forces (contact, pushes) and joint stops are
not part of the comparison.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.coordinates import motor_efforts
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

OPEN = 1e-6  # [m, rad] closure error above which both engines would close the loops differently
MOVING_APART = 1e-5  # velocity constraint violation, relative to the largest velocity


class Comparison(NamedTuple):
    """One quantity computed by both engines.

    Attributes:
        ours: result of this library.
        theirs: result of pinocchio.
        worst: joint with the largest difference.
    """

    ours: Array
    theirs: Array
    worst: str

    @property
    def difference(self) -> Array:
        """`ours` minus `theirs`."""
        return self.ours - self.theirs

    @property
    def absolute(self) -> float:
        """Largest absolute difference."""
        return float(np.max(np.abs(self.difference), initial=0.0))

    @property
    def relative(self) -> float:
        """Largest difference relative to the largest value of `theirs`; 0 for equal results."""
        return self.absolute / float(np.max(np.abs(self.theirs), initial=1e-300)) if self.absolute else 0.0

    def is_within(self, absolute: float, relative: float) -> bool:
        """Return True if the largest difference is at most the sum of both tolerances."""
        return self.absolute <= absolute + relative * float(np.max(np.abs(self.theirs), initial=0.0))


class Verdict(NamedTuple):
    """Comparison at one state.

    Attributes:
        accelerations: [rad/s², m/s²]; None if not comparable.
        efforts: efforts for these accelerations [N m, N], with loops the minimum-norm motor efforts; None if not
            comparable.
        reason: reason why a quantity is not comparable; empty if all are.
    """

    accelerations: Comparison | None
    efforts: Comparison | None
    reason: str = ""


class Oracle:
    """Both engines for one model.

    Attributes:
        model: robot model.
        labels: names of the velocity coordinates: joint names, with an index for joints with several.
    """

    def __init__(
        self, model: Model, q: ArrayLike | None = None, algorithm: str = "ada", ours: Dynamics | None = None
    ) -> None:
        """Build both engines.

        Args:
            model: robot model.
            q: configuration in the intended assembly mode.
            algorithm: forward dynamics algorithm of this library; see `algorithm_for`.
            ours: dynamics to compare with pinocchio; default: dynamics of the model with this algorithm.

        Raises:
            InputError: pinocchio is not installed, or an argument is invalid.
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
        """Compare both engines at one state.

        Args:
            q: configuration.
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
        except InputError as problem:  # with loops, the motors may be unable to produce the given accelerations
            return Verdict(accelerations, None, str(problem))
        return Verdict(accelerations, efforts)

    def _not_comparable(self, q: Array, v: Array) -> str:
        if not self.model.loops:
            return ""
        gap = float(np.max(np.abs(self._loops.violation(q))))
        if not gap <= OPEN:
            return f"closure error of the loops is {gap:.2g} m or rad; the engines close them differently"
        drift = float(np.max(np.abs(self._loops.jacobian(q) @ v)))
        if not drift <= MOVING_APART * max(1.0, float(np.max(np.abs(v)))):
            return f"the velocities violate the loop constraints by {drift:.2g} m/s or rad/s"
        sizes = np.linalg.svd(self._loops.whitened(q), compute_uv=False)
        if self._rank and sizes[self._rank - 1] < SINGULAR * sizes[0]:
            return "singular configuration: the motion is not determined by the loops"
        return ""

    def _forward(self, q: Array, v: Array, tau: Array) -> Array:
        """Accelerations by a pinocchio solver, or by a dense solution of its terms if that fails."""
        *own, last = self._theirs.solvers
        for solver in own:
            try:
                return self._theirs.forward(q, v, tau, solver=solver)
            except InputError:  # the last solver reports the error
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
    """Return True if joint states by name define the full state: each moving joint has one coordinate."""
    return all(model.joints[name].nq == model.joints[name].nv == 1 for name in model.joint_names)


def state_of_joints(
    model: Model, names: Sequence[str], position: Sequence[float], velocity: Sequence[float], effort: Sequence[float]
) -> tuple[Array, Array, Array]:
    """q, v and tau of a sensor_msgs/JointState; joints of other robots are ignored.

    Args:
        model: robot for which `is_described_by_joints` holds.
        names: joint names.
        position: positions, one per name.
        velocity: velocities, one per name.
        effort: efforts, one per name, or empty for zeros.

    Raises:
        InputError: joints are missing or repeated, or a list has the wrong length.
    """
    given: Mapping[str, Sequence[float]] = {"position": position, "velocity": velocity, "effort": effort}
    for field, values in given.items():
        if len(values) != len(names) and (field != "effort" or len(values)):
            text = f"joint state with {len(names)} names has {len(values)} values in {field}."
            raise InputError(text, field=field, value=len(values), allowed=len(names))
    place = {name: i for i, name in enumerate(names)}
    if len(place) != len(names):
        twice = next(name for i, name in enumerate(names) if place[name] != i)
        raise InputError(f"joint state contains joint {twice!r} twice.", field="name", joint=twice)
    missing = [name for name in model.joint_names if name not in place]
    if missing:
        text = f"joint state lacks joint {', '.join(missing[:8])} of model {model.name!r}."
        raise InputError(text, field="name", joint=missing[0])
    order = [place[name] for name in model.joint_names]
    q, v, tau = (
        np.array([values[i] for i in order] if len(values) else np.zeros(len(order))) for values in given.values()
    )
    if not all(np.isfinite(x).all() for x in (q, v, tau)):
        raise InputError("joint state has non-finite values.", field="numbers")
    return q, v, tau


def base_of_sizes(model: Model, nq: int, nv: int) -> str:
    """Attachment of the root link that matches the dimensions of a state.

    Args:
        model: robot with a fixed base.
        nq: number of positions.
        nv: number of velocities.

    Raises:
        InputError: no base type matches.
    """
    sizes = {base: (model.nq + JOINT_TYPES[kind].nq, model.nv + JOINT_TYPES[kind].nv) for base, kind in BASES.items()}
    for base, size in sizes.items():
        if size == (nq, nv):
            return base
    shown = ", ".join(f"{base}: {q} and {v}" for base, (q, v) in sizes.items())
    text = (
        f"state with {nq} positions and {nv} velocities matches no base of model {model.name!r} ({shown}); the "
        "robot description belongs to another robot."
    )
    raise InputError(text, field="base", value=(nq, nv), allowed=tuple(sizes.values()))
