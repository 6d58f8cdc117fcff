# SPDX-License-Identifier: Apache-2.0
"""Joints of MJCF: a body has any number of them in series, at any points.

Each becomes a joint with a link at its anchor; the last one carries the body's frame.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from ada_dynamics.algorithms.crba import mass_matrix
from ada_dynamics.arrays import Array
from ada_dynamics.model.description import Description
from ada_dynamics.model.elements import Joint, Limits, Link
from ada_dynamics.model.problems import Problem, Sink
from ada_dynamics.model.rotations import NO_MOVE, UNIT, Pose, about, compose, turned
from ada_dynamics.robots.readers.description_builder import DescriptionBuilder
from ada_dynamics.robots.readers.mjcf.values import MjcfValues
from ada_dynamics.robots.readers.values import JointKindTable, Refused
from ada_dynamics.spatial.orientation import to_quaternion

# Universal and cylindrical joints are two joints of MuJoCo in series, with the same coordinates.
KINDS = JointKindTable[tuple[str, ...]](
    "MJCF",
    {
        "revolute": ("hinge",),
        "continuous": ("hinge",),
        "prismatic": ("slide",),
        "spherical": ("ball",),
        "floating": ("free",),
        "universal": ("hinge", "hinge"),
        "cylindrical": ("slide", "hinge"),
        "fixed": (),
        "helical": Refused("MuJoCo has no screw; write the model as SDFormat."),
        "planar": Refused("write two prismatic joints and a revolute one with massless links between them."),
        "spherical_euler": Refused("make it spherical, whose coordinates are a quaternion."),
        "floating_euler": Refused("make it floating, whose coordinates are a quaternion."),
    },
)
_KIND_OF = {words: kind for kind, words in KINDS.words.items() if kind != "continuous"}
TYPES = ("free", "ball", "slide", "hinge")


@dataclass(eq=False)
class MjcfJoint:
    """A joint of the file, in the frame of its body."""

    record: Joint  # its ends are known when its body is connected
    type: str  # one of TYPES
    anchor: Array = field(default_factory=lambda: np.zeros(3))  # position in the body
    reference: float = 0.0  # position of the joint in the configuration of the file
    spring_damper: tuple[float, float] | None = None  # time constant [s] and damping ratio, replace both of them


def read_joint(name: str, values: MjcfValues, frame: Pose) -> MjcfJoint:
    """Read a <joint> or <freejoint>; `frame` is the pose of the enclosing <frame>s in the body."""
    settings = values.settings
    joint = Joint(name, "floating", "", "", axis=np.array([0.0, 0.0, 1.0]), element=values.element)
    if values.element.tag == "freejoint":
        if values.text("align", "auto") == "true":
            values.problem("not-modelled", "has align, which moves the body's frame.", 'Set align="false".')
        return MjcfJoint(joint, "free")
    found = MjcfJoint(joint, values.word("type", "hinge", TYPES))
    joint.stiffness = 0.0 if "spring" in settings.off else first_of_polynomial(values, "stiffness")
    joint.damping = 0.0 if "damper" in settings.off else first_of_polynomial(values, "damping")
    joint.friction = 0.0 if "frictionloss" in settings.off else values.number("frictionloss", 0.0)
    joint.armature = values.number("armature", 0.0)
    values.refuse("springyield", "Remove it; springs are linear.")
    positive = {"stiffness": joint.stiffness, "damping": joint.damping}
    for what, value in (positive | {"frictionloss": joint.friction, "armature": joint.armature}).items():
        if value < 0.0:
            values.problem("negative", f"has {what}={value:g}.", "It must not be negative.")
    if values.has("springdamper"):
        constant, ratio = values.numbers("springdamper", 2, 2).tolist()
        if constant > 0.0 and ratio > 0.0:
            found.spring_damper = (constant, ratio)
            joint.stiffness = joint.damping = 0.0
    if found.type == "free":
        if joint.stiffness or found.spring_damper:
            values.problem("not-modelled", "is free and has a spring.", "Give its force as tau.")
        return found
    if found.type != "slide":  # the anchor of a slide has no effect
        found.anchor = compose(frame, (UNIT, values.vector("pos", (0.0, 0.0, 0.0))))[1]
    turns = found.type != "slide"
    joint.limits = _limits(values, turns)
    if found.type == "ball":
        if joint.limits.lower not in (0.0, -math.inf):
            values.problem("limits-of-ball", f"is a ball with the range {joint.limits.lower:g} ...", "It starts at 0.")
            joint.limits = Limits()
    else:
        joint.axis = turned(frame[0], values.direction("axis", (0.0, 0.0, 1.0)))
        given = (values.number("ref", 0.0), values.number("springref", 0.0))
        found.reference, rest = (settings.angle(value) if turns else value for value in given)
        joint.rest = rest if joint.stiffness or found.spring_damper else 0.0
        joint.home = (found.reference,) if found.reference else None
    is_endless = joint.limits.lower == -math.inf and joint.limits.upper == math.inf
    joint.kind = "continuous" if found.type == "hinge" and is_endless else _KIND_OF[found.type,]
    return found


def first_of_polynomial(values: MjcfValues, name: str) -> float:
    """Read the linear coefficient; newer versions of MuJoCo have two more."""
    if not values.has(name):
        return 0.0
    coefficients = values.numbers(name, 1, 3)
    if coefficients[1:].any():
        values.problem("not-modelled", f"has a nonlinear {name}.", "Keep its first number.")
    return float(coefficients[0])


def _limits(values: MjcfValues, turns: bool) -> Limits:
    lower, upper, effort = -math.inf, math.inf, math.inf
    found = None if "limit" in values.settings.off else range_of(values, "range", "limited")
    if found is not None:
        lower, upper = (values.settings.angle(value) if turns else value for value in found)
    efforts = range_of(values, "actuatorfrcrange", "actuatorfrclimited")
    if efforts is not None:
        effort = max(abs(efforts[0]), abs(efforts[1]))
    return Limits(lower, upper, effort=effort)


def range_of(values: MjcfValues, name: str, switch: str) -> tuple[float, float] | None:
    """Read a range, or return None if it is disabled; ranges of width zero are disabled, as in MuJoCo."""
    choice = values.word(switch, "auto", ("auto", "true", "false"))
    if choice == "false" or (choice == "auto" and not values.has(name)):
        return None
    lower, upper = values.numbers(name, 2, 2).tolist() if values.has(name) else (0.0, 0.0)
    if lower > upper:
        values.problem("limits-inverted", f"has {name} {lower:g} {upper:g} with lower above upper.", "Exchange them.")
        lower, upper = upper, lower
    if choice == "true":
        if lower == upper and values.text("type") != "ball":
            values.problem("limits-empty", f'has {switch}="true" and no {name}.', f'Add {name}="LOWER UPPER".')
        return lower, upper
    if lower == upper:
        return None
    if not values.settings.autolimits:
        message = f"has {name}, but neither {switch} nor <compiler> with autolimits."
        values.problem("limits-unsaid", message, f'Add {switch}="true", or "false" for no limit.')
        return None
    return lower, upper


# --- into the tree ----------------------------------------------------------------------------------------------
def connect_body(
    builder: DescriptionBuilder, link: Link, parent: str, pose: Pose, joints: list[MjcfJoint], sink: Sink
) -> None:
    """Add a body with its joints to its parent, or a fixed joint without any."""
    builder.add_link(link)
    if not joints:
        builder.fix(parent, link.name, pose, link.element)
        return
    if any(joint.type == "free" for joint in joints):
        _connect_free(builder, link, parent, pose, joints, sink)
        return
    _check_order(link, joints, sink)
    at, offset = parent, pose  # pose of the body's frame at zero in the previous link
    for joint in joints[:-1]:
        own, frame = joint.record, compose(offset, _zero(joint))
        own.parent, own.child = at, builder.add_massless(f"{link.name}_at_{own.name}", own.element)
        builder.add_joint(own, frame)
        at, offset = own.child, (UNIT, -joint.anchor)
    last = joints[-1].record
    last.parent, last.child = at, link.name
    builder.join(last, compose(offset, _zero(joints[-1])), (UNIT, joints[-1].anchor))


def _check_order(link: Link, joints: list[MjcfJoint], sink: Sink) -> None:
    """Refuse rotations after a ball joint, as MuJoCo does."""
    for i, ball in enumerate(joints):
        after = [joint for joint in joints[i + 1 :] if joint.type != "slide"]
        if ball.type == "ball" and after:
            first = after[0].record
            message = f"its ball joint {ball.record.name!r} is followed by the rotation {first.name!r}."
            fix = "Move one of them to another body."
            sink(Problem("ball-followed", first.line, link.where, message, fix, first.element.file))


def _zero(joint: MjcfJoint) -> Pose:
    """Pose of the joint's frame at zero, as bodies of the file are at the joints' references."""
    axis = joint.record.axis
    if joint.type == "hinge":
        return about(axis, -joint.reference), joint.anchor
    if joint.type == "slide":
        return UNIT, -joint.reference * axis / np.linalg.norm(axis)
    return UNIT, joint.anchor


def _connect_free(
    builder: DescriptionBuilder, link: Link, parent: str, pose: Pose, joints: list[MjcfJoint], sink: Sink
) -> None:
    if len(joints) > 1 or parent != "world":
        message = "it has a free joint, and other joints or a parent body."
        fix = "Move it to <worldbody>, without other joints."
        sink(Problem("free-joint", link.line, link.where, message, fix, link.element.file))
    # The joint's coordinates are the body's pose in the world; it starts at the pose of the file.
    joint = joints[0].record
    joint.kind, joint.parent, joint.child = "floating", "world", link.name
    w, x, y, z = to_quaternion(pose[0])
    joint.home = (*pose[1].tolist(), x, y, z, w)
    builder.add_joint(joint, NO_MOVE)


_LEAST = 1e-15  # MuJoCo's lower bound of divisors


def set_springs_and_dampers(robot: Description, joints: Iterable[MjcfJoint]) -> None:
    """Set stiffness and damping of joints with springdamper from their time constant and damping ratio.

    As in MuJoCo, the inertia of a joint is one over the mean of its diagonal entries of M⁻¹, with all joints at their
    references and without mimic joints and loops. Masses must be final.
    """
    wanted = [joint for joint in joints if joint.spring_damper is not None]
    if not wanted:
        return
    model = Description(robot.name, robot.file, links=robot.links, joints=robot.joints).build()
    M: Array = np.array(mass_matrix(model.tree, model.home().tolist()).dense(), dtype=float)
    ease = np.diag(np.linalg.inv(M))
    for joint in wanted:
        constant, ratio = joint.spring_damper or (0.0, 0.0)
        inertia = float(1.0 / max(_LEAST, float(np.mean(ease[model.v_index(joint.record.name)]))))
        joint.record.stiffness = inertia / max(_LEAST, (constant * ratio) ** 2)
        joint.record.damping += 2.0 * inertia / max(_LEAST, constant)
