# SPDX-License-Identifier: Apache-2.0
"""Comparison with pinocchio: accelerations by forward, efforts by inverse dynamics; no ROS.

Pinocchio reads the robot description itself. Both engines get the same configuration, velocities and efforts. The
equations of closed loops, which URDF lacks, are those of this library. External forces (contact, pushes) and joint
stops are not part of the comparison, and the root link is fixed: joint states do not contain its motion.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.clock import SYSTEM_CLOCK
from ada_dynamics.constraints.coordinates import motor_efforts
from ada_dynamics.constraints.singular import SINGULAR, directions
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.dynamics.computation import kernels_of
from ada_dynamics.errors import AdaError, InputError
from ada_dynamics.model.model import Model
from ada_dynamics.resources import how_to_install
from ada_dynamics.robots.load import load
from ada_robot.ros.status import Level, Status
from ada_robot.simulated.source import algorithm_for
from ada_tools.nodes.settings import OracleSettings

OPEN = 1e-6  # [m, rad] closure error above which the loops have no common velocities
MOVING_APART = 1e-5  # velocity constraint violation, relative to the largest velocity
JointNumbers: TypeAlias = tuple[Sequence[str], Sequence[float], Sequence[float], Sequence[float]]
"""Fields of a joint state: names, positions, velocities, efforts."""


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

    def is_within(self, absolute: float, relative: float) -> bool:
        """Return True if the largest difference is at most the sum of both tolerances."""
        return self.absolute <= absolute + relative * float(np.max(np.abs(self.theirs), initial=0.0))


class Verdict(NamedTuple):
    """Comparable quantities at one state, and the reason why others are missing; empty if none is.

    The quantities are "accelerations" [rad/s², m/s²], and "efforts" [N m, N] for these accelerations, with loops the
    minimum-norm motor efforts.
    """

    quantities: dict[str, Comparison]
    reason: str = ""


# --- pinocchio --------------------------------------------------------------------------------------------------------
def pinocchio() -> Any:
    """Import the module pinocchio.

    Raises:
        InputError: it is not installed or cannot be imported, or another package has its name.
    """
    fix = (
        f"Install it with: {how_to_install('oracle')}, or pip install pin 'numpy=={version('numpy')}' (the package is "
        "named pin, and must be compiled for this numpy; pip uninstall pinocchio removes another package of that name)."
    )
    try:
        import pinocchio as module
    except Exception as problem:  # any exception: compiled for another numpy, or another package of that name
        why = f"cannot be imported ({type(problem).__name__}: {problem})"
        raise InputError(f"the comparison needs pinocchio, which {why}. {fix}", field="pinocchio") from None
    if not hasattr(module, "buildModelFromXML"):  # PyPI has a test runner of the same name
        where = getattr(module, "__file__", None)
        text = f"the module pinocchio in {where} is not the dynamics library. {fix}"
        raise InputError(text, field="pinocchio", value=where)
    return module


class DescribedTree:
    """Mass matrix and bias of the tree of a robot description, as pinocchio reads it, in our coordinates.

    Pinocchio has independent joints for those that mimic others: its velocities are G v.
    """

    def __init__(self, model: Model, text: str) -> None:
        """Read the description.

        Args:
            model: the same robot in this library; see `is_described_by_joints`.
            text: robot description in URDF.

        Raises:
            InputError: pinocchio is not installed, or cannot read the description.
        """
        self._pin = pinocchio()
        try:
            self._model = self._pin.buildModelFromXML(text)
        except Exception as problem:  # of the reader: several types
            raise InputError(f"pinocchio cannot read the description of {model.name!r}: {problem}") from None
        self._model.gravity.linear = np.array(model.gravity)
        self._data = self._model.createData()
        self.G = np.zeros((self._model.nv, model.nv))
        # Offset of a joint that mimics another, damping, friction, stiffness, and position of the spring at rest.
        self._terms = np.zeros((5, self._model.nv))
        for joint in model.joints.values():
            if not joint.nv and joint.mimic is None:
                continue
            row = self._model.joints[self._model.getJointId(joint.name)].idx_v
            mimic = joint.mimic
            self.G[row, model.v_index(mimic.joint if mimic else joint.name)] = mimic.multiplier if mimic else 1.0
            offset = mimic.offset if mimic else 0.0
            self._terms[:, row] = offset, joint.damping, joint.friction, joint.stiffness, joint.rest
            self._model.armature[row] = joint.armature

    def terms(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Mass matrix, and efforts at zero acceleration: velocity terms, gravity, damping, friction and springs."""
        offset, damping, friction, stiffness, rest = self._terms
        position, velocity = self.G @ q + offset, self.G @ v
        x = self._pin.integrate(self._model, self._pin.neutral(self._model), position)
        upper = np.triu(self._pin.crba(self._model, self._data, x))  # some versions leave the lower triangle empty
        h = self._pin.nonLinearEffects(self._model, self._data, x, velocity)
        h += damping * velocity + friction * np.sign(velocity) + stiffness * (position - rest)
        return self.G.T @ (upper + np.triu(upper, 1).T) @ self.G, self.G.T @ h


class Oracle:
    """Both engines for one model.

    Attributes:
        model: robot model.
    """

    def __init__(
        self,
        model: Model,
        text: str,
        q: ArrayLike | None = None,
        algorithm: str = "ada",
        ours: Dynamics | None = None,
    ) -> None:
        """Build both engines.

        Args:
            model: robot model; see `is_described_by_joints`.
            text: its description in URDF, for pinocchio.
            q: configuration in the intended assembly mode.
            algorithm: forward dynamics algorithm of this library; see `algorithm_for`.
            ours: dynamics to compare with pinocchio; default: dynamics of the model with this algorithm.

        Raises:
            InputError: pinocchio is not installed, or an argument is invalid.
        """
        self.model = model
        self._theirs = DescribedTree(model, text)
        self._ours = ours or Dynamics(model, algorithm_for(model, algorithm), q0=q if model.loops else None)
        closed = kernels_of(self._ours).closed
        if closed is not None:
            self._loops, self._rank = closed.analysis.constraints, closed.analysis.rank

    def compare(self, q: Array, v: Array, tau: Array) -> Verdict:
        """Compare both engines at one state.

        Raises:
            InputError: a vector is not finite or has the wrong length.
        """
        reason = self._not_comparable(q, v)
        if reason:
            return Verdict({}, reason)
        M, h = self._theirs.terms(q, v)
        N, a0 = self._motions(q, v)  # a = a₀ + N z satisfies the constraints for any z
        theirs = a0 + N @ np.linalg.solve(N.T @ M @ N, N.T @ (tau - h - M @ a0))
        found = {"accelerations": self._comparison(self._ours.forward(q, v, tau), theirs)}
        wanted = M @ theirs + h
        try:
            efforts = motor_efforts(self.model, N, wanted) if self.model.loops else wanted
            found["efforts"] = self._comparison(self._ours.inverse(q, v, theirs), efforts)
        except InputError as problem:  # with loops, the motors may be unable to produce the given accelerations
            return Verdict(found, str(problem))
        return Verdict(found)

    def _not_comparable(self, q: Array, v: Array) -> str:
        if not self.model.loops:
            return ""
        gap = float(np.max(np.abs(self._loops.violation(q))))
        if not gap <= OPEN:
            return f"closure error of the loops is {gap:.2g} m or rad"
        drift = float(np.max(np.abs(self._loops.jacobian(q) @ v)))
        if not drift <= MOVING_APART * max(1.0, float(np.max(np.abs(v)))):
            return f"the velocities violate the loop constraints by {drift:.2g} m/s or rad/s"
        sizes = np.linalg.svd(self._loops.whitened(q), compute_uv=False)
        if self._rank and sizes[self._rank - 1] < SINGULAR * sizes[0]:
            return "singular configuration: the motion is not determined by the loops"
        return ""

    def _motions(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Basis of the admissible velocities, and the shortest accelerations that satisfy the constraints."""
        if not self.model.loops:
            return np.eye(self.model.nv), np.zeros(self.model.nv)
        J = self._loops.jacobian(q)
        gamma = np.array([float(row.rate) for row in self._loops.equations(q, v)])
        U, sizes, Vt = np.linalg.svd(J, full_matrices=False)
        kept = slice(self._rank)
        return directions(J, self._rank), -Vt[kept].T @ ((U[:, kept].T @ gamma) / sizes[kept])

    def _comparison(self, ours: Array, theirs: Array) -> Comparison:
        worst = int(np.argmax(np.abs(ours - theirs)))
        return Comparison(np.array(ours), np.array(theirs), self.model.joint_names[worst])


# --- states from messages ---------------------------------------------------------------------------------------------
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
    given = {"position": position, "velocity": velocity, "effort": effort if len(effort) else np.zeros(len(names))}
    for field, values in given.items():
        if len(values) != len(names):
            text = f"joint state with {len(names)} names has {len(values)} values in {field}."
            raise InputError(text, field=field, value=len(values), allowed=len(names))
    for joint in model.joint_names:
        if names.count(joint) != 1:
            text = f"joint state names joint {joint!r} of model {model.name!r} {names.count(joint)} times."
            raise InputError(text, field="name", joint=joint)
    order = [names.index(name) for name in model.joint_names]
    q, v, tau = (np.array([values[i] for i in order], dtype=np.float64) for values in given.values())
    if not np.isfinite([q, v, tau]).all():
        raise InputError("joint state has non-finite values.", field="numbers")
    return q, v, tau


# --- latest state -----------------------------------------------------------------------------------------------------
class ReceivedMessage(NamedTuple):
    """A serialized message with its arrival time."""

    at: float  # [s], steady clock
    raw: bytes


class StateComparison:
    """Compares the latest state on request.

    Messages and reports are handled by one thread, comparisons by another; shared objects are replaced as a whole.

    Attributes:
        description: latest robot description; None before the first.
        joints: latest joint state.
        oracle: both engines for the latest state; None before the first.
        problem: reason why no comparison is possible; None without one.
        counts: numbers of states by result.
    """

    def __init__(
        self,
        settings: Callable[[], OracleSettings],
        read_joints: Callable[[bytes], JointNumbers],
        clock: Callable[[], float] = SYSTEM_CLOCK,
    ) -> None:
        """Args: present settings; message decoder, which raises InputError for invalid messages; clock."""
        self._clock = clock
        self._settings, self._read_joints = settings, read_joints
        self.description: str | None = None
        self.joints: ReceivedMessage | None = None
        self.oracle: Oracle | None = None
        self.problem: str | None = None
        self.counts = {"compared": 0, "over tolerance": 0, "not comparable": 0, "refused messages": 0}
        self._text: str | None = None  # description in use
        self._model: Model | None = None
        self._seen: ReceivedMessage | None = None
        self._verdict: Verdict | None = None  # latest, and its time
        self._compared_at = -math.inf  # [s], steady clock
        self._refusal = ""  # error of the latest message; empty without one
        self._over = ""  # differences beyond the tolerances since the last report
        try:
            pinocchio()
        except AdaError as problem:
            self.problem = str(problem)
        self._has_pinocchio = self.problem is None

    # --- in the thread that compares ----------------------------------------------------------------------------
    def compare(self) -> Verdict | None:
        """Compare the latest state; None if it is not new or incomplete."""
        seen = self.joints
        self._read_description()
        if self._model is None or seen is None or self._seen is seen:
            return None
        self._seen = seen
        try:
            verdict = self._compared(self._model, seen)
        except AdaError as problem:
            self.counts["refused messages"] += 1
            self._refusal = str(problem)
            return None
        self._verdict, self._compared_at, self._refusal = verdict, self._clock(), ""
        over = self.over_tolerance(verdict)
        self._over = over or self._over
        self.counts["compared"] += 1
        self.counts["not comparable"] += bool(verdict.reason)
        self.counts["over tolerance"] += bool(over)
        return verdict

    def _read_description(self) -> None:
        """Load the model of a new description."""
        text = self.description
        if text is None or not self._has_pinocchio or text is self._text:
            return
        self._text, self.problem, self.oracle, self._verdict, self._model = text, None, None, None, None
        self._seen = None
        try:
            if not text.lstrip().startswith("<"):
                raise InputError(f"the robot description starts with {text[:40]!r}; it must be URDF text.")
            self._model = load(text, base="fixed", gravity=self._settings().gravity or None)
        except AdaError as problem:
            self.problem = str(problem)

    def _compared(self, model: Model, joints: ReceivedMessage) -> Verdict:
        if not is_described_by_joints(model):
            return Verdict({}, "this robot has joints with several coordinates, which joint states do not contain")
        q, v, tau = state_of_joints(model, *self._read_joints(joints.raw))
        if self.oracle is None:
            self.oracle = Oracle(model, self._text or "", q, self._settings().algorithm)
        return self.oracle.compare(q, v, tau)

    def over_tolerance(self, verdict: Verdict) -> str:
        """Description of differences beyond the tolerances; empty without any."""
        settings = self._settings()
        return "; ".join(
            f"{name} differ from pinocchio by {one.absolute:.3g}, most at {one.worst}"
            for name, one in verdict.quantities.items()
            if not one.is_within(settings.absolute_tolerance, settings.relative_tolerance)
        )

    # --- for the report -----------------------------------------------------------------------------------------
    def status(self) -> Status:
        """Status of the comparisons since the last report."""
        level, text = self._level()
        self._over = ""
        values: dict[str, object] = dict(self.counts)
        for name, one in self._verdict.quantities.items() if self._verdict is not None else ():
            values[f"{name}: largest difference"] = one.absolute
            values[f"{name}: largest number"] = float(np.max(np.abs(one.theirs), initial=0.0))
            values[f"{name}: joint"] = one.worst
        if self.oracle is not None:
            values |= {"robot": self.oracle.model.name, "velocities": self.oracle.model.nv}
        return Status(level, text, values)

    def _level(self) -> tuple[Level, str]:
        settings, now, verdict = self._settings(), self._clock(), self._verdict
        if self.problem is not None:
            return Level.ERROR, self.problem
        if self.description is None:
            return Level.STALE, "waiting for robot_description"
        if self.joints is None:
            return Level.STALE, "waiting for joint_states"
        if now - self.joints.at > settings.stale_after:
            return Level.STALE, f"no states for {now - self.joints.at:.1f} s"
        if self._over or self._refusal:
            return Level.WARN, self._over or self._refusal
        if verdict is None:
            return Level.STALE, "first comparison in progress, including kernel compilation"
        age = now - self._compared_at
        if age > settings.stale_after + 1.0 / settings.rate:  # after a gap in the states, or a slow comparison
            return Level.STALE, f"latest comparison is {age:.1f} s old; the next one is in progress"
        if verdict.reason:
            return Level.WARN, f"not comparable: {verdict.reason}"
        return Level.OK, "both engines agree"
