# SPDX-License-Identifier: Apache-2.0
"""Loop constraints from poses and motions of frames in pinocchio, and constraint models of pinocchio if available.

A constraint row is a residual in two frames, A in the parent and B in the child link, that vanishes if the loop is
closed. It shares no code with the algorithms of the library.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.model.elements import LoopJoint
from ada_experiments.pinocchio_tree import WORLD, LinkFrame, PinocchioTree

PARALLEL = 1e-12  # tolerance for parallel or perpendicular unit vectors


@dataclass(frozen=True)
class LoopConstraintRow:
    """Constraint n · (origin of B relative to A) = 0 with n fixed in A, or n · m = 0 with m fixed in B.

    With a pitch, n · (origin of B relative to A) equals the pitch times the angle of B about n, modulo full turns.
    """

    n: Array
    m: Array | None = None
    pitch: float = 0.0


class ConstraintRates(NamedTuple):
    """Residual, its rate, its Jacobian, and its second rate at zero accelerations."""

    value: Any
    rate: Any
    J: Any
    gamma: Any


def constraint_rows(loop: LoopJoint) -> list[LoopConstraintRow]:
    """Constraint rows of a loop joint; their directions are orthonormal if the loop is closed."""
    e = np.eye(3)
    u = loop.axis
    across = np.linalg.svd(u[None])[2][1:]
    all_points, points_across = [LoopConstraintRow(n) for n in e], [LoopConstraintRow(n) for n in across]
    turns = [LoopConstraintRow(e[0], e[1]), LoopConstraintRow(e[1], e[2]), LoopConstraintRow(e[2], e[0])]
    tilts = [LoopConstraintRow(n, u) for n in across]
    return {
        "revolute": all_points + tilts,
        "spherical": all_points,
        "prismatic": points_across + turns,
        "cylindrical": points_across + tilts,
        "helical": [*points_across, *tilts, LoopConstraintRow(u, pitch=loop.constants.get("pitch", 0.0))],
        "planar": [LoopConstraintRow(u), *tilts],
        "fixed": all_points + turns,
        "universal": [*all_points, LoopConstraintRow(u, loop.axis2)],
    }[loop.kind]


def constraint_rates(row: LoopConstraintRow, A: LinkFrame, B: LinkFrame) -> ConstraintRates:
    """Evaluate a constraint row in two moving frames."""
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
        return ConstraintRates(apart, rate, J, gamma)
    turned = _rotation_angle(row.n, A, B)
    off = (apart / row.pitch - turned.value + np.pi) % (2.0 * np.pi) - np.pi
    J = J - row.pitch * turned.J
    return ConstraintRates(row.pitch * off, rate - row.pitch * turned.rate, J, gamma - row.pitch * turned.gamma)


def _product(n: Array, m: Array, A: LinkFrame, B: LinkFrame) -> ConstraintRates:
    """n · m for a direction fixed in A and one fixed in B."""
    dn, dm = np.cross(A.w, n), np.cross(B.w, m)
    ddn, ddm = np.cross(A.dw, n) + np.cross(A.w, dn), np.cross(B.dw, m) + np.cross(B.w, dm)
    return ConstraintRates(n @ m, dn @ m + n @ dm, np.cross(m, n) @ (B.Jw - A.Jw), ddn @ m + 2.0 * dn @ dm + n @ ddm)


def _rotation_angle(axis: Array, A: LinkFrame, B: LinkFrame) -> ConstraintRates:
    """Angle of B about an axis of A."""
    a = np.linalg.svd(axis[None])[2][1]
    b = np.cross(axis, a)
    parts = [_product(A.R @ x, B.R @ y, A, B) for x, y in ((a, a), (b, b), (b, a), (a, b))]
    c = ConstraintRates(*(x + y for x, y in zip(parts[0], parts[1], strict=True)))
    s = ConstraintRates(*(x - y for x, y in zip(parts[2], parts[3], strict=True)))
    size = c.value**2 + s.value**2
    rate, J, gamma = ((c.value * y - s.value * x) / size for x, y in zip(c[1:], s[1:], strict=True))
    gamma = gamma - 2.0 * rate * (c.value * c.rate + s.value * s.rate) / size
    return ConstraintRates(float(np.arctan2(s.value, c.value)), rate, J, gamma)


class LoopConstraints:
    """All constraints of the loops of a model: g(q) = 0, ġ = J v, g̈ = J v̇ + γ."""

    def __init__(self, tree: PinocchioTree) -> None:
        """Initialize with the tree of the model."""
        self.tree = tree
        self.loops = list(tree.ours.loops.values())
        self.rows = [(loop, row) for loop in self.loops for row in constraint_rows(loop)]

    def sides(self, q: Array, v: Array | None = None, a: Array | None = None) -> dict[str, tuple[LinkFrame, LinkFrame]]:
        """Both frames of each loop at a state."""
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
        """Residuals g(q) [m, rad]."""
        sides = self.sides(q)
        return np.array([constraint_rates(row, *sides[loop.name]).value for loop, row in self.rows])

    def gap(self, q: Array) -> float:
        """Largest constraint violation [m, rad]; the orientation of axes is included, a reversed axis yields 2."""
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
        """Constraint Jacobian J = ∂ġ/∂v, (m, nv)."""
        sides = self.sides(q)
        rows = [constraint_rates(row, *sides[loop.name]).J for loop, row in self.rows]
        return np.array(rows).reshape(-1, self.tree.ours.nv)

    def gamma(self, q: Array, v: Array) -> Array:
        """Bias γ, which is g̈ at v̇ = 0, (m,)."""
        sides = self.sides(q, v)
        return np.array([constraint_rates(row, *sides[loop.name]).gamma for loop, row in self.rows])

    def frame_jacobians(self, q: Array) -> Array:
        """Jacobians of both frames of each loop, the magnitude of which determines rounding errors of J."""
        stack = [np.zeros((0, self.tree.ours.nv))]
        for A, B in self.sides(q).values():
            stack += [A.Jv, A.Jw, B.Jv, B.Jw]
        return np.vstack(stack)

    def scale(self, q: Array) -> float:
        """Reference for singular values of J."""
        return float(np.linalg.norm(self.frame_jacobians(q), axis=1).max(initial=1e-300))


def constraint(tree: PinocchioTree, loop: LoopJoint) -> Any:
    """`RigidConstraintModel` of pinocchio for a loop joint, or None if pinocchio has none.

    Fixed joints are CONTACT_6D, spherical joints CONTACT_3D. A revolute joint of a planar loop is a CONTACT_3D, too, as
    the links keep its axis perpendicular to the plane; one of its three rows is redundant, so the proximal parameter
    must be positive.
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
        ends.reverse()  # pinocchio 4.1's lcaba crashes if the first joint is the world
    kind = pin.ContactType.CONTACT_6D if loop.kind == "fixed" else pin.ContactType.CONTACT_3D
    made = pin.RigidConstraintModel(kind, tree.model, *ends[0], *ends[1], pin.ReferenceFrame.LOCAL)
    made.name = loop.name
    return made


def moves_in_plane(tree: PinocchioTree, loop: LoopJoint) -> bool:
    """Return True if all joints of a loop preserve the direction of the axis of its loop joint."""
    tree.move(tree.ours.neutral())  # constant directions are the same at every configuration
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
    for link in above[0] ^ above[1]:  # common ancestors are not part of the loop
        joint = carriers[link]
        direction = tree.frame(joint.parent).R @ joint.rotation @ joint.axis
        turns_upright = joint.kind in ("revolute", "continuous", "planar") and _is_parallel(axis, direction)
        slides_flat = joint.kind == "prismatic" and abs(float(axis @ direction)) < PARALLEL
        if not (joint.kind == "fixed" or turns_upright or slides_flat):
            return False
    return True


def _is_parallel(a: Array, b: Array) -> bool:
    return float(np.linalg.norm(np.cross(a, b))) < PARALLEL
