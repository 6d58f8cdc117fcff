# SPDX-License-Identifier: Apache-2.0
"""Joints of MJCF: a body has any number of them in series, at any points.

Each becomes a joint with a link at its anchor; the last one carries the body's frame.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ada_dynamics.algorithms.crba import mass_matrix
from ada_dynamics.arrays import Array
from ada_dynamics.model.description import Description
from ada_dynamics.model.elements import Joint, Limits, Link
from ada_dynamics.model.problems import Problem, Sink
from ada_dynamics.model.rotations import NO_MOVE, UNIT, Pose, about, compose, turned
from ada_dynamics.robots.readers.description_builder import DescriptionBuilder
from ada_dynamics.robots.readers.mjcf.values import MjcfSettings, MjcfValues
from ada_dynamics.robots.readers.values import JointKindTable, Refused
from ada_dynamics.robots.readers.xml import Element
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

    name: str
    element: Element
    type: str
    anchor: Array = field(default_factory=lambda: np.zeros(3))
    axis: Array = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    reference: float = 0.0  # position in the configuration of the file
    limits: Limits = field(default_factory=Limits)
    damping: float = 0.0
    friction: float = 0.0
    armature: float = 0.0
    stiffness: float = 0.0
    rest: float = 0.0
    spring_damper: tuple[float, float] | None = None  # time constant [s] and damping ratio, replace both of them

    @property
    def kind(self) -> str:
        """Joint type of this library."""
        is_endless = self.limits.lower == -math.inf and self.limits.upper == math.inf
        return "continuous" if self.type == "hinge" and is_endless else _KIND_OF[self.type,]


def read_joint(name: str, values: MjcfValues, settings: MjcfSettings, frame: Pose) -> MjcfJoint:
    """Read a <joint> or <freejoint>.

    Args:
        name: name of the joint.
        values: attributes of the joint.
        settings: settings of the document.
        frame: pose of the enclosing <frame>s in the body.
    """
    if values.element.tag == "freejoint":
        if values.text("align", "auto") == "true":
            values.problem("not-modelled", "has align, which moves the body's frame.", 'Set align="false".')
        return MjcfJoint(name, values.element, "free")
    joint = MjcfJoint(name, values.element, values.word("type", "hinge", TYPES))
    joint.stiffness = 0.0 if "spring" in settings.off else first_of_polynomial(values, "stiffness")
    joint.damping = 0.0 if "damper" in settings.off else first_of_polynomial(values, "damping")
    joint.friction = 0.0 if "frictionloss" in settings.off else values.number("frictionloss", 0.0)
    joint.armature = values.number("armature", 0.0)
    values.refuse("springyield", "Remove it; springs are linear.")
    if values.has("springdamper"):
        constant, ratio = values.numbers("springdamper", 2, 2).tolist()
        joint.spring_damper = (constant, ratio) if constant > 0.0 and ratio > 0.0 else None
    given = {"stiffness": joint.stiffness, "damping": joint.damping}
    for what, value in (given | {"frictionloss": joint.friction, "armature": joint.armature}).items():
        if value < 0.0:
            values.problem("negative", f"has {what}={value:g}.", "It must not be negative.")
    if joint.type == "free":
        if joint.stiffness or joint.spring_damper:
            values.problem("not-modelled", "is free and has a spring.", "Give its force as tau.")
        return joint
    if joint.type != "slide":  # the anchor of a slide has no effect
        joint.anchor = compose(frame, (UNIT, values.vector("pos", (0.0, 0.0, 0.0))))[1]
    if joint.type == "ball":
        joint.limits = _limits(values, settings, turns=True)
        if joint.limits.lower not in (0.0, -math.inf):
            values.problem("limits-of-ball", f"is a ball with the range {joint.limits.lower:g} ...", "It starts at 0.")
            joint.limits = Limits()
    else:
        joint.axis = turned(frame[0], values.direction("axis", (0.0, 0.0, 1.0)))
        turns = joint.type == "hinge"
        reference = values.number("ref", 0.0)
        rest = values.number("springref", 0.0)
        joint.reference = settings.angle(reference) if turns else reference
        joint.rest = settings.angle(rest) if turns else rest
        joint.limits = _limits(values, settings, turns)
    return joint


def first_of_polynomial(values: MjcfValues, name: str) -> float:
    """Read the linear coefficient; newer versions of MuJoCo have two more."""
    if not values.has(name):
        return 0.0
    coefficients = values.numbers(name, 1, 3)
    if coefficients[1:].any():
        values.problem("not-modelled", f"has a nonlinear {name}.", "Keep its first number.")
    return float(coefficients[0])


def _limits(values: MjcfValues, settings: MjcfSettings, turns: bool) -> Limits:
    lower, upper, effort = -math.inf, math.inf, math.inf
    found = None if "limit" in settings.off else range_of(values, settings, "range", "limited")
    if found is not None:
        lower, upper = (settings.angle(value) if turns else value for value in found)
    efforts = range_of(values, settings, "actuatorfrcrange", "actuatorfrclimited")
    if efforts is not None:
        effort = max(abs(efforts[0]), abs(efforts[1]))
    return Limits(lower, upper, effort=effort)


def range_of(values: MjcfValues, settings: MjcfSettings, name: str, switch: str) -> tuple[float, float] | None:
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
    if not settings.autolimits:
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
        frame = compose(offset, _zero(joint))
        between = builder.add_massless(f"{link.name}_at_{joint.name}", joint.element)
        builder.add_joint(_record(joint, at, between), frame)
        at, offset = between, (UNIT, -joint.anchor)
    last = joints[-1]
    builder.join(_record(last, at, link.name), compose(offset, _zero(last)), (UNIT, last.anchor))


def _check_order(link: Link, joints: list[MjcfJoint], sink: Sink) -> None:
    """Refuse rotations after a ball joint, as MuJoCo does."""
    for i, ball in enumerate(joints):
        after = [joint for joint in joints[i + 1 :] if joint.type != "slide"]
        if ball.type == "ball" and after:
            message = f"its ball joint {ball.name!r} is followed by the rotation {after[0].name!r}."
            fix = "Move one of them to another body."
            sink(Problem("ball-followed", after[0].element.line, link.where, message, fix, after[0].element.file))


def _zero(joint: MjcfJoint) -> Pose:
    """Pose of the joint's frame at zero, as bodies of the file are at the joints' references."""
    if joint.type == "hinge":
        return about(joint.axis, -joint.reference), joint.anchor
    if joint.type == "slide":
        return UNIT, -joint.reference * joint.axis / np.linalg.norm(joint.axis)
    return UNIT, joint.anchor


def _record(joint: MjcfJoint, parent: str, child: str) -> Joint:
    own = Joint(joint.name, joint.kind, parent, child, axis=joint.axis, limits=joint.limits, element=joint.element)
    own.damping, own.friction, own.armature = joint.damping, joint.friction, joint.armature
    own.home = (joint.reference,) if joint.reference else None
    own.stiffness, own.rest = joint.stiffness, joint.rest if joint.stiffness else 0.0
    return own


def _connect_free(
    builder: DescriptionBuilder, link: Link, parent: str, pose: Pose, joints: list[MjcfJoint], sink: Sink
) -> None:
    joint = joints[0]
    if len(joints) > 1 or parent != "world":
        message = "it has a free joint, and other joints or a parent body."
        fix = "Move it to <worldbody>, without other joints."
        sink(Problem("free-joint", link.line, link.where, message, fix, link.element.file))
    # The joint's coordinates are the body's pose in the world; it starts at the pose of the file.
    record = _record(joint, "world", link.name)
    w, x, y, z = to_quaternion(pose[0])
    record.home = (*pose[1].tolist(), x, y, z, w)
    builder.add_joint(record, NO_MOVE)


_LEAST = 1e-15  # MuJoCo's lower bound of divisors


def set_springs_and_dampers(robot: Description, joints: Mapping[str, MjcfJoint]) -> None:
    """Set stiffness and damping of joints with springdamper from their time constant and damping ratio.

    As in MuJoCo, the inertia of a joint is one over the mean of its diagonal entries of M⁻¹, with all joints at their
    references and without mimic joints and loops. Masses must be final.
    """
    wanted = {name: joint.spring_damper for name, joint in joints.items() if joint.spring_damper is not None}
    if not wanted:
        return
    behind = _inertias(robot, joints)
    for record in robot.joints:
        if record.name in wanted:
            constant, ratio = wanted[record.name]
            inertia = behind[record.name]
            record.stiffness = inertia / max(_LEAST, (constant * ratio) ** 2)
            record.rest = joints[record.name].rest
            # replaces the damping of the joint, not that of actuators
            record.damping += 2.0 * inertia / max(_LEAST, constant) - joints[record.name].damping


def _inertias(robot: Description, joints: Mapping[str, MjcfJoint]) -> dict[str, float]:
    model = Description(robot.name, robot.file, links=robot.links, joints=robot.joints).build()
    M: Array = np.array(mass_matrix(model.tree, model.home().tolist()).dense(), dtype=float)
    ease = np.diag(np.linalg.inv(M))
    return {name: float(1.0 / max(_LEAST, float(np.mean(ease[model.v_index(name)])))) for name in model.joint_names}
