# SPDX-License-Identifier: Apache-2.0
"""Constraint rows of loop joints: closure error, rows of J with J v = 0, and their bias γ = J̇ v.

A row is a column of the loop joint's T (Takahashi 2012, eqs. 2.7-2.9): a force or moment that the joint transmits, and
a direction in which its two frames A and B have no relative motion. Rows have the axes of frame A. Directions are
transformed outward along the branches and points inward, which needs fewer operations than the transformation of
wrenches, and only joints below the nearest common ancestor of the two bodies are involved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ada_dynamics import expr
from ada_dynamics.algorithms.kinematics import Moving
from ada_dynamics.model.joints.base import NORMAL, SECOND, RowKind
from ada_dynamics.model.tree import WORLD, Loop, Tree
from ada_dynamics.spatial.motion import NO_FORCE, Force
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vector import UNIT3, ZERO, ZERO3, Scalar, Vec3, cross


@dataclass(frozen=True)
class ConstraintRow:
    """A constraint J a + γ = 0, and the wrenches of its multiplier λ = 1 on the two bodies."""

    columns: dict[int, Scalar]  # J: by index in v
    rate: Scalar  # γ = J̇ v, without the accelerations of weight
    wrenches: dict[int, Force]  # by body, about its origin in its axes; none for the world
    own: Force  # on the description's child, about the origin of its frame, in that frame's axes


def combined(weights: Sequence[Scalar], rows: Sequence[ConstraintRow]) -> ConstraintRow:
    """The constraint Σ w (J a + γ) = 0."""
    columns: dict[int, Scalar] = {}
    wrenches: dict[int, Force] = {}
    own, rate = NO_FORCE, sum((w * row.rate for w, row in zip(weights, rows, strict=True)), ZERO)
    for w, row in zip(weights, rows, strict=True):
        for k, value in row.columns.items():
            columns[k] = columns.get(k, 0.0) + w * value
        for i, wrench in row.wrenches.items():
            wrenches[i] = wrenches.get(i, NO_FORCE) + w * wrench
        own = own + w * row.own
    return ConstraintRow(columns, rate, wrenches, own)


class Branches:
    """The branches from the nearest common ancestor to the bodies of a loop joint, and transformations along them."""

    def __init__(self, tree: Tree, X: Sequence[Transform], loop: Loop) -> None:
        """Args: mechanism, pose of every body in its parent, the loop."""
        self.tree, self.X, self.loop = tree, X, loop
        sides: tuple[list[int], list[int]] = ([], [])
        ends = [loop.parent, loop.child]
        while ends[0] != ends[1]:  # parents come before their children, so the later body is no ancestor of the other
            later = int(ends[1] > ends[0])
            sides[later].append(ends[later])
            ends[later] = tree.bodies[ends[later]].parent
        self.top = ends[0]
        self.parent_side, self.child_side = sides[0][::-1], sides[1][::-1]  # inner bodies first

    def up(self, x: Vec3, side: Sequence[int]) -> Vec3:
        """A direction at the end of a branch, in the axes of the common ancestor."""
        for i in reversed(side):
            x = self.X[i].rotation.to_parent(x)
        return x

    def axes(self, k: int, of_child: int | None = None) -> tuple[Vec3, Vec3]:
        """Axis k of frame A, and of frame B axis k or another one, in the axes of the common ancestor."""
        A, B = self.loop.parent_pose.rotation, self.loop.child_pose.rotation
        b = B.to_parent(UNIT3[k if of_child is None else of_child])
        return self.up(A.to_parent(UNIT3[k]), self.parent_side), self.up(b, self.child_side)

    def direction(self, x: Vec3) -> dict[int, Vec3]:
        """A direction in the axes of frame A, in the axes of every body on both branches."""
        x = self.loop.parent_pose.rotation.to_parent(x)
        found = {self.loop.parent: x}
        for i in reversed(self.parent_side):
            x = self.X[i].rotation.to_parent(x)
            found[self.tree.bodies[i].parent] = x
        return self.downward(x, self.child_side, found)

    def everywhere(self, x: Vec3) -> dict[int, Vec3]:
        """A direction in the axes of the common ancestor, in the axes of every body on both branches."""
        return self.downward(x, self.child_side, self.downward(x, self.parent_side, {self.top: x}))

    def downward(self, x: Vec3, side: Sequence[int], found: dict[int, Vec3]) -> dict[int, Vec3]:
        """A direction in the axes of the common ancestor, in the axes of every body on a branch."""
        for i in side:
            x = self.X[i].rotation.to_child(x)
            found[i] = x
        return found

    def points(self) -> tuple[dict[int, Vec3], dict[int, Vec3]]:
        """Position of the joint in the frame of every body of the parent's branch and of the child's branch.

        Both branches use the same point, the origin of B: the two wrenches then balance although the loop is not
        exactly closed. If the common ancestor is the world, which balances any couple, each branch may use the origin
        of its frame, which is cheaper.
        """
        outer = self._points_up(self.loop.child_pose.position, self.loop.child, self.child_side)
        if self.top == WORLD and not self.loop.moves_origin:
            return self._points_up(self.loop.parent_pose.position, self.loop.parent, self.parent_side), outer
        inner = {self.top: outer[self.top]}
        for i in self.parent_side:
            apart = inner[self.tree.bodies[i].parent] - self.X[i].position
            inner[i] = self.X[i].rotation.to_child(apart)
        return inner, outer

    def _points_up(self, r: Vec3, body: int, side: Sequence[int]) -> dict[int, Vec3]:
        found = {body: r}
        for i in reversed(side):
            r = self.X[i].point(r)
            found[self.tree.bodies[i].parent] = r
        return found


# --- position -------------------------------------------------------------------------------------------------------
def closure_error(tree: Tree, X: Sequence[Transform], loop: Loop, rows: Sequence[int] | None = None) -> list[Scalar]:
    """Closure error of a loop, row by row [m, rad]; its rate is J v if the loop is closed."""
    branches = Branches(tree, X, loop)
    a_axes, b_axes = zip(*map(branches.axes, range(3)), strict=True)
    own = branches._points_up(loop.parent_pose.position, loop.parent, branches.parent_side)[branches.top]
    other = branches._points_up(loop.child_pose.position, loop.child, branches.child_side)[branches.top]
    apart = other - own
    # sine of the rotation from A's axes, or its joint axis, to B's: half the sum if all three axes must agree
    crossed = sum((cross(a_axes[k], b_axes[k]) for k in loop.kept_axes), ZERO3)
    turned = 0.5 * crossed if len(loop.kept_axes) == 3 else crossed
    kinds = loop.rows
    result = []
    for i in range(len(kinds)) if rows is None else rows:
        is_force, k, pitch = kinds[i]
        if pitch:
            result.append(_screw_error(a_axes, b_axes, apart, k, pitch))
        elif k == NORMAL:
            result.append(-(a_axes[2] @ b_axes[1]))
        else:
            result.append(a_axes[k] @ (apart if is_force else turned))
    return result


def _screw_error(a: Sequence[Vec3], b: Sequence[Vec3], apart: Vec3, k: int, pitch: float) -> Scalar:
    """Closure error of a screw joint along axis k, modulo full turns."""
    i, j = (k + 1) % 3, (k + 2) % 3
    cosine, sine = a[i] @ b[i] + a[j] @ b[j], a[j] @ b[i] - a[i] @ b[j]  # times two
    angle = a[k] @ apart / pitch
    c, s = expr.cos(angle), expr.sin(angle)
    return pitch * expr.atan2(cosine * s - sine * c, cosine * c + sine * s)


def agreement(tree: Tree, X: Sequence[Transform], loop: Loop) -> Scalar:
    """Negative if the closure error can vanish although an axis, or a frame, has the opposite direction."""
    kept = loop.kept_axes
    if not kept:
        return 1.0
    branches = Branches(tree, X, loop)
    return sum((a @ b for a, b in map(branches.axes, kept)), ZERO) - (1.0 if len(kept) == 3 else 0.0)


# --- velocity and acceleration --------------------------------------------------------------------------------------
def loop_rows(
    tree: Tree,
    X: Sequence[Transform],
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    moving: Mapping[int, Moving],
    loop: Loop,
    rows: Sequence[int | RowKind] | None = None,
    velocities: Mapping[int, Vec3] | None = None,
) -> list[ConstraintRow]:
    """Constraint rows of a loop.

    Args:
        tree: the mechanism.
        X: pose of every body in its parent.
        q: positions.
        v: velocities.
        moving: motion of every body, and of the world, with zero joint accelerations.
        loop: the loop.
        rows: indices into `Loop.rows`, or other kinds of rows; all of the loop by default.
        velocities: of both ends at their origins, where the ends share a frame; otherwise those of q and v.
    """
    branches = Branches(tree, X, loop)
    kinds = loop.rows
    chosen = [kinds[row] if isinstance(row, int) else row for row in (range(len(kinds)) if rows is None else rows)]
    inner, outer = branches.points()
    rates = _Rates(branches, q, v, moving, inner, outer, chosen, velocities)
    directions = {axis: _direction(branches, axis) for axis in dict.fromkeys(kind.axis for kind in chosen)}
    bodies = [tree.bodies[i] for i in (*branches.parent_side, *branches.child_side)]
    subspaces = {body.index: body.joint.subspace(body.positions(q)) for body in bodies}

    def row_of(kind: RowKind) -> ConstraintRow:
        if kind.pitch:
            parts = [row_of(RowKind(is_force, kind.axis)) for is_force in (True, False)]
            return combined((1.0, -kind.pitch), parts)
        e = directions[kind.axis]
        ends = ((loop.parent, branches.parent_side, inner, -1.0), (loop.child, branches.child_side, outer, 1.0))
        columns: dict[int, Scalar] = {}
        wrenches: dict[int, Force] = {}
        for end, side, points, sign in ends:
            for body in (tree.bodies[i] for i in side):
                wrench = _wrench(kind, e[body.index], points[body.index])
                for k, s in zip(range(body.v.start, body.v.stop), subspaces[body.index], strict=True):
                    columns[k] = columns.get(k, 0.0) + sign * body.multiplier * (s @ wrench)
            if end != WORLD:
                wrenches[end] = sign * _wrench(kind, e[end], points[end])
        own = _own_wrench(kind, loop, e, inner)
        return ConstraintRow(columns, rates.of(kind, e[branches.top]), wrenches, own)

    return [row_of(kind) for kind in chosen]


def _wrench(kind: RowKind, e: Vec3, r: Vec3) -> Force:
    """A unit force through the point r, or a unit moment."""
    return Force(cross(r, e), e) if kind.is_force else Force(e, ZERO3)


def _own_wrench(kind: RowKind, loop: Loop, e: Mapping[int, Vec3], inner: Mapping[int, Vec3]) -> Force:
    """Unit wrench of a row on the child of the description, which is the parent if the loop is reversed."""
    if not loop.is_turned:
        along = loop.child_pose.rotation.to_child(e[loop.child])
        return Force(ZERO3, along) if kind.is_force else Force(along, ZERO3)
    pose = loop.parent_pose.rotation
    arm = pose.to_child(inner[loop.parent] - loop.parent_pose.position)
    return -_wrench(kind, pose.to_child(e[loop.parent]), arm)


def _direction(branches: Branches, axis: int) -> dict[int, Vec3]:
    """Axis of a row, for a universal joint also u x w or w, in the axes of every body on both branches."""
    if axis == NORMAL:
        return branches.everywhere(cross(*branches.axes(2, 1)))
    return branches.everywhere(branches.axes(1)[1]) if axis == SECOND else branches.direction(UNIT3[axis])


class _Rates:
    """γ of the rows, in the axes of the common ancestor.

    A force row n fixed in A: n.(a_B - a_A) - 2 n.(w_A x v_BA); a moment row: n.(ẇ_B - ẇ_A) + (w_A x n).(w_B - w_A).
    """

    def __init__(
        self,
        branches: Branches,
        q: Sequence[Scalar],
        v: Sequence[Scalar],
        moving: Mapping[int, Moving],
        inner: Mapping[int, Vec3],
        outer: Mapping[int, Vec3],
        chosen: Sequence[RowKind],
        velocities: Mapping[int, Vec3] | None,
    ) -> None:
        self.branches = branches
        loop = branches.loop
        a, b = moving[loop.parent], moving[loop.child]
        up_a, up_b = branches.parent_side, branches.child_side
        point_a = branches.up(a.a + a.spin @ inner[loop.parent], up_a)
        point_b = branches.up(b.a + b.spin @ outer[loop.child], up_b)
        self.apart = point_b - point_a
        self.w: Vec3 = ZERO3
        if loop.moves_origin or not all(kind.is_force for kind in chosen):
            self.w = branches.up(a.w, up_a)
            self.w_between = branches.up(b.w, up_b) - self.w
            self.wd_between = branches.up(b.wd, up_b) - branches.up(a.wd, up_a)
        if loop.moves_origin:
            if velocities is None:
                sliding = _point_velocity(branches, q, v, up_b, outer) - _point_velocity(branches, q, v, up_a, inner)
            else:
                point_a = branches.up(velocities[loop.parent] + cross(a.w, inner[loop.parent]), up_a)
                sliding = branches.up(velocities[loop.child] + cross(b.w, outer[loop.child]), up_b) - point_a
            self.apart = self.apart - 2.0 * cross(self.w, sliding)

    def of(self, kind: RowKind, n: Vec3) -> Scalar:
        """γ of a row with direction n."""
        if kind.is_force:
            return n @ self.apart
        turning = cross(self.w, n)
        if kind.axis == NORMAL:
            u, w = self.branches.axes(2, 1)
            turning = turning + cross(u, cross(self.w_between, w))
        return n @ self.wd_between + turning @ self.w_between


def _point_velocity(
    branches: Branches, q: Sequence[Scalar], v: Sequence[Scalar], side: Sequence[int], points: Mapping[int, Vec3]
) -> Vec3:
    """Velocity of a branch's last body at its point, relative to the common ancestor, in its axes."""
    total: Vec3 = ZERO3
    for i in reversed(side):
        body = branches.tree.bodies[i]
        relative = body.joint.relative_velocity(body.positions(q), body.velocities(v))
        own = relative.linear + cross(relative.angular, points[i])
        total = branches.X[i].rotation.to_parent(total + own)
    return total
