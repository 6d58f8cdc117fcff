# SPDX-License-Identifier: Apache-2.0
"""A robot and the mechanism that it is to be controlled as: the same links and joints, with virtual loops on top."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ada_dynamics import resources
from ada_dynamics.arrays import Array
from ada_dynamics.constraints.analysis import ConstraintAnalysis
from ada_dynamics.constraints.elimination import EliminationPlans
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.dynamics.closed import ClosedDynamics
from ada_dynamics.dynamics.computation import kernels_of
from ada_dynamics.errors import InputError, unknown_name
from ada_dynamics.model.edit import with_gravity
from ada_dynamics.model.edit.parts import Parts, has_free_root
from ada_dynamics.model.model import Model
from ada_dynamics.model.tree import Tree
from ada_dynamics.robots.load import with_loops

_DRIVEN = 1e-8  # singular values of what motors do to the motions, by the largest, that count


@dataclass(frozen=True, eq=False)
class VirtualMechanism:
    """A robot, and itself with virtual loops.

    Attributes:
        robot: as it is.
        carrier: the robot with all loops that have forces: its own, and those of a floating one to ground and walls.
        virtual: the robot with virtual loops, and without weight where the mechanism is to have none.
        joints: of the robot, that have motors and take references.
        base: velocities of a base that floats freely, which come first; 0 for one that is fixed or carried.
        dynamics: of the carrier.
        virtual_dynamics: of the mechanism.
    """

    robot: Model
    carrier: Model
    virtual: Model
    joints: tuple[str, ...]
    base: int
    dynamics: Dynamics
    virtual_dynamics: Dynamics

    @property
    def tree(self) -> Tree:
        """The mechanism with its loops, as its plans have it."""
        return self._closed.tree

    @property
    def plans(self) -> EliminationPlans:
        """How the loops are eliminated."""
        return self._closed.plans

    @property
    def analysis(self) -> ConstraintAnalysis:
        """Analysis of the loop constraints."""
        return self._closed.analysis

    @property
    def weights(self) -> Array:
        """Factors that turn the conditions in use into lengths."""
        return np.asarray(self.analysis.constraints.weights[list(self.plans.nontrivial)], dtype=np.float64)

    def gap(self, q: Array) -> Array:
        """Gaps of the conditions in use [m, rad]."""
        return np.asarray(self._closed.gaps(q)[list(self.plans.nontrivial)], dtype=np.float64)

    @property
    def _closed(self) -> ClosedDynamics:
        found = kernels_of(self.virtual_dynamics).closed
        assert found is not None
        return found


def virtual_mechanism(
    law: str, robot: Model, joints: tuple[str, ...], loops: str, virtual: Model | None, weight: bool
) -> VirtualMechanism:
    """The mechanism of a robot and its virtual loops.

    Args:
        law: for messages.
        robot: fixed or floating, with loops of its own or without.
        joints: that have motors.
        loops: file with the virtual loops, as given or below config/; empty: none.
        virtual: the robot with virtual loops, instead of a file.
        weight: whether the mechanism falls.

    Raises:
        InputError: there are no loops, the two differ in more than loops, or the motors cannot move the robot as the
            mechanism moves; the message says why.
    """
    if virtual is None:
        virtual = with_loops(robot, _path(law, loops)) if loops else robot
    elif loops:
        raise InputError(
            f"{law}: loops is {loops!r}, and a virtual model is given too; give one of them.",
            field="loops",
            value=loops,
        )
    if not virtual.loops:
        raise InputError(
            f"{law}: robot {robot.name!r} has no loops, and none are given: there is no closed chain to be controlled "
            "as. Set loops to a file of virtual loops, such as loops/parallel_four_bar.yaml for planar_4r.",
            field="loops",
            value="",
        )
    _refuse_other_robot(law, robot, virtual)
    carrier = _carrier(robot, virtual)
    base = robot.joints[robot.joint_names[0]].nv if has_free_root(robot) and not carrier.tree.grounded_loops else 0
    if base and any(robot.gravity) and not weight:
        raise InputError(
            f"{law}: robot {robot.name!r} floats, and nothing carries it: a mechanism without weight would need a base "
            "that does not fall. Set weight: true, so that the mechanism falls as the robot does, or say by loops to "
            "the world where it stands.",
            field="weight",
            value=False,
            allowed=(True,),
        )
    virtual = virtual if weight else with_gravity(virtual, (0.0, 0.0, 0.0))
    made = VirtualMechanism(robot, carrier, virtual, joints, base, Dynamics(carrier), Dynamics(virtual))
    if made.analysis.mobility == 0:
        raise InputError(
            f"{law}: the loops ({', '.join(virtual.loop_names)}) leave robot {robot.name!r} no motion. Check their "
            "types and axes with `ada info`.",
            field="loops",
            value=virtual.loop_names,
        )
    if made.plans.is_dense_only:
        raise InputError(
            f"{law}: nothing but its loops gives some link of robot {robot.name!r} its inertia; the law needs links "
            "with mass. Look at `ada check` of the robot.",
            field="model",
            value=robot.name,
            allowed="links with mass",
        )
    _refuse_too_few_motors(law, made)
    return made


def _carrier(robot: Model, virtual: Model) -> Model:
    """The robot with the loops that have forces.

    Virtual loops have none of their own: motors do what they would. Those that join a floating robot to the world are
    where it stands, leans or holds on; there ground and walls have them, for no motor acts on its base.
    """
    parts = Parts.of(robot)
    if has_free_root(robot):
        parts.loops |= {name: virtual.loops[name] for name in virtual.tree.grounded_loops}
    return parts.build() if len(parts.loops) > len(robot.loops) else robot


def _path(law: str, loops: str) -> str:
    if Path(loops).is_file():
        return loops
    try:
        return str(resources.find("config", loops))
    except InputError as problem:
        raise InputError(
            f"{law}: loops is {loops!r}; there is no such file. {problem}", field="loops", value=loops, file=loops
        ) from None


def _refuse_other_robot(law: str, robot: Model, virtual: Model) -> None:
    """Loops are all that the two may differ in."""
    if robot.joint_names != virtual.joint_names:
        raise InputError(
            f"{law}: the virtual model has the joints {', '.join(virtual.joint_names)} and robot {robot.name!r} has "
            f"{', '.join(robot.joint_names)}; they must be the same ones: add loops with model.edit.with_loops.",
            field="virtual",
            value=tuple(virtual.joint_names),
            allowed=tuple(robot.joint_names),
        )
    for name, joint in robot.joints.items():
        other = virtual.joints.get(name)
        if other is None or (other.kind, other.parent, other.child) != (joint.kind, joint.parent, joint.child):
            raise InputError(
                f"{law}: joint {name!r} is another one in the virtual model than in robot {robot.name!r}.",
                joint=name,
                field="virtual",
            )
    for loop in robot.loops:
        if loop not in virtual.loops:
            raise InputError(
                f"{law}: the virtual model lacks the loop {loop!r} of robot {robot.name!r}.", loop=loop, field="virtual"
            )


def _refuse_too_few_motors(law: str, made: VirtualMechanism) -> None:
    """Refuse motors that do not drive all motions of the robot, except the fall and flight of a free base."""
    robot, numbers = made.robot, made.analysis.constraints
    q = made.analysis.configurations[0]
    own = [i for i, (loop, _, _) in enumerate(numbers.rows) if loop in made.carrier.loops]
    J = numbers.jacobian(q) / numbers.weights[:, None]
    motors = [robot.v_index(name).start for name in made.joints]
    motions = _null_space(J[own]) if own else np.eye(robot.nv)
    done = np.linalg.svd(motions[motors], compute_uv=False) if motors else np.zeros(0)
    rank = int(np.sum(done > _DRIVEN * max(float(np.max(done, initial=0.0)), 1e-300)))
    if motions.shape[1] - rank - made.base <= 0:
        return
    undriven = _null_space(motions[motors])
    moved = np.abs(motions @ undriven).max(axis=1)
    idle = [n for n in robot.joint_names if moved[robot.v_index(n)].max() > 0.1 * moved.max()]
    raise InputError(
        f"{law}: robot {robot.name!r} can move in {motions.shape[1]} ways, and its motors ({', '.join(made.joints)}) "
        f"drive {rank} of them. Nothing drives the motion of {', '.join(idle[:8])}: virtual loops have no forces of "
        "their own, so the robot needs motors there.",
        joint=idle[0],
        field="motors",
        value=rank,
        allowed=motions.shape[1],
    )


def _null_space(J: Array) -> Array:
    _, s, Vt = np.linalg.svd(J)
    rank = int(np.sum(s > _DRIVEN * max(float(np.max(s, initial=0.0)), 1e-300)))
    return np.asarray(Vt[rank:].T, dtype=np.float64)


def link_of(law: str, model: Model, link: str) -> str:
    """A link's name, checked.

    Raises:
        InputError: there is none of that name.
    """
    if link not in model.links:
        raise unknown_name("link", link, model.links)
    return link
