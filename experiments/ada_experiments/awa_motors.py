# SPDX-License-Identifier: Apache-2.0
"""Awa 2009, sec. 3.1 and tables 3 and 6: a robot as chains of motors that start at its body.

Motor n rotates about an axis at the tip of motor n-1, and motor n+1 is attached at its tip. Fixed joints and the body
are motors without motion.
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

# Table 4: masses [kg] and dimensions [m]; x forward, y to the left, z along the limb.
MOTOR, SOLE, BOARD = (0.045, (0.021, 0.035, 0.041)), (0.002, (0.080, 0.045, 0.001)), (0.025, (0.035, 0.070, 0.045))
WORLD = -1  # parent of the body


@dataclass(frozen=True, eq=False)
class Motor:
    """A motor with the parts fixed to it.

    Attributes:
        name: joint name; for the body its link name.
        link: moved link.
        parent: index of the parent motor; WORLD for the body, which carries frame 0 of the paper.
        held: orientation at angle zero relative to the parent.
        axis: a_n in motor axes.
        root: point of the axis in the tip frame of the parent [m]; nonzero only for first motors of branches.
        tip: vector from there to the tip in motor axes, l_n [m].
        com: vector from there to the centre of mass in motor axes [m].
        mass: m_n [kg].
        inertia: inertia about the centre of mass in motor axes [kg m²].
        column: column of its angle among the joints of the model; None for a fixed motor.
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
    """The body and the motors, ordered so that each follows its parent; the floating-base joint is omitted.

    The tip of a motor is the first joint on its link; for a terminal link its origin.

    Raises:
        InputError: the model has loops, or joints other than revolute and fixed ones.
    """
    if model.loops:
        raise InputError(f"model {model.name!r} has loops, which Awa 2009 does not support.", field="loops")
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
    """Column of each revolute joint in a table of joint angles, in the order of the model."""
    turning = [name for name in model.joint_names if model.joints[name].type.turns()]
    return {name: i for i, name in enumerate(turning)}


def paper_robot(model: Model) -> Model:
    """Copy of the robot with the masses of table 4.

    Each link moved by a joint contains a motor; soles and one board in the body are added. The centre of mass is in the
    middle of each link (sec. 4.1); for terminal links that of the description is kept. Moments of inertia follow eq.
    39.
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
