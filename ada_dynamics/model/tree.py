# SPDX-License-Identifier: Apache-2.0
"""The mechanism as the algorithms see it: moving bodies only, joint axes on coordinate axes, constants as floats."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from typing import overload

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.model import stacks
from ada_dynamics.model.elements import Joint
from ada_dynamics.model.joints import JointType
from ada_dynamics.model.joints.rows import RowKind
from ada_dynamics.model.rigid import Pose
from ada_dynamics.spatial.inertia import RigidInertia
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vector import Scalar, Vec3

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


@dataclass(frozen=True, eq=False)
class Columns:
    """All bodies at once: a row of numbers for each, or a list."""

    carriers: Sequence[Joint | Body]  # whose names, loads and springs are the bodies'
    kinds: Sequence[JointType]
    parents: Sequence[int]
    rotations: Array  # of the placements: (n, 3, 3)
    positions: Array  # (n, 3)
    inertias: stacks.Inertias
    q: Sequence[slice]
    v: Sequence[slice]

    @classmethod
    def of(cls, bodies: Sequence[Body]) -> Columns:
        """From one object for each, whose constants are numbers."""
        alike = {body.placement.rotation for body in bodies}  # joints that are placed alike share a rotation
        matrices = {rotation: np.array(rotation.matrix(), dtype=float) for rotation in alike}
        return cls(
            bodies,
            [body.joint for body in bodies],
            [body.parent for body in bodies],
            stacks.stack([matrices[body.placement.rotation] for body in bodies]).reshape(-1, 3, 3),
            np.array([body.placement.position for body in bodies], dtype=float).reshape(-1, 3),
            stacks.Inertias.of([body.inertia for body in bodies]),
            [body.q for body in bodies],
            [body.v for body in bodies],
        )

    @cached_property
    def loads(self) -> Array:
        """Armature, damping and friction."""
        return self._of_each("armature", "damping", "friction")

    @cached_property
    def springs(self) -> Array:
        """Stiffness and rest."""
        return self._of_each("stiffness", "rest")

    def _of_each(self, *names: str) -> Array:
        count = len(self.carriers)
        return np.column_stack([np.fromiter(map(attrgetter(name), self.carriers), float, count) for name in names])

    def inertia(self, index: int) -> RigidInertia:
        """Of one body."""
        return stacks.Inertias(*(column[index : index + 1] for column in self.inertias)).each()[0]

    def bodies(self) -> tuple[Body, ...]:
        """One object for each."""
        placements = stacks.transforms(self.rotations, self.positions)
        inertias = self.inertias.each()
        rows = zip(self.carriers, self.kinds, self.parents, placements, inertias, self.q, self.v, strict=True)
        made = []
        for index, (own, kind, parent, placement, inertia, q, v) in enumerate(rows):
            loads = (own.armature, own.damping, own.friction)
            mimic = own.mimic if isinstance(own, Joint) else None
            tie = (mimic.multiplier, mimic.offset) if mimic else (1.0, 0.0)
            spring = (own.stiffness, own.rest)
            made.append(Body(own.name, index, parent, kind, placement, inertia, q, v, *loads, *tie, *spring))
        return tuple(made)


class Bodies(Sequence[Body]):
    """Bodies as columns; the objects are made when one of them is asked for."""

    def __init__(self, columns: Columns) -> None:
        """Args: the columns."""
        self.columns = columns

    @property
    def _all(self) -> tuple[Body, ...]:
        made: tuple[Body, ...] | None = vars(self).get("_made")
        # Threads that meet here get the same ones.
        return made if made is not None else vars(self).setdefault("_made", self.columns.bodies())

    def __len__(self) -> int:
        return len(self.columns.parents)

    def __iter__(self) -> Iterator[Body]:
        return iter(self._all)

    @overload
    def __getitem__(self, index: int) -> Body: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Body, ...]: ...

    def __getitem__(self, index: int | slice) -> Body | tuple[Body, ...]:
        return self._all[index]


@dataclass(frozen=True, eq=False, slots=True)
class Frame:
    """Where a link of the description sits: constant pose in a body's frame, or in the world's."""

    link: str
    body: int
    pose: Transform


class Frames(Mapping[str, Frame]):
    """Frames of links as columns; the objects are made when one of them is asked for."""

    def __init__(self, places: Mapping[str, tuple[int, Pose]]) -> None:
        """Args: body of each link, and its pose there."""
        self._places = places

    @property
    def _all(self) -> dict[str, Frame]:
        made: dict[str, Frame] | None = vars(self).get("_made")
        return made if made is not None else vars(self).setdefault("_made", self._make())

    def _make(self) -> dict[str, Frame]:
        """Those with the same pose in their bodies share it."""
        distinct = {id(pose): pose for _, pose in self._places.values()}
        cleaned = stacks.cleaned(*stacks.stacked(list(distinct.values())))
        poses = dict(zip(distinct, stacks.transforms(*cleaned), strict=True))
        return {name: Frame(name, body, poses[id(pose)]) for name, (body, pose) in self._places.items()}

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self._places))

    def __contains__(self, link: object) -> bool:
        return link in self._places

    def __getitem__(self, link: str) -> Frame:
        return self._all[link]


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

    bodies: Sequence[Body]
    frames: Mapping[str, Frame]
    gravity: Vec3
    nq: int
    nv: int
    loops: tuple[Loop, ...] = ()

    @cached_property
    def columns(self) -> Columns:
        """The constants of all bodies, which must be numbers."""
        return self.bodies.columns if isinstance(self.bodies, Bodies) else Columns.of(self.bodies)

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
