# SPDX-License-Identifier: Apache-2.0
"""Robot and virtual mechanism: the same links and joints, with additional loops."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ada_dynamics import resources
from ada_dynamics.arrays import Array
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.dynamics.closed import ClosedDynamics
from ada_dynamics.dynamics.computation import kernels_of
from ada_dynamics.errors import InputError
from ada_dynamics.model.edit import with_gravity
from ada_dynamics.model.edit.parts import Parts, has_free_root
from ada_dynamics.model.model import Model
from ada_dynamics.robots.load import with_loops


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
    def closed(self) -> ClosedDynamics:
        """Dynamics of the loops of the virtual mechanism: tree, elimination plans, analysis, solvers."""
        found = kernels_of(self.virtual_dynamics).closed
        assert found is not None
        return found

    def gap(self, q: Array) -> Array:
        """Return the closure errors of the nontrivial constraints [m, rad]."""
        return np.asarray(self.closed.violation(q)[list(self.closed.plans.nontrivial)], dtype=np.float64)


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
        text = f"{law}: loops {loops!r} and a virtual model are both given; give one of them."
        raise InputError(text, field="loops", value=loops)
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
        text = (
            f"{law}: robot {robot.name!r} floats without support, so that a mechanism without weight would need a base "
            "that does not fall. Set weight: true, so that the mechanism falls like the robot, or add loops to "
            "the world as supports."
        )
        raise InputError(text, field="weight", value=False, allowed=(True,))
    virtual = virtual if weight else with_gravity(virtual, (0.0, 0.0, 0.0))
    made = VirtualMechanism(robot, carrier, virtual, joints, base, Dynamics(carrier), Dynamics(virtual))
    if made.closed.analysis.mobility == 0:
        raise InputError(
            f"{law}: the loops ({', '.join(virtual.loop_names)}) lock robot {robot.name!r}: its mobility is 0. Check "
            "types and axes of the loops with `ada info`.",
            field="loops",
            value=virtual.loop_names,
        )
    if made.closed.plans.is_dense_only:
        text = (
            f"{law}: robot {robot.name!r} has a massless link that gets inertia from its loops only; the law "
            "requires links with mass. See `ada check` of the robot."
        )
        raise InputError(text, field="model", value=robot.name, allowed="links with mass")
    # virtual loops transmit no forces: motors have to drive all motions of the robot, except those of a floating base
    motors = [robot.v_index(name).start for name in joints]
    made.dynamics.constraints.coordinates.refuse_missing([*range(base), *motors], "motors")
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
    """Refuse models that differ in more than additional loops."""
    parts = [{n: (j.kind, j.parent, j.child) for n, j in one.joints.items()} for one in (robot, virtual)]
    other = [name for name in {**parts[0], **parts[1]} if parts[0].get(name) != parts[1].get(name)]
    missing = [name for name in robot.loops if name not in virtual.loops]
    if other or missing:
        raise InputError(
            f"{law}: the virtual model differs from robot {robot.name!r} in {', '.join([*other, *missing][:8])}; it "
            "must have the same joints and loops, and virtual loops in addition: add them by "
            "robots.load.with_loops.",
            joint=other[0] if other else None,
            loop=missing[0] if missing else None,
            field="virtual",
            value=virtual.name,
        )
