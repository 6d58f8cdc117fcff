# SPDX-License-Identifier: Apache-2.0
"""Awa 2009, sec. 3.1 and tables 3 and 6: a robot as chains of motors that start at its body.

Motor n turns about an axis at the tip of motor n-1, and its own tip is where motor n+1 is held. A joint that does not
move is a motor that stands still, and so is the body, the first of them all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_dynamics.model.edit.parts import Parts
from ada_dynamics.model.elements import Joint
from ada_dynamics.model.joints import Fixed, Revolute
from ada_dynamics.model.model import Model

# Table 4: masses [kg] and sizes [m]; x forward, y to the left, z along the limb.
MOTOR, SOLE, BOARD = (0.045, (0.021, 0.035, 0.041)), (0.002, (0.080, 0.045, 0.001)), (0.025, (0.035, 0.070, 0.045))
WORLD = -1  # parent of the body


@dataclass(frozen=True, eq=False)
class Motor:
    """A motor with what is fixed to it.

    Attributes:
        name: of its joint; of the body, that of its link.
        link: that it moves.
        parent: index of the motor that holds it; WORLD of the body, which frame 0 of the paper goes with.
        held: orientation of its axes at angle zero, in the axes of its parent.
        axis: a_n, in its own axes.
        root: point of the axis in the frame at the parent's tip [m]; zero but for the first motors of branches.
        tip: from there to its tip, in its own axes: l_n [m].
        com: from there to its centre of mass, likewise [m].
        mass: m_n [kg].
        inertia: about the centre of mass, in its own axes [kg m²].
        column: of its angle among those of the model's joints, or None where it stands still.
    """

    name: str
    link: str
    parent: int
    held: Array
    axis: Array
    root: Array
    tip: Array
    com: Array
    mass: float
    inertia: Array
    column: int | None


def motors_of(model: Model) -> list[Motor]:
    """The body, and then the motors, each after the one that holds it; the joint of a floating base is left out.

    The tip of a motor is where the first joint on its link is, and the origin of a link that carries nothing.

    Raises:
        InputError: the model has loops, or joints that are not of one turn.
    """
    if model.loops:
        raise InputError(f"model {model.name!r} has loops; the chains of Awa 2009 have none.", field="loops")
    joints = [joint for joint in model.joints.values() if not joint.type.leaves_free()]
    for joint in joints:
        if joint.type.moves_as not in (Revolute.kind, Fixed.kind) or joint.mimic is not None:
            what = "mimics another" if joint.mimic is not None else f"is {joint.kind}"
            text = (
                f"model {model.name!r}: joint {joint.name!r} {what}; the motors of Awa 2009 are revolute, continuous "
                "or fixed joints."
            )
            raise InputError(text, joint=joint.name, value=joint.kind)
    tips = {joint.parent: joint.xyz for joint in reversed(joints)} | {model.root: np.zeros(3)}
    columns = angle_columns(model)
    body = Joint(model.root, Fixed.kind, "", model.root)
    indices = {joint.child: i for i, joint in enumerate([body, *joints])}
    found = []
    for joint in [body, *joints]:
        link = model.links[joint.child]
        found.append(
            Motor(
                name=joint.name,
                link=link.name,
                parent=indices.get(joint.parent, WORLD),
                held=joint.rotation,
                axis=joint.axis,
                root=joint.xyz - tips.get(joint.parent, np.zeros(3)),
                tip=tips.get(joint.child, np.zeros(3)),
                com=link.com,
                mass=link.mass,
                inertia=link.inertia,
                column=columns.get(joint.name),
            )
        )
    return found


def angle_columns(model: Model) -> dict[str, int]:
    """Column of each turning joint in a table of joint angles: the order of the model's joints."""
    turning = [name for name in model.joint_names if model.joints[name].type.turns()]
    return {name: i for i, name in enumerate(turning)}


def paper_robot(model: Model) -> Model:
    """The robot with the masses of table 4: a motor in each link that a joint turns, soles, and one board in the body.

    The centre of mass is at half of each link (sec. 4.1); of links that carry nothing further, where the description
    has it. Moments of inertia are those of eq. 39.
    """
    parts = Parts.of(model)
    for motor in motors_of(model):
        if motor.column is not None:
            mass, size = MOTOR
        else:
            mass, size = SOLE if motor.link.endswith("sole") else BOARD
        com = 0.5 * motor.tip if np.any(motor.tip) else motor.com
        link = parts.links[motor.link]
        parts.links[motor.link] = replace(link, mass=mass, com=com, inertia=_box(mass, *size))
    return parts.build()


def _box(mass: float, x: float, y: float, z: float) -> Array:
    """Eq. 39."""
    return np.asarray(mass / 12.0 * np.diag([y * y + z * z, x * x + z * z, x * x + y * y]))
