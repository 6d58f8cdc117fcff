# SPDX-License-Identifier: Apache-2.0
"""Joint servos of a simulated robot: position and velocity commands, and feedback gains."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ada_dynamics.algorithms.joint_loads import COMMAND_SIZE, Servo
from ada_dynamics.arrays import Array
from ada_dynamics.contact.geometry import finite_number
from ada_dynamics.contact.stops import free_inertias, mobility_matrix
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import invalid, unknown_name
from ada_dynamics.model.model import motor_joints
from ada_dynamics.model.tree import Tree
from ada_dynamics.simulation.options import finite_array

Rows: TypeAlias = slice | NDArray[np.intp]
_ALL = slice(None)
BANDWIDTH = 50.0  # [rad/s]
COLUMNS = ("positions", "velocities", "efforts", "stiffness", "damping")  # of a `ServoCommand`


@dataclass(frozen=True)
class JointServos:
    """Gains of the servos of all actuated joints: τ = τ_ff + k (q* - q) + d (v* - v), within the effort limits.

    Attributes:
        bandwidth: natural frequency of a joint with its load, for joints without a stiffness in `joints` [rad/s].
        damping_ratio: damping ratio of these joints.
        joints: (stiffness k, damping d) by joint [N m/rad, N m s/rad] or [N/m, N s/m].
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
                raise invalid(f"joint {name!r}", given, "(stiffness, damping)", "servos: ", joint=name)
            for value, what in zip(gains, ("stiffness", "damping"), strict=True):
                finite_number(value, f"servos: {what} of joint {name!r}")


class ServoBank:
    """Servos of a simulation with their commands; a command acts from the next step on.

    A servo without a command applies no torque.

    Attributes:
        names: names of the joints.
        stiffness: k of each joint in position or velocity control [N m/rad] or [N/m].
        damping: d of each joint [N m s/rad] or [N s/m].
        limits: effort limits.
        fastest_rate: fastest oscillation or decay of a joint in its servo [1/s].
        changes: number of commands.
    """

    def __init__(self, dynamics: Dynamics, settings: JointServos, q: Array) -> None:
        """Initialize the servos without commands.

        Args:
            dynamics: dynamics of the robot.
            settings: gains.
            q: configuration at which inertias are evaluated.

        Raises:
            InputError: a joint of the settings is unknown or is not actuated.
        """
        model = dynamics.model
        self.names = list(motor_joints(model))
        self._row = {name: i for i, name in enumerate(self.names)}
        self.q_index = np.array([model.q_index(name).start for name in self.names], dtype=np.intp)
        self.v_index = np.array([model.v_index(name).start for name in self.names], dtype=np.intp)
        self.limits = model.effort_limit[self.v_index]
        inertia, carried = _motor_inertias(dynamics, q, self.v_index)
        self.stiffness = settings.bandwidth**2 * carried
        self.damping = 2.0 * settings.damping_ratio * settings.bandwidth * carried
        rows = self.rows(settings.joints)
        self.stiffness[rows], self.damping[rows] = np.reshape([*settings.joints.values()], (-1, 2)).T
        rates = np.maximum(self.damping / inertia, np.sqrt(self.stiffness / inertia))
        self.fastest_rate = float(np.max(rates, initial=0.0, where=np.isfinite(rates)))
        self._table = np.zeros((len(self.names), COMMAND_SIZE))
        self.changes = 0

    def resolve(self, tree: Tree) -> tuple[Servo, ...]:
        """Return the servos for `algorithms.joint_loads`."""
        bodies = {body.name: body.index for body in tree.bodies}
        return tuple(Servo(bodies[name], float(limit)) for name, limit in zip(self.names, self.limits, strict=True))

    # --- commands -----------------------------------------------------------------------------------------------
    @property
    def commands(self) -> Array:
        """Commands of all servos, concatenated, see `ServoCommand`."""
        return self._table.ravel().copy()

    def rows(self, names: Iterable[str]) -> NDArray[np.intp]:
        """Return the indices of joints in the arrays of this object."""
        try:
            return np.array([self._row[name] for name in names], dtype=np.intp)
        except KeyError as problem:
            raise unknown_name("joint with a motor", problem.args[0], self.names) from None

    def hold(
        self, positions: ArrayLike, velocities: ArrayLike = 0.0, efforts: ArrayLike = 0.0, rows: Rows = _ALL
    ) -> None:
        """Command positions and velocities with feedforward torques.

        Args:
            positions: one position for all joints, or one per joint.
            velocities: velocities, likewise.
            efforts: feedforward torques, likewise.
            rows: indices of the joints, see `rows`; all by default.
        """
        self._set(rows, positions, velocities, efforts, self.stiffness[rows], self.damping[rows])

    def drive(self, efforts: ArrayLike, rows: Rows = _ALL) -> None:
        """Command torques without feedback, within the effort limits."""
        self._set(rows, 0.0, 0.0, efforts, 0.0, 0.0)

    def release(self, rows: Rows = _ALL) -> None:
        """Remove the commands of joints."""
        self._set(rows, 0.0, 0.0, 0.0, 0.0, 0.0)

    def _set(self, rows: Rows, *columns: ArrayLike) -> None:
        command = self._table[rows].copy()
        for i, (name, values) in enumerate(zip(COLUMNS, columns, strict=True)):
            command[:, i] = finite_array(name, values, (), (len(command),), where="servo command: ")
        self._table[rows] = command
        self.changes += 1


def _motor_inertias(dynamics: Dynamics, q: Array, v_index: NDArray[np.intp]) -> tuple[Array, Array]:
    """Inertias at each motor through the loops: with the other motors free, and with them at rest.

    The latter include a floating robot. Under-actuated, they are at least those of the branch, as springs can hold it.
    """
    model = dynamics.model
    M = dynamics.mass_matrix(q)
    branch = np.diag(M)[v_index]
    if model.loops:
        mobility = mobility_matrix(model, q)
        motors = mobility[np.ix_(v_index, v_index)]
        free = 1.0 / np.maximum(np.diag(motors), 1.0 / np.trace(M))
        carried = np.maximum(np.diag(np.linalg.pinv(motors, rcond=1e-12, hermitian=True)), free)
        if np.linalg.matrix_rank(motors, hermitian=True) < np.linalg.matrix_rank(mobility, hermitian=True):
            carried = np.maximum(carried, branch)
    else:
        free, carried = free_inertias(model, q)[v_index], branch.copy()
    if model.floating_joint:  # a point mass at the centre of mass of the robot
        com = dynamics.com(q)
        for i, name in enumerate(motor_joints(model)):
            if model.joints[name].type.turns():
                arm = com - dynamics.pose(model.joints[name].child, q)[:3, 3]
                carried[i] += model.total_mass * float(arm @ arm)
            else:
                carried[i] += model.total_mass
    return free, carried
