# SPDX-License-Identifier: Apache-2.0
"""Robot and virtual mechanism: the same links and joints, with additional loops."""

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

_DRIVEN = 1e-8  # minimum relative singular value of the motors' effect on the motions


@dataclass(frozen=True, eq=False)
class VirtualMechanism:
    """Robot, and the same robot with virtual loops.

    Attributes:
        robot: robot model.
        carrier: robot with all loops that transmit forces: its own, and those between a floating robot and the world.
        virtual: robot with virtual loops, possibly without gravity.
        joints: actuated joints of the robot, with references.
        base: number of velocities of a floating base, which are the first ones; 0 for a fixed or supported base.
        dynamics: dynamics of the carrier.
        virtual_dynamics: dynamics of the virtual mechanism.
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
        """Tree of the mechanism with its loops, as used by the plans."""
        return self._closed.tree

    @property
    def plans(self) -> EliminationPlans:
        """Elimination plans of the loops."""
        return self._closed.plans

    @property
    def analysis(self) -> ConstraintAnalysis:
        """Analysis of the loop constraints."""
        return self._closed.analysis

    @property
    def weights(self) -> Array:
        """Scale factors that convert the nontrivial constraints to lengths."""
        return np.asarray(self.analysis.constraints.weights[list(self.plans.nontrivial)], dtype=np.float64)

    def gap(self, q: Array) -> Array:
        """Return the closure errors of the nontrivial constraints [m, rad]."""
        return np.asarray(self._closed.violation(q)[list(self.plans.nontrivial)], dtype=np.float64)

    @property
    def _closed(self) -> ClosedDynamics:
        found = kernels_of(self.virtual_dynamics).closed
        assert found is not None
        return found


def virtual_mechanism(
    law: str, robot: Model, joints: tuple[str, ...], loops: str, virtual: Model | None, weight: bool
) -> VirtualMechanism:
    """Create the mechanism of a robot and its virtual loops.

    Args:
        law: name of the controller for messages.
        robot: robot model with a fixed or floating base, with or without loops.
        joints: actuated joints.
        loops: file of the virtual loops, as given or below config/; empty for none.
        virtual: robot model with virtual loops, instead of a file.
        weight: whether gravity acts on the mechanism.

    Raises:
        InputError: if there are no loops, the models differ in more than loops, or the motors cannot move the robot
            like the mechanism.
    """
    if virtual is None:
        virtual = with_loops(robot, _path(law, loops)) if loops else robot
    elif loops:
        raise InputError(
            f"{law}: loops {loops!r} and a virtual model are both given; give one of them.",
            field="loops",
            value=loops,
        )
    if not virtual.loops:
        raise InputError(
            f"{law}: robot {robot.name!r} has no loops, and none are given: no closed chain exists. "
            "Set loops to a file of virtual loops, such as loops/parallel_four_bar.yaml for planar_4r.",
            field="loops",
            value="",
        )
    _refuse_other_robot(law, robot, virtual)
    carrier = _carrier(robot, virtual)
    base = robot.joints[robot.joint_names[0]].nv if has_free_root(robot) and not carrier.tree.grounded_loops else 0
    if base and any(robot.gravity) and not weight:
        raise InputError(
            f"{law}: robot {robot.name!r} floats without support, so that a mechanism without weight would need a base "
            "that does not fall. Set weight: true, so that the mechanism falls like the robot, or add loops to "
            "the world as supports.",
            field="weight",
            value=False,
            allowed=(True,),
        )
    virtual = virtual if weight else with_gravity(virtual, (0.0, 0.0, 0.0))
    made = VirtualMechanism(robot, carrier, virtual, joints, base, Dynamics(carrier), Dynamics(virtual))
    if made.analysis.mobility == 0:
        raise InputError(
            f"{law}: the loops ({', '.join(virtual.loop_names)}) lock robot {robot.name!r}: its mobility is 0. Check "
            "types and axes of the loops with `ada info`.",
            field="loops",
            value=virtual.loop_names,
        )
    if made.plans.is_dense_only:
        raise InputError(
            f"{law}: robot {robot.name!r} has a massless link that gets inertia from its loops only; the law "
            "requires links with mass. See `ada check` of the robot.",
            field="model",
            value=robot.name,
            allowed="links with mass",
        )
    _refuse_too_few_motors(law, made)
    return made


def _carrier(robot: Model, virtual: Model) -> Model:
    """Return the robot with the loops that transmit forces.

    Virtual loops transmit none: motors replace them. Loops that join a floating robot to the world are contacts, whose
    forces the environment exerts, because no motor acts on the base.
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
            f"{law}: loops file {loops!r} not found. {problem}", field="loops", value=loops, file=loops
        ) from None


def _refuse_other_robot(law: str, robot: Model, virtual: Model) -> None:
    """Refuse models that differ in more than loops."""
    if robot.joint_names != virtual.joint_names:
        raise InputError(
            f"{law}: the virtual model has the joints {', '.join(virtual.joint_names)} and robot {robot.name!r} has "
            f"{', '.join(robot.joint_names)}; they must be equal: add loops with model.edit.with_loops.",
            field="virtual",
            value=tuple(virtual.joint_names),
            allowed=tuple(robot.joint_names),
        )
    for name, joint in robot.joints.items():
        other = virtual.joints.get(name)
        if other is None or (other.kind, other.parent, other.child) != (joint.kind, joint.parent, joint.child):
            raise InputError(
                f"{law}: joint {name!r} of the virtual model differs from that of robot {robot.name!r}.",
                joint=name,
                field="virtual",
            )
    for loop in robot.loops:
        if loop not in virtual.loops:
            raise InputError(
                f"{law}: the virtual model lacks the loop {loop!r} of robot {robot.name!r}.", loop=loop, field="virtual"
            )


def _refuse_too_few_motors(law: str, made: VirtualMechanism) -> None:
    """Refuse motors that do not drive all motions of the robot, except those of a floating base."""
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
        f"{law}: robot {robot.name!r} has mobility {motions.shape[1]}, and its motors ({', '.join(made.joints)}) "
        f"drive {rank} of them. The motion of {', '.join(idle[:8])} is not actuated, and virtual loops transmit no "
        "forces: add motors to these joints.",
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
    """Check the name of a link.

    Raises:
        InputError: if it is unknown.
    """
    if link not in model.links:
        raise unknown_name("link", link, model.links)
    return link
