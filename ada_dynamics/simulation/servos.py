# SPDX-License-Identifier: Apache-2.0
"""Servos of a simulated robot: commanded positions and velocities, and the gains that follow them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ada_dynamics.algorithms.joint_loads import COMMAND_SIZE, Servo
from ada_dynamics.arrays import Array
from ada_dynamics.contact.material import finite_number
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import InputError, unknown_name
from ada_dynamics.model.model import motor_joints
from ada_dynamics.model.tree import Tree

Rows: TypeAlias = slice | NDArray[np.intp]
_ALL = slice(None)
BANDWIDTH = 50.0  # [rad/s]
COLUMNS = ("positions", "velocities", "efforts", "stiffness", "damping")  # of commands, as `ServoCommand` has them


@dataclass(frozen=True)
class JointServos:
    """How stiff the servos of a robot's motors are: τ = τ_ff + k (q* - q) + d (v* - v), within the effort limits.

    Attributes:
        bandwidth: frequency at which a servo swings with what it carries, where it has no stiffness of its own [rad/s].
        damping_ratio: of that swing.
        joints: (stiffness k, damping d) of joints that have their own [N m/rad, N m s/rad] or [N/m, N s/m].
    """

    bandwidth: float = BANDWIDTH
    damping_ratio: float = 1.0
    joints: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the values."""
        finite_number(self.bandwidth, "servos: bandwidth", positive=True)
        finite_number(self.damping_ratio, "servos: damping_ratio")
        for name, gains in self.joints.items():
            given: object = gains
            if not isinstance(given, Sequence) or len(given) != 2:
                raise InputError(f"servos: joint {name!r} has {given!r:.80}; give (stiffness, damping).")
            for value, what in zip(gains, ("stiffness", "damping"), strict=True):
                finite_number(value, f"servos: {what} of joint {name!r}")

    def gains(self, dynamics: Dynamics, q: Array) -> dict[str, tuple[float, float]]:
        """Stiffness and damping of all motors of a robot.

        Args:
            dynamics: of the robot.
            q: pose in which inertias are taken.

        Raises:
            InputError: a joint is unknown, or has no motor that a servo could drive.
        """
        motors = motor_joints(dynamics.model)
        for name in self.joints:
            if name not in motors:
                raise unknown_name("joint with a motor", name, motors)
        carried = _carried_inertias(dynamics, q, motors)
        made = {
            name: (self.bandwidth**2 * inertia, 2.0 * self.damping_ratio * self.bandwidth * inertia)
            for name, inertia in zip(motors, carried.tolist(), strict=True)
        }
        return {**made, **{name: (float(k), float(d)) for name, (k, d) in self.joints.items()}}


class ServoBank:
    """The servos of a simulation, and their commands; a change acts from the next step on.

    A servo without a command is limp.

    Attributes:
        names: the joints.
        stiffness: k of each while it holds a position or velocity [N m/rad] or [N/m].
        damping: d of each [N m s/rad] or [N s/m].
        limits: of their efforts.
        fastest_rate: at which a joint answers its servo [1/s].
        changes: how often they were commanded.
    """

    def __init__(self, dynamics: Dynamics, settings: JointServos, q: Array) -> None:
        """All limp.

        Args:
            dynamics: of the robot.
            settings: how stiff they are.
            q: pose in which inertias are taken.
        """
        model = dynamics.model
        gains = settings.gains(dynamics, q)
        self.names = list(gains)
        self.stiffness, self.damping = np.array(list(gains.values())).reshape(-1, 2).T.copy()
        self._row = {name: i for i, name in enumerate(self.names)}
        self.q_index = np.array([model.q_index(name).start for name in self.names], dtype=np.intp)
        self.v_index = np.array([model.v_index(name).start for name in self.names], dtype=np.intp)
        self.limits = model.effort_limit[self.v_index]
        self.fastest_rate = self._fastest_rate(dynamics, q)
        self._table = np.zeros((len(self.names), COMMAND_SIZE))
        self.changes = 0

    def _fastest_rate(self, dynamics: Dynamics, q: Array) -> float:
        """Of joints that swing or creep in their servos, all others free [1/s]."""
        inertia = _free_inertias(dynamics, q, self.v_index)
        rates = np.maximum(self.damping / inertia, np.sqrt(self.stiffness / inertia))
        return float(np.max(rates, initial=0.0, where=np.isfinite(rates)))

    def resolve(self, tree: Tree) -> tuple[Servo, ...]:
        """The servos as `algorithms.joint_loads` takes them."""
        bodies = {body.name: body.index for body in tree.bodies}
        return tuple(Servo(bodies[name], float(limit)) for name, limit in zip(self.names, self.limits, strict=True))

    # --- commands -----------------------------------------------------------------------------------------------
    @property
    def commands(self) -> Array:
        """`ServoCommand`s of all, one after another."""
        return self._table.ravel().copy()

    def rows(self, names: Iterable[str]) -> NDArray[np.intp]:
        """Where joints are in the arrays of this bank."""
        try:
            return np.array([self._row[name] for name in names], dtype=np.intp)
        except KeyError as problem:
            raise unknown_name("joint with a servo", problem.args[0], self.names) from None

    def hold(
        self, positions: ArrayLike, velocities: ArrayLike = 0.0, efforts: ArrayLike = 0.0, rows: Rows = _ALL
    ) -> None:
        """Pull joints to positions that move with velocities, with efforts on top.

        Args:
            positions: one for all these joints, or as many as there are.
            velocities: likewise.
            efforts: likewise.
            rows: the joints, see `rows`; all by default.
        """
        self._set(rows, positions, velocities, efforts, self.stiffness[rows], self.damping[rows])

    def drive(self, efforts: ArrayLike, rows: Rows = _ALL) -> None:
        """Give joints efforts, within their limits, whatever they do."""
        self._set(rows, 0.0, 0.0, efforts, 0.0, 0.0)

    def release(self, rows: Rows = _ALL) -> None:
        """Let joints go."""
        self._set(rows, 0.0, 0.0, 0.0, 0.0, 0.0)

    def _set(self, rows: Rows, *columns: ArrayLike) -> None:
        command = self._table[rows].copy()
        for i, (name, values) in enumerate(zip(COLUMNS, columns, strict=True)):
            command[:, i] = _for_each(name, values, len(command))
        if not np.isfinite(command).all():
            joint = np.array(self.names)[rows][~np.isfinite(command).all(axis=1)][0]
            value = command[~np.isfinite(command)][0]
            raise InputError(f"the servo of joint {joint!s} was commanded {value}; it must be finite.")
        self._table[rows] = command
        self.changes += 1


def _for_each(name: str, values: ArrayLike, count: int) -> Array:
    """One number for all of so many joints, or one for each."""
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} are {values!r:.80}; they must be numbers.") from None
    if found.shape not in ((), (count,)):
        raise InputError(
            f"{name} have shape {found.shape}; give one number for all, or one for each of these joints, ({count},)."
        )
    return found


def _carried_inertias(dynamics: Dynamics, q: Array, motors: Sequence[str]) -> Array:
    """Inertia at each motor: alone with its branch, through the loops, or with the robot that stands on it."""
    model = dynamics.model
    at = np.array([model.v_index(name).start for name in motors], dtype=np.intp)
    if not len(at):
        return np.zeros(0)
    M = dynamics.mass_matrix(q)
    carried = np.diag(M)[at].copy()
    if model.loops:
        carried = np.maximum(carried, _free_inertias(dynamics, q, at))
    if model.floating_joint:  # the rest of the robot as a point at its centre of mass
        com = dynamics.com(q)
        for i, name in enumerate(motors):
            if model.joints[name].type.turns():
                arm = com - dynamics.pose(model.joints[name].child, q)[:3, 3]
                carried[i] += model.total_mass * float(arm @ arm)
            else:
                carried[i] += model.total_mass
    return carried


def _free_inertias(dynamics: Dynamics, q: Array, at: NDArray[np.intp]) -> Array:
    """1 / (∂a_j/∂τ_j), all other motors free."""
    model = dynamics.model
    rest = np.zeros(model.nv)
    free = dynamics.forward(q, rest, rest)
    found = []
    for j in at.tolist():
        unit = np.zeros(model.nv)
        unit[j] = 1.0
        gain = float((dynamics.forward(q, rest, unit) - free)[j])
        found.append(1.0 / gain if gain > 0.0 else 0.0)
    return np.array(found)
