# SPDX-License-Identifier: Apache-2.0
"""Conditions of loop joints from poses and motions of frames in pinocchio, and its own constraints where it has them.

A condition is a number that vanishes where the loop is closed. It is written in two frames alone, A in the parent and
B in the child link, and shares nothing with the library's algorithms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.model.elements import LoopJoint
from ada_tools.engines.pinocchio_tree import WORLD, Frame, PinocchioTree

PARALLEL = 1e-12  # of unit vectors that are parallel or perpendicular but for rounding


@dataclass(frozen=True)
class Row:
    """One condition: n . (origin of B seen from A) = 0 with n fixed in A; or n . m = 0 with m fixed in B.

    With a pitch, n . (origin of B seen from A) is pitch times the angle by which B is turned about n, with any number
    of whole turns.
    """

    n: Array
    m: Array | None = None
    pitch: float = 0.0


class Rates(NamedTuple):
    """A number that depends on poses, its rate, that per velocity, and the second rate at accelerations of zero."""

    value: Any
    rate: Any
    J: Any
    gamma: Any


def rows_of(loop: LoopJoint) -> list[Row]:
    """The conditions of a loop joint; their directions are orthonormal where the loop is closed."""
    e = np.eye(3)
    u = loop.axis
    across = np.linalg.svd(u[None])[2][1:]
    all_points, points_across = [Row(n) for n in e], [Row(n) for n in across]
    turns = [Row(e[0], e[1]), Row(e[1], e[2]), Row(e[2], e[0])]
    tilts = [Row(n, u) for n in across]
    return {
        "revolute": all_points + tilts,
        "spherical": all_points,
        "prismatic": points_across + turns,
        "cylindrical": points_across + tilts,
        "helical": [*points_across, *tilts, Row(u, pitch=loop.constants.get("pitch", 0.0))],
        "planar": [Row(u), *tilts],
        "fixed": all_points + turns,
        "universal": [*all_points, Row(u, loop.axis2)],
    }[loop.kind]


def rates_of(row: Row, A: Frame, B: Frame) -> Rates:
    """A condition in two frames that move."""
    n = A.R @ row.n
    if row.m is not None:
        return _product(n, B.R @ row.m, A, B)
    dn = np.cross(A.w, n)
    ddn = np.cross(A.dw, n) + np.cross(A.w, dn)
    apart = n @ (B.p - A.p)
    rate = dn @ (B.p - A.p) + n @ (B.v - A.v)
    J = n @ (B.Jv - A.Jv) + np.cross(n, B.p - A.p) @ A.Jw
    gamma = ddn @ (B.p - A.p) + 2.0 * dn @ (B.v - A.v) + n @ (B.dv - A.dv)
    if not row.pitch:
        return Rates(apart, rate, J, gamma)
    turned = _turned(row.n, A, B)
    off = (apart / row.pitch - turned.value + np.pi) % (2.0 * np.pi) - np.pi
    J = J - row.pitch * turned.J
    return Rates(row.pitch * off, rate - row.pitch * turned.rate, J, gamma - row.pitch * turned.gamma)


def _product(n: Array, m: Array, A: Frame, B: Frame) -> Rates:
    """n . m of a direction that is fixed in A, and one that is fixed in B."""
    dn, dm = np.cross(A.w, n), np.cross(B.w, m)
    ddn, ddm = np.cross(A.dw, n) + np.cross(A.w, dn), np.cross(B.dw, m) + np.cross(B.w, dm)
    return Rates(n @ m, dn @ m + n @ dm, np.cross(m, n) @ (B.Jw - A.Jw), ddn @ m + 2.0 * dn @ dm + n @ ddm)


def _turned(axis: Array, A: Frame, B: Frame) -> Rates:
    """Angle by which B is turned about an axis of A."""
    a = np.linalg.svd(axis[None])[2][1]
    b = np.cross(axis, a)
    parts = [_product(A.R @ x, B.R @ y, A, B) for x, y in ((a, a), (b, b), (b, a), (a, b))]
    c = Rates(*(x + y for x, y in zip(parts[0], parts[1], strict=True)))
    s = Rates(*(x - y for x, y in zip(parts[2], parts[3], strict=True)))
    size = c.value**2 + s.value**2
    rate, J, gamma = ((c.value * y - s.value * x) / size for x, y in zip(c[1:], s[1:], strict=True))
    gamma = gamma - 2.0 * rate * (c.value * c.rate + s.value * s.rate) / size
    return Rates(float(np.arctan2(s.value, c.value)), rate, J, gamma)


class LoopConditions:
    """All conditions of a model's loops, stacked: g(q) = 0, ġ = J v, g̈ = J v̇ + γ."""

    def __init__(self, tree: PinocchioTree) -> None:
        """Args: the model's tree."""
        self.tree = tree
        self.loops = list(tree.ours.loops.values())
        self.rows = [(loop, row) for loop in self.loops for row in rows_of(loop)]

    def sides(self, q: Array, v: Array | None = None, a: Array | None = None) -> dict[str, tuple[Frame, Frame]]:
        """Both frames of each loop, in motion."""
        SE3 = self.tree.pin.SE3
        self.tree.move(q, v, a)
        return {
            loop.name: (
                self.tree.frame(loop.parent, SE3(loop.parent_rotation, loop.parent_xyz)),
                self.tree.frame(loop.child, SE3(loop.child_rotation, loop.child_xyz)),
            )
            for loop in self.loops
        }

    def closing(self, q: Array) -> Array:
        """g(q) [m] or [rad]."""
        sides = self.sides(q)
        return np.array([rates_of(row, *sides[loop.name]).value for loop, row in self.rows])

    def gap(self, q: Array) -> float:
        """How far the loops are open [m] or [rad], with directions: an axis the wrong way round is open by 2."""
        sides = self.sides(q)
        worst = float(np.max(np.abs(self.closing(q)), initial=0.0))
        for loop in self.loops:
            A, B = sides[loop.name]
            if loop.kind in ("prismatic", "fixed"):
                worst = max(worst, float(np.max(np.abs(A.R - B.R))))
            elif loop.kind not in ("spherical", "universal"):
                worst = max(worst, float(np.max(np.abs((A.R - B.R) @ loop.axis))))
        return worst

    def jacobian(self, q: Array) -> Array:
        """J = ∂ġ/∂v."""
        sides = self.sides(q)
        rows = [rates_of(row, *sides[loop.name]).J for loop, row in self.rows]
        return np.array(rows).reshape(-1, self.tree.ours.nv)

    def gamma(self, q: Array, v: Array) -> Array:
        """γ: g̈ at v̇ = 0."""
        sides = self.sides(q, v)
        return np.array([rates_of(row, *sides[loop.name]).gamma for loop, row in self.rows])

    def frame_jacobians(self, q: Array) -> Array:
        """Of both frames of each loop: what J is made of, and so what its zeros are rounding of."""
        stack = [np.zeros((0, self.tree.ours.nv))]
        for A, B in self.sides(q).values():
            stack += [A.Jv, A.Jw, B.Jv, B.Jw]
        return np.vstack(stack)

    def scale(self, q: Array) -> float:
        """The size against which singular values of J are small or not."""
        return float(np.linalg.norm(self.frame_jacobians(q), axis=1).max(initial=1e-300))


def constraint(tree: PinocchioTree, loop: LoopJoint) -> Any:
    """A loop joint as pinocchio's `RigidConstraintModel`, or None where it has none.

    Fixed joints are its CONTACT_6D, spherical ones CONTACT_3D. A revolute joint whose loop can only move in a plane
    is a CONTACT_3D, too: the links keep its axis upright by themselves, and one of its three conditions, that across
    the plane, is redundant. So solve it with a proximal parameter above zero.
    """
    pin = tree.pin
    in_plane = loop.kind == "revolute" and moves_in_plane(tree, loop)
    if loop.kind not in ("fixed", "spherical") and not in_plane:
        return None
    sides = [
        (loop.parent, pin.SE3(loop.parent_rotation, loop.parent_xyz)),
        (loop.child, pin.SE3(loop.child_rotation, loop.child_xyz)),
    ]
    ends = []
    for link, inside in sides:
        joint, placement = tree.frames[link]
        ends.append((joint, placement * inside))
    if ends[0][0] == 0:
        ends.reverse()  # pinocchio 4.1's lcaba crashes where the first joint is the world
    kind = pin.ContactType.CONTACT_6D if loop.kind == "fixed" else pin.ContactType.CONTACT_3D
    made = pin.RigidConstraintModel(kind, tree.model, *ends[0], *ends[1], pin.ReferenceFrame.LOCAL)
    made.name = loop.name
    return made


def moves_in_plane(tree: PinocchioTree, loop: LoopJoint) -> bool:
    """True if all joints between the two links of a loop joint leave its axis the direction that it has."""
    tree.move(tree.ours.neutral())  # directions that no joint changes are the same in every pose
    axis = tree.frame(loop.parent).R @ loop.parent_rotation @ loop.axis
    other = tree.frame(loop.child).R @ loop.child_rotation @ loop.axis
    if not _is_parallel(axis, other):
        return False
    carriers = {joint.child: joint for joint in tree.ours.joints.values()}
    above: list[set[str]] = []
    for end in (loop.parent, loop.child):
        links = set()
        link = end
        while link != WORLD and link in carriers:
            links.add(link)
            link = carriers[link].parent
        above.append(links)
    for link in above[0] ^ above[1]:  # what lies above both ends is not part of the loop
        joint = carriers[link]
        direction = tree.frame(joint.parent).R @ joint.rotation @ joint.axis
        turns_upright = joint.kind in ("revolute", "continuous", "planar") and _is_parallel(axis, direction)
        slides_flat = joint.kind == "prismatic" and abs(float(axis @ direction)) < PARALLEL
        if not (joint.kind == "fixed" or turns_upright or slides_flat):
            return False
    return True


def _is_parallel(a: Array, b: Array) -> bool:
    return float(np.linalg.norm(np.cross(a, b))) < PARALLEL
