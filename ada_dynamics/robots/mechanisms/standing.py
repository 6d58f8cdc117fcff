# SPDX-License-Identifier: Apache-2.0
"""HOAP-2 on both feet: the robot of Takahashi 2012, sec. 6.3, whose feet do not leave the ground."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ada_dynamics.model.edit.parts import Parts
from ada_dynamics.model.edit.poses import link_poses
from ada_dynamics.model.edit.recut import recut
from ada_dynamics.model.edit.small import remove_loop
from ada_dynamics.model.elements import Joint, Link, LoopJoint
from ada_dynamics.robots.mechanisms.geometry import turned_y
from ada_dynamics.robots.mechanisms.parts import Mechanism

GROUND = "ground"
RIGHT_FOOT, LEFT_FOOT = "right_foot_fixed", "left_foot_fixed"
_HELD = "waist_held"


def hoap2_standing(
    *, left_shoulder: float = 0.0, left_elbow: float = 0.0, rotors: bool = False, name: str = "hoap2_standing"
) -> Mechanism:
    """HOAP-2 with hips and ankles (`hoap2_10dof`) on a link `ground`, whose origin is midway between the soles.

    The right sole carries the robot: `right_foot_fixed` joins it to the ground, and the joints of the right leg are
    turned round, so that their angles mean what they mean in `hoap2_10dof`. The loop `left_foot_fixed` joins the left
    sole to the ground. Ten motors, four motions: the waist moves forward and sideways, and turns about y and z.
    Eq. 6.1 has no rotors, so this robot has none, unlike `hoap2_10dof`.

    Args:
        left_shoulder: angle by which the rigid left arm is raised forward [rad]; 60 deg in fig. 6.5 (b).
        left_elbow: angle by which it is bent [rad]; 60 deg there.
        rotors: whether the joints have the rotor inertia of `hoap2_10dof`.
        name: of the model.
    """
    from ada_dynamics.robots.load import load  # which looks for names in the catalogue, and so for this function

    parts = Parts.of(load("hoap2_10dof", base="fixed"))
    for joint, angle in (("left_shoulder_pitch", left_shoulder), ("left_elbow", left_elbow)):
        parts.joints[joint] = replace(parts.joints[joint], rotation=turned_y(-angle))
    if not rotors:
        parts.joints = {name: replace(joint, armature=0.0) for name, joint in parts.joints.items()}
    poses = link_poses(parts.build(), np.zeros(10))
    soles = {sole: poses[sole][1] for sole in ("right_sole", "left_sole")}
    middle = 0.5 * (soles["right_sole"] + soles["left_sole"])
    parts.name, parts.root = name, GROUND
    parts.links = {GROUND: Link(GROUND, has_inertial=False), **parts.links}
    parts.joints = {_HELD: Joint(_HELD, "fixed", GROUND, "waist", -middle), **parts.joints}
    for loop, sole in ((RIGHT_FOOT, "right_sole"), (LEFT_FOOT, "left_sole")):
        parts.loops[loop] = LoopJoint(loop, "fixed", GROUND, sole, soles[sole] - middle)
    model, q = recut(parts.build(), np.zeros(10), RIGHT_FOOT, _HELD)
    return Mechanism(remove_loop(model, _HELD), q)


def hoap2_reaching(*, rotors: bool = False) -> Mechanism:
    """The same with its left arm raised and bent, as before the door of fig. 6.5 (b)."""
    return hoap2_standing(left_shoulder=np.pi / 3.0, left_elbow=np.pi / 3.0, rotors=rotors, name="hoap2_reaching")
