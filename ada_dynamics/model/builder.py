# SPDX-License-Identifier: Apache-2.0
"""Build a model in code, with every mistake reported by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.errors import ModelError, unknown_name
from ada_dynamics.model.checked_values import CheckedValues
from ada_dynamics.model.elements import Joint, Limits, Link, LoopJoint, Mimic, Shape
from ada_dynamics.model.joints import JOINT_TYPES, LOOP_KINDS, Fixed, Floating, FloatingEuler, joint_kind, loop_kind
from ada_dynamics.model.model import STANDARD_GRAVITY, Model

BASES = {"fixed": Fixed.kind, "floating": Floating.kind, "floating_euler": FloatingEuler.kind}
ROOT_JOINT = "root_joint"
WORLD_LINK = "world"


class Builder:
    """Collects links and joints in any order; `build` checks them and makes the model.

    Example::

        arm = Builder("pendulum")
        arm.link("base")
        arm.link("rod", mass=1.0, com=(0, 0, -0.5), inertia=(1 / 12, 1 / 12, 0))
        arm.joint("pivot", "revolute", "base", "rod", axis=(0, 1, 0))
        model = arm.build()
    """

    def __init__(self, name: str, where: str | None = None) -> None:
        """Args: name of the robot, and where it comes from (a file), for messages."""
        self.name = name
        self._where = where or f"model {name!r}"
        self._links: dict[str, Link] = {}
        self._joints: dict[str, Joint] = {}
        self._loops: dict[str, LoopJoint] = {}
        self._actuated: tuple[str, ...] | None = None
        self._values = CheckedValues(self._where)

    def __repr__(self) -> str:
        count = f"{len(self._links)} links, {len(self._joints)} joints, {len(self._loops)} loops"
        return f"<Builder of {self.name!r}: {count}>"

    # --- adding -------------------------------------------------------------------------------------------------
    def link(
        self,
        name: str,
        mass: float = 0.0,
        com: ArrayLike = (0.0, 0.0, 0.0),
        inertia: ArrayLike = (0.0, 0.0, 0.0),
        *,
        has_inertial: bool = True,
        visuals: Iterable[Shape] = (),
        collisions: Iterable[Shape] = (),
    ) -> Builder:
        """Add a link.

        Args:
            name: unique name.
            mass: [kg].
            com: centre of mass in the link's frame [m].
            inertia: about the CoM in the link's axes [kg m²]: 3x3, or (xx, yy, zz), or (xx, yy, zz, xy, xz, yz).
            has_inertial: whether these are given values (a lint asks).
            visuals: what it looks like.
            collisions: what it touches others with.
        """
        if name in self._links:
            raise ModelError(f"{self._where}: two links are named {name!r}; link names must be unique.")
        self._links[name] = Link(
            name,
            self._values.finite(float(mass), f"mass of link {name!r}"),
            self._values.vector(com, 3, f"com of link {name!r}"),
            self._values.inertia(inertia, f"inertia of link {name!r}"),
            has_inertial,
            self._values.shapes(visuals, f"visuals of link {name!r}"),
            self._values.shapes(collisions, f"collisions of link {name!r}"),
        )
        return self

    def joint(
        self,
        name: str,
        kind: str,
        parent: str,
        child: str,
        xyz: ArrayLike = (0.0, 0.0, 0.0),
        rpy: ArrayLike = (0.0, 0.0, 0.0),
        axis: ArrayLike | None = None,
        axis2: ArrayLike | None = None,
        *,
        rotation: ArrayLike | None = None,
        limits: Limits | None = None,
        damping: float = 0.0,
        friction: float = 0.0,
        armature: float = 0.0,
        stiffness: float = 0.0,
        rest: float = 0.0,
        mimic: Mimic | None = None,
        **constants: float,
    ) -> Builder:
        """Add a joint from link `parent` to link `child`.

        Args:
            name: unique name.
            kind: one of `JOINT_TYPES`: revolute, prismatic, spherical, ...
            parent: link on the base's side.
            child: the link it carries; its frame is the joint's.
            xyz: position of the joint in the parent's frame [m].
            rpy: orientation of the joint in the parent's frame, roll-pitch-yaw [rad].
            axis: direction in the joint's frame (a planar joint's normal); (1, 0, 0) by default as in URDF.
            axis2: second axis of a universal joint, perpendicular to the first.
            rotation: orientation of the joint in the parent's frame as a 3x3 matrix, instead of rpy.
            limits: bounds.
            damping: viscous damping, on each velocity of the joint.
            friction: Coulomb friction.
            armature: reflected rotor inertia.
            stiffness: of a spring on the joint's position; of joints with one position, and of spherical ones.
            rest: position at which the spring does not pull; zero for a spherical joint.
            mimic: take the position from another joint.
            constants: numbers that the kind has beside, such as the pitch [m/rad] of a screw.
        """
        where = f"joint {name!r}"
        if name in self._joints:
            raise ModelError(f"{self._where}: two joints are named {name!r}; joint names must be unique.")
        kind = joint_kind(kind)
        if kind not in JOINT_TYPES:
            raise ModelError(f"{self._where}, {where}: {unknown_name('joint type', kind, JOINT_TYPES)}")
        given = {"damping": damping, "friction": friction, "armature": armature, "stiffness": stiffness}
        for what, value in given.items():
            if self._values.finite(float(value), f"{what} of {where}") < 0.0:
                raise ModelError(f"{self._where}: {what} of {where} is {value}; it must not be negative.")
        self._values.spring(kind, float(stiffness), float(rest), where)
        first, second = self._values.axes(kind, axis, axis2, where)
        self._joints[name] = Joint(
            name,
            kind,
            parent,
            child,
            self._values.vector(xyz, 3, f"xyz of {where}"),
            self._values.orientation(rpy, rotation, where),
            first,
            second,
            limits or Limits(),
            float(damping),
            float(friction),
            float(armature),
            mimic,
            float(stiffness),
            float(rest),
            self._values.constants(kind, constants, where),
        )
        return self

    def loop(
        self,
        name: str,
        kind: str,
        parent: str,
        child: str,
        parent_xyz: ArrayLike = (0.0, 0.0, 0.0),
        parent_rpy: ArrayLike = (0.0, 0.0, 0.0),
        child_xyz: ArrayLike = (0.0, 0.0, 0.0),
        child_rpy: ArrayLike = (0.0, 0.0, 0.0),
        axis: ArrayLike | None = None,
        axis2: ArrayLike | None = None,
        *,
        parent_rotation: ArrayLike | None = None,
        child_rotation: ArrayLike | None = None,
        **constants: float,
    ) -> Builder:
        """Close a loop by a joint between two links of the tree, or between a link and the world.

        The joint has a frame in each link; at its zero position they coincide.

        Args:
            name: unique name.
            kind: one of `LOOP_KINDS`: revolute, prismatic, spherical, ...
            parent: one link, or "world".
            child: the other one.
            parent_xyz: position of the joint in the parent's frame [m].
            parent_rpy: its orientation there, roll-pitch-yaw [rad].
            child_xyz: position of the joint in the child's frame [m].
            child_rpy: its orientation there.
            axis: direction in the joint's frame (a planar joint's normal); (1, 0, 0) by default.
            axis2: second axis of a universal joint, in the child-side frame, perpendicular to the first at zero.
            parent_rotation: orientation in the parent's frame as a 3x3 matrix, instead of parent_rpy.
            child_rotation: orientation in the child's frame as a 3x3 matrix, instead of child_rpy.
            constants: numbers that the kind has beside, such as the pitch [m/rad] of a screw.
        """
        where = f"loop {name!r}"
        if name in self._loops:
            raise ModelError(f"{self._where}: two loops are named {name!r}; names of joints must be unique.")
        kind = loop_kind(kind)
        if kind not in LOOP_KINDS:
            raise ModelError(f"{self._where}, {where}: {unknown_name('type of loop joint', kind, LOOP_KINDS)}")
        first, second = self._values.axes(kind, axis, axis2, where)
        self._loops[name] = LoopJoint(
            name,
            kind,
            parent,
            child,
            self._values.vector(parent_xyz, 3, f"parent xyz of {where}"),
            self._values.orientation(parent_rpy, parent_rotation, f"{where} in its parent"),
            self._values.vector(child_xyz, 3, f"child xyz of {where}"),
            self._values.orientation(child_rpy, child_rotation, f"{where} in its child"),
            first,
            second,
            self._values.constants(kind, constants, where),
        )
        return self

    def actuated(self, joints: Sequence[str]) -> Builder:
        """Say which joints have motors, where not all have."""
        self._actuated = tuple(joints)
        return self

    # --- building -----------------------------------------------------------------------------------------------
    def build(
        self,
        base: str = "fixed",
        gravity: Sequence[float] = STANDARD_GRAVITY,
        source: str | None = None,
    ) -> Model:
        """Check the structure and make the model.

        Args:
            base: how the root link is held: fixed, floating (quaternion) or floating_euler (z-y-x angles).
            gravity: gravity vector in the world's axes [m/s²].
            source: text of the description.
        """
        if base not in BASES:
            raise unknown_name("base", base, BASES)
        g = self._values.vector(gravity, 3, "gravity")
        if not self._links:
            raise ModelError(f"{self._where}: it has no links.")
        joints = {name: self._checked_ends(joint) for name, joint in self._joints.items()}
        root = self._root(joints)
        ordered = self._depth_first(root, joints)
        if base != "fixed":
            if ROOT_JOINT in joints:
                raise ModelError(f"{self._where}: a joint is named {ROOT_JOINT!r}, which the floating base needs.")
            ordered.insert(0, Joint(ROOT_JOINT, BASES[base], WORLD_LINK, root))
        ordered = self._with_mimics(ordered)
        loops = [self._checked_loop(loop, ordered) for loop in self._loops.values()]
        links = list(self._links.values())
        return Model(self.name, root, links, ordered, g.tolist(), source, loops, self._checked_actuated(ordered))

    def _checked_loop(self, loop: LoopJoint, joints: Sequence[Joint]) -> LoopJoint:
        if any(joint.name == loop.name for joint in joints):
            raise ModelError(f"{self._where}: a loop and a joint are named {loop.name!r}; names must be unique.")
        for end, link in (("parent", loop.parent), ("child", loop.child)):
            if link not in self._links and link != WORLD_LINK:
                raise ModelError(f"{self._where}, loop {loop.name!r}, {end}: {unknown_name('link', link, self._links)}")
        if loop.parent == loop.child:
            raise ModelError(f"{self._where}: loop {loop.name!r} joins link {loop.parent!r} to itself.")
        return loop

    def _checked_actuated(self, joints: Sequence[Joint]) -> tuple[str, ...] | None:
        if self._actuated is None:
            return None
        own = [joint.name for joint in joints if joint.nv]
        for name in self._actuated:
            if name not in own:
                raise ModelError(f"{self._where}, actuated: {unknown_name('joint that moves', name, own)}")
        return self._actuated

    def _checked_ends(self, joint: Joint) -> Joint:
        for end, link in (("parent", joint.parent), ("child", joint.child)):
            if link not in self._links:
                raise ModelError(
                    f"{self._where}, joint {joint.name!r}, {end}: {unknown_name('link', link, self._links)}"
                )
        if joint.parent == joint.child:
            raise ModelError(f"{self._where}: joint {joint.name!r} joins link {joint.parent!r} to itself.")
        return joint

    def _root(self, joints: dict[str, Joint]) -> str:
        carriers: dict[str, str] = {}
        for joint in joints.values():
            if joint.child in carriers:
                raise ModelError(
                    f"{self._where}: link {joint.child!r} is the child of two joints, {carriers[joint.child]!r} and "
                    f"{joint.name!r}. In a tree each link has one parent; describe a closed loop as a loop joint."
                )
            carriers[joint.child] = joint.name
        roots = [name for name in self._links if name not in carriers]
        if not roots:
            chain = " -> ".join(list(carriers)[:8])
            raise ModelError(f"{self._where}: no link is a root, the joints form a cycle through {chain}.")
        if len(roots) > 1:
            shown = ", ".join(repr(r) for r in roots[:8]) + (", ..." if len(roots) > 8 else "")
            raise ModelError(
                f"{self._where}: {len(roots)} links have no parent: {shown}. A model has one root: add the missing "
                "joints, or remove the links that belong to nothing."
            )
        return roots[0]

    def _depth_first(self, root: str, joints: dict[str, Joint]) -> list[Joint]:
        children: dict[str, list[Joint]] = {name: [] for name in self._links}
        for joint in joints.values():
            children[joint.parent].append(joint)
        ordered: list[Joint] = []
        pending = list(reversed(children[root]))
        while pending:
            joint = pending.pop()
            ordered.append(joint)
            pending.extend(reversed(children[joint.child]))
        if len(ordered) != len(joints):
            reached = {j.name for j in ordered}
            lost = ", ".join(repr(n) for n in joints if n not in reached)
            raise ModelError(f"{self._where}: joints {lost} are in a cycle that the root {root!r} does not reach.")
        return ordered

    def _with_mimics(self, ordered: list[Joint]) -> list[Joint]:
        """Mimic chains resolved to the joint that has the coordinates."""
        by_name = {j.name: j for j in ordered}
        final: dict[str, Mimic | None] = {}  # by joint; each chain is followed once
        for joint in ordered:
            chain: list[Joint] = []
            on_chain: set[str] = set()
            current = joint
            while current.name not in final and current.mimic is not None:
                if current.name in on_chain:
                    raise ModelError(f"{self._where}: joint {current.name!r} mimics itself through {sorted(on_chain)}.")
                chain.append(current)
                on_chain.add(current.name)
                current = self._mimicked(current, current.mimic.joint, by_name)
            final.setdefault(current.name, None)
            for follower in reversed(chain):
                own = follower.mimic
                inner = final[own.joint] if own else None
                if own and inner:
                    factor = own.multiplier
                    own = Mimic(inner.joint, factor * inner.multiplier, factor * inner.offset + own.offset)
                final[follower.name] = own
        return [replace(joint, mimic=final[joint.name]) for joint in ordered]

    def _mimicked(self, joint: Joint, source: str, by_name: dict[str, Joint]) -> Joint:
        if source not in by_name:
            raise ModelError(f"{self._where}, joint {joint.name!r}, mimic: {unknown_name('joint', source, by_name)}")
        if JOINT_TYPES[by_name[source].kind].nv != 1 or JOINT_TYPES[joint.kind].nv != 1:
            raise ModelError(
                f"{self._where}: joint {joint.name!r} mimics {source!r}, but only joints with one degree "
                "of freedom can mimic or be mimicked."
            )
        return by_name[source]


def planar_chain(
    n: int,
    length: float = 1.0,
    mass: float = 1.0,
    gravity: Sequence[float] = STANDARD_GRAVITY,
) -> Model:
    """A chain of n equal thin rods in the x-z plane, joints about +y, links along +z at zero angle.

    The thesis' planar manipulators (Takahashi 2012): the rods' inertia is diag(ml²/12, ml²/12, 0).
    """
    rod = mass * length**2 / 12.0
    builder = Builder(f"planar_{n}r").link("base")
    for i in range(1, n + 1):
        builder.link(f"link_{i}", mass, (0.0, 0.0, length / 2.0), (rod, rod, 0.0))
        parent, height = ("base", 0.0) if i == 1 else (f"link_{i - 1}", length)
        builder.joint(f"joint_{i}", "revolute", parent, f"link_{i}", (0.0, 0.0, height), axis=(0.0, 1.0, 0.0))
    return builder.build(gravity=gravity)


def chain_3d(
    n: int,
    length: float = 0.1,
    mass: float = 1.0,
    base: str = "fixed",
    gravity: Sequence[float] = STANDARD_GRAVITY,
) -> Model:
    """A chain of n equal rods with joints about x, y, z in turn and all inertial parameters non-zero."""
    r = length * np.array([0.1, 0.2, 0.5])
    I = mass * length**2 * np.array([[1.0, 0.05, 0.02], [0.05, 1.1, -0.04], [0.02, -0.04, 0.3]])
    builder = Builder(f"chain_{n}").link("base", mass, (0.0, 0.0, 0.0), np.eye(3) * mass * length**2)
    for i in range(1, n + 1):
        builder.link(f"link_{i}", mass, r, I)
        parent, height = ("base", 0.0) if i == 1 else (f"link_{i - 1}", length)
        axis = np.eye(3)[(i - 1) % 3]
        builder.joint(f"joint_{i}", "revolute", parent, f"link_{i}", (0.0, 0.0, height), axis=axis)
    return builder.build(base=base, gravity=gravity)
