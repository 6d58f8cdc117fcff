# SPDX-License-Identifier: Apache-2.0
"""Writer of MuJoCo's MJCF. Loop joints become equality constraints between sites, which are soft in MuJoCo.

A revolute loop joint is two connect constraints on its axis. A universal or cylindrical joint of the tree is two joints
of one body with the same coordinates.
"""

from __future__ import annotations

import math
import warnings

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.closed_configuration import closed_configuration
from ada_dynamics.errors import ModelError
from ada_dynamics.model.description import free_name
from ada_dynamics.model.elements import Joint, Link, LoopJoint, Mimic, Shape
from ada_dynamics.model.model import Model
from ada_dynamics.model.rotations import NO_MOVE, Pose, compose, inverse, is_unit
from ada_dynamics.robots.readers.mjcf.bodies import KINDS
from ada_dynamics.robots.readers.xml import Element
from ada_dynamics.robots.writers.draft import Draft, ends_of, make, number, numbers, to_text
from ada_dynamics.robots.writers.urdf import unmodelled
from ada_dynamics.spatial.orientation import to_quaternion

# Smallest principal moment of inertia of a moving body [kg m²]: twice MuJoCo's mjMINVAL.
LEAST_MOMENT = 2e-15
_ROUNDING = 1e-14

LOOKS_GROUP, CONTACT_GROUP = 2, 3  # of geoms; MuJoCo hides groups from 3 on by default
LEVER = 0.1  # [m] between the two points of a revolute loop

_LOOPS = ("revolute", "spherical", "fixed")
WORLD = "world"


def mjcf(draft: Draft) -> dict[str, str]:
    """Return the document."""
    draft.check_kinds(KINDS, with_base=True)
    draft.check_loop_kinds(_LOOPS, "loop_joint, constraint or sidecar")
    _check_names(draft)
    sites = _Sites(draft)
    equality = [element for loop in draft.model.loops.values() for element in sites.equalities(loop)]
    equality += [_mimic(joint.name, joint.mimic) for joint in draft.joints if joint.mimic is not None]
    bodies = _bodies(draft, sites)
    root = make(
        "mujoco",
        {"model": draft.model.name},
        [
            make("compiler", {"angle": "radian", "autolimits": "true"}),
            make("option", {"gravity": numbers(draft.model.gravity)}),
            make("worldbody", {}, [*sites.of(WORLD), *bodies]),
            make("equality", {}, equality) if equality else None,
            _actuators(draft) if draft.model.actuated != tuple(draft.model.joint_names) else None,
            None if draft.refused else _keyframe(draft.model, bodies),
        ],
    )
    return {".xml": to_text(root)}


def _check_names(draft: Draft) -> None:
    if WORLD in draft.model.links and (draft.model.root != WORLD or draft.floats):
        draft.refuse("Link 'world'", "is not the world, as MuJoCo requires", "rename it.")
    if any(math.isfinite(joint.limits.velocity) for joint in draft.joints):
        draft.notes.append("velocity limits are left out: MJCF has none.")
    fixed = [joint.name for joint in draft.joints if joint.kind == "fixed"]
    shapes = [shape for link in draft.model.links.values() for shape in (*link.visuals, *link.collisions)]
    if not all(map(_is_geom, shapes)):
        draft.notes.append("meshes and shapes without volume are left out.")
    if any(link.collisions for link in draft.model.links.values()):
        draft.notes.append("collision shapes collide with the ground but not with each other (conaffinity 0).")
    if any(math.isfinite(joint.limits.effort) and joint.nv > len(_motor_names(joint)) for joint in draft.joints):
        draft.notes.append("effort limits of joints with several degrees of freedom are left out: MJCF has none.")
    others = unmodelled(draft)
    if others:
        draft.notes.append(f"left out, as they are no part of a model: {', '.join(others)}.")
    if fixed:
        draft.notes.append(f"the names of {len(fixed)} fixed joints are left out; a body without joints is fixed.")


# --- bodies -----------------------------------------------------------------------------------------------------
def _bodies(draft: Draft, sites: _Sites) -> list[Element]:
    """Return the bodies on the world, built from the leaves to the root."""
    model = draft.model
    static = _static_links(draft)
    chains = _Chains(draft, sites)
    inside: dict[str, list[Element]] = {name: [] for name in (WORLD, *model.links)}
    for joint in reversed(draft.joints):
        if joint.child in chains.folded:
            continue
        chain = chains.of(joint)
        element = _body(model.links[joint.child], chain, sites, draft)
        element.children += reversed(inside[joint.child])
        on = chain[0].parent
        if joint.kind == "floating":  # MuJoCo allows free bodies on the world only
            _check_free(joint, static, draft)
            on = WORLD
        inside[on].append(element)
    if model.root == WORLD:
        return inside[WORLD][::-1]
    base = next(iter(model.joints.values())) if draft.floats else None
    if base is not None:
        _check_free(base, static, draft)
        if not chains.has_mass(model.root):
            chains.refuse(model.root)
    root = _body(model.links[model.root], [] if base is None else [base], sites, draft)
    root.children += reversed(inside[model.root])
    return [root, *reversed(inside[WORLD])]


def _static_links(draft: Draft) -> dict[str, Pose]:
    """Fixed links with their poses in the world."""
    poses: dict[str, Pose] = {WORLD: NO_MOVE}
    if not draft.floats:
        poses[draft.model.root] = poses[WORLD]
    for joint in draft.joints:
        if joint.kind == "fixed" and joint.parent in poses:
            R, p = poses[joint.parent]
            poses[joint.child] = (R @ joint.rotation, p + R @ joint.xyz)
    return poses


def _check_free(joint: Joint, static: dict[str, Pose], draft: Draft) -> None:
    where = f"Joint {joint.name!r}"
    if joint.friction:
        draft.refuse(where, "is floating and has friction", "remove it; MuJoCo applies it along the world's axes.")
    if joint.parent not in static:
        draft.refuse(where, "is floating on a link that moves", "move it to the world, as MuJoCo requires.")
        return
    R, p = static[joint.parent]
    if (p + R @ joint.xyz).any() or not is_unit(R @ joint.rotation):
        draft.refuse(where, "is floating and not at the origin", "move it to the origin, as MuJoCo requires.")


class _Chains:
    """Bodies with several joints, which replace massless bodies, as MuJoCo refuses moving bodies without mass.

    The joint of a massless body moves to the only body on it; other massless bodies are refused.
    """

    def __init__(self, draft: Draft, sites: _Sites) -> None:
        self._draft = draft
        self._carriers = {joint.child: joint for joint in draft.joints}
        self._children: dict[str, list[Joint]] = {}
        for joint in draft.joints:
            self._children.setdefault(joint.parent, []).append(joint)
        self.folded: set[str] = set()
        for joint in draft.joints:
            link = draft.model.links[joint.child]
            if not joint.nv or self.has_mass(link.name):
                continue
            on = self._children.get(link.name, [])
            is_bare = not (link.visuals or link.collisions or sites.of(link.name) or link.mass or link.inertia.any())
            can = is_bare and len(on) == 1 and on[0].nv > 0 and "floating" not in (joint.kind, on[0].kind)
            if not can or joint.kind == "spherical":
                self.refuse(link.name)
                continue
            self.folded.add(link.name)
            draft.notes.append(f"link {link.name!r}: no mass; its joint is written in the body of the next joint.")

    def refuse(self, link: str) -> None:
        """Refuse a massless body that moves."""
        why = "moves and has no mass, which MuJoCo refuses"
        self._draft.refuse(f"Link {link!r}", why, "give mass and inertia to it or to a link fixed to it.")

    def of(self, joint: Joint) -> list[Joint]:
        """The joints of the massless ancestors of a joint's body, and the joint itself as the last one."""
        chain = [joint]
        while chain[0].parent in self.folded:
            chain.insert(0, self._carriers[chain[0].parent])
        return chain

    def has_mass(self, link: str) -> bool:
        """True if a link or one fixed to it has mass."""
        pending = [link]
        while pending:
            name = pending.pop()
            if self._draft.model.links[name].mass > 0.0:
                return True
            pending += [joint.child for joint in self._children.get(name, ()) if joint.kind == "fixed"]
        return False


def _body(link: Link, chain: list[Joint], sites: _Sites, draft: Draft) -> Element:
    """Return a body with its joints; its frame is that of the last joint."""
    pose = NO_MOVE
    joints: list[Element] = []
    for joint in reversed(chain):
        if joint.kind != "fixed":
            joints = [*_joints(joint, inverse(pose), draft), *joints]
        if joint.kind != "floating":
            pose = compose((joint.rotation, joint.xyz), pose)
    # Collision shapes collide with the ground but not with each other, as adjacent links often overlap.
    roles = ((LOOKS_GROUP, "0", link.visuals), (CONTACT_GROUP, "1", link.collisions))
    geoms = [_geom(group, contype, shape) for group, contype, shapes in roles for shape in shapes if _is_geom(shape)]
    content = [_inertial(link, draft), *joints, *geoms, *sites.of(link.name)]
    return make("body", {"name": link.name, **_pose_attributes(pose[1], pose[0])}, content)


def _pose_attributes(xyz: Array, R: Array) -> dict[str, str]:
    attributes = {"pos": numbers(xyz)} if xyz.any() else {}
    return attributes if is_unit(R) else {**attributes, "quat": numbers(to_quaternion(R))}


def _inertial(link: Link, draft: Draft) -> Element | None:
    if not link.mass and not link.inertia.any():
        return None
    I = _with_least_moments(link.inertia) if link.mass else link.inertia
    if I is not link.inertia:
        draft.notes.append(f"link {link.name!r}: moments of inertia raised to {LEAST_MOMENT:g}, as MuJoCo requires.")
    attributes = {"pos": numbers(link.com), "mass": number(link.mass)}
    if (np.diag(np.diag(I)) == I).all():
        attributes["diaginertia"] = numbers(np.diag(I))
    else:
        attributes["fullinertia"] = numbers([I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]])
    return make("inertial", attributes)


def _is_geom(shape: Shape) -> bool:
    return shape.kind != "mesh" and min(shape.size) > 0.0


def _geom(group: int, contype: str, shape: Shape) -> Element:
    # MuJoCo has half lengths and full radii.
    size = shape.size if shape.kind == "sphere" else tuple(0.5 * x for x in shape.size)
    if shape.kind in ("cylinder", "capsule"):
        size = (shape.size[0], 0.5 * shape.size[1])
    attributes = {"type": shape.kind, "size": numbers(size), **_pose_attributes(shape.xyz, shape.rotation)}
    attributes |= {"rgba": numbers(shape.rgba), "group": str(group), "contype": contype}
    if shape.friction is not None:
        attributes["friction"] = number(shape.friction)
    if shape.margin:
        attributes["margin"] = number(shape.margin)
    return make("geom", {**attributes, "conaffinity": "0", "mass": "0"})


def _with_least_moments(I: Array) -> Array:
    """Raise principal moments below MuJoCo's minimum, such as that of a thin rod about its axis."""
    moments, axes = np.linalg.eigh(I)
    least = max(LEAST_MOMENT, _ROUNDING * float(moments[-1]))
    raised = np.maximum(least - moments, 0.0) * (moments < 0.5 * least)
    return I + (axes * raised) @ axes.T if raised.any() else I


def _joints(joint: Joint, frame: Pose, draft: Draft) -> list[Element]:
    """Return the one or two <joint>s of a joint; `frame` is the pose of the joint's frame in the body."""
    types = KINDS.words.get(joint.kind, ("hinge",))
    if len(types) == 1:
        return [_joint(joint.name, types[0], joint, joint.axis, frame, draft)]
    names = _motor_names(joint)
    taken = [name for name in names if name in draft.model.joints]
    if taken:
        draft.refuse(f"Joint {joint.name!r}", f"needs two names, and {taken[0]!r} is in use", "rename one.")
    draft.notes.append(f"joint {joint.name!r}: {joint.kind}, written as two joints with _1 and _2 after its name.")
    axes = (joint.axis, joint.axis if joint.axis2 is None else joint.axis2)
    return [_joint(name, kind, joint, axis, frame, draft) for name, kind, axis in zip(names, types, axes, strict=True)]


def _motor_names(joint: Joint) -> list[str]:
    """Names of the MuJoCo joints of a joint."""
    return [f"{joint.name}_1", f"{joint.name}_2"] if len(KINDS.words.get(joint.kind, ())) == 2 else [joint.name]


def _joint(name: str, kind: str, joint: Joint, axis: Array, frame: Pose, draft: Draft) -> Element:
    attributes = {"name": name, "type": kind}
    if frame[1].any() and kind != "slide":
        attributes["pos"] = numbers(frame[1])
    if kind in ("hinge", "slide"):
        attributes["axis"] = numbers(axis if is_unit(frame[0]) else frame[0] @ axis)
        attributes.update(_limits(joint, draft))
    elif kind == "ball" and math.isfinite(joint.limits.upper):
        attributes["range"] = numbers((0.0, joint.limits.upper))
    values = {"damping": joint.damping, "frictionloss": joint.friction, "armature": joint.armature}
    values |= {"stiffness": joint.stiffness, "springref": joint.rest if joint.stiffness else 0.0}
    attributes |= {word: number(value) for word, value in values.items() if value}
    return make("joint", attributes)


def _limits(joint: Joint, draft: Draft) -> dict[str, str]:
    limits, attributes = joint.limits, {}
    ends = (limits.lower, limits.upper)
    if all(map(math.isfinite, ends)):
        attributes["range"] = numbers(ends)
    elif any(map(math.isfinite, ends)):
        why = f"is limited on one side ({limits.lower:g}, {limits.upper:g})"
        draft.refuse(f"Joint {joint.name!r}", why, "give it a limit on the other side.")
    if math.isfinite(limits.effort):
        attributes["actuatorfrcrange"] = numbers((-limits.effort, limits.effort))
    return attributes


# --- equalities and motors --------------------------------------------------------------------------------------
class _Sites:
    """Sites of loop joints by link."""

    def __init__(self, draft: Draft) -> None:
        self._by_link: dict[str, list[Element]] = {}
        self._names: set[str] = set()
        self._loops = set(draft.model.loops)

    def of(self, link: str) -> list[Element]:
        """Return the sites on a link."""
        return self._by_link.get(link, [])

    def equalities(self, loop: LoopJoint) -> list[Element]:
        """Add the sites of a loop joint, and return its equality constraints."""
        second = free_name(f"{loop.name}_axis", self._loops)
        if loop.kind == "fixed":
            return [self._pair("weld", loop.name, loop, np.zeros(3))]
        pairs = [self._pair("connect", loop.name, loop, np.zeros(3))]
        if loop.kind == "revolute":
            self._loops.add(second)
            pairs.append(self._pair("connect", second, loop, LEVER * loop.axis))
        return pairs

    def _pair(self, tag: str, name: str, loop: LoopJoint, offset: Array) -> Element:
        names = []
        for side, (link, xyz, R) in zip(("parent", "child"), ends_of(loop), strict=True):
            names.append(free_name(f"{name}_{side}", self._names))
            self._names.add(names[-1])
            attributes = {"name": names[-1], "pos": numbers(xyz + R @ offset)} | _pose_attributes(np.zeros(3), R)
            self._by_link.setdefault(link, []).append(make("site", attributes))
        return make(tag, {"name": name, "site1": names[0], "site2": names[1]})


def _mimic(joint: str, mimic: Mimic) -> Element:
    names = {"name": f"{joint}_mimic", "joint1": joint, "joint2": mimic.joint}
    return make("joint", {**names, "polycoef": numbers((mimic.offset, mimic.multiplier, 0.0, 0.0, 0.0))})


def _actuators(draft: Draft) -> Element:
    motors = []
    for name in draft.model.actuated:
        joint = draft.model.joints[name]
        names = _motor_names(joint)
        if len(names) != joint.nv:
            why = f"is {joint.kind} and has a motor"
            draft.refuse(f"Joint {name!r}", why, "use joints with one coordinate, as MuJoCo's motors require.")
        motors += [make("motor", {"name": f"{one}_motor", "joint": one}) for one in names]
    return make("actuator", {}, motors)


def _keyframe(model: Model, bodies: list[Element]) -> Element | None:
    """Return the initial configuration with closed loops, or None if it is the neutral one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            q = np.asarray(closed_configuration(model))
        except ModelError:  # the loops of the model do not close
            q = model.home()
    if not model.difference(model.neutral(), q).any():
        return None
    positions: dict[str, list[float]] = {}
    for body in model.tree.bodies:
        own, names = list(body.positions(q.tolist())), _motor_names(model.joints[body.name])
        if len(own) >= 4:  # MuJoCo's quaternions have the order w, x, y, z
            own[-4:] = [own[-1], *own[-4:-1]]
        positions |= {name: [x] for name, x in zip(names, own, strict=True)} if len(names) == 2 else {names[0]: own}
    order = [part.attributes["name"] for body in bodies for part in body.walk() if part.tag == "joint"]
    return make(
        "keyframe", {}, [make("key", {"name": "home", "qpos": numbers([x for n in order for x in positions[n]])})]
    )
