# SPDX-License-Identifier: Apache-2.0
"""The mechanism as the algorithms see it: moving bodies only, joint axes on coordinate axes, constants as floats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ada_dynamics.model.joints import JointType
from ada_dynamics.model.joints.rows import RowKind
from ada_dynamics.spatial.inertia import RigidInertia
from ada_dynamics.spatial.scalar import Scalar
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vec3 import Vec3

WORLD = -1
NO_MOVE = Transform()


@dataclass(frozen=True, eq=False, slots=True)
class Body:
    """One moving rigid body (a link and all that is fixed to it) with the joint that carries it.

    `placement`, `inertia`, spring and dissipation terms are constants in a robot's own kernel and expression nodes in
    the generic loop kernels: the algorithms cannot tell.
    """

    name: str  # of the joint
    index: int
    parent: int  # index of the parent body, or WORLD
    joint: JointType
    placement: Transform  # of the joint's frame in the parent body's frame
    inertia: RigidInertia  # about the origin of the body's frame
    q: slice  # where the joint's variables are in the model's vectors
    v: slice
    armature: Scalar = 0.0
    damping: Scalar = 0.0
    friction: Scalar = 0.0
    multiplier: float = 1.0  # of a joint that mimics another: its q = multiplier * q[self.q] + offset
    offset: float = 0.0
    stiffness: Scalar = 0.0  # of the joint's spring
    rest: Scalar = 0.0  # where it does not pull

    def positions(self, q: Sequence[Scalar]) -> Sequence[Scalar]:
        """The joint's position variables out of the model's."""
        own = q[self.q]
        if self.is_independent:
            return own
        return tuple(self.multiplier * x + self.offset for x in own)

    def velocities(self, v: Sequence[Scalar]) -> Sequence[Scalar]:
        """The joint's velocities (or accelerations) out of the model's."""
        own = v[self.v]
        return own if self.multiplier == 1.0 else tuple(self.multiplier * x for x in own)

    @property
    def is_independent(self) -> bool:
        """True if the joint has its own coordinates."""
        return self.multiplier == 1.0 and self.offset == 0.0

    def transform(self, q: Sequence[Scalar]) -> Transform:
        """Pose of the body's frame in its parent's, for the joint's own position variables."""
        return self.placement @ self.joint.pose(q)


@dataclass(frozen=True, eq=False, slots=True)
class Frame:
    """Where a link of the description sits: constant pose in a body's frame, or in the world's."""

    link: str
    body: int
    pose: Transform


@dataclass(frozen=True, eq=False)
class Loop:
    """A joint that closes a loop: frame A in one body is joined to frame B in another (or in the world).

    The joint's axis is on a coordinate axis of both frames, as `joint` has it. A universal joint's first axis is z of
    frame A, its second one y of frame B.
    """

    name: str
    joint: JointType
    parent: int  # body of frame A, or WORLD
    parent_pose: Transform  # of frame A in that body
    child: int
    child_pose: Transform  # of frame B
    turn: Transform = NO_MOVE  # frame B in the child-side frame of the description, whose axis can point anywhere
    is_turned: bool = False  # parent and child are exchanged against the description

    # Asked for in every pose, so found once.
    @cached_property
    def rows(self) -> tuple[RowKind, ...]:
        """The columns of T, forces first."""
        return self.joint.rows()

    @cached_property
    def kept_axes(self) -> tuple[int, ...]:
        """Coordinate axes that have the same direction in both frames."""
        return self.joint.kept_axes()

    @cached_property
    def moves_origin(self) -> bool:
        """True if the two origins can move apart."""
        return self.joint.moves_origin()

    def turned(self) -> Loop:
        """The same joint from its other side; one with two axes, one on each side, stays as it is."""
        if self.joint.axes == 2:
            return self
        return Loop(
            self.name,
            self.joint,
            self.child,
            self.child_pose,
            self.parent,
            self.parent_pose,
            self.turn,
            not self.is_turned,
        )


@dataclass(frozen=True, eq=False)
class Tree:
    """Bodies in depth-first order; a parent comes before its children. Loop joints come on top."""

    bodies: tuple[Body, ...]
    frames: Mapping[str, Frame]
    gravity: Vec3
    nq: int
    nv: int
    loops: tuple[Loop, ...] = ()

    @property
    def grounded_loops(self) -> list[str]:
        """Loops that join a body to the world."""
        return [loop.name for loop in self.loops if WORLD in (loop.parent, loop.child)]

    def ancestry(self, body: int) -> list[int]:
        """The body and its ancestors, innermost first."""
        path = []
        while body != WORLD:
            path.append(body)
            body = self.bodies[body].parent
        return path

    def with_turned_loops(self) -> Tree:
        """The same mechanism with the conditions of its loops in the axes of their other sides."""
        return replace(self, loops=tuple(loop.turned() for loop in self.loops))

    def with_inertias(self, inertias: Sequence[RigidInertia]) -> Tree:
        """The same tree with other body inertias."""
        bodies = tuple(replace(b, inertia=i) for b, i in zip(self.bodies, inertias, strict=True))
        return replace(self, bodies=bodies)
