# SPDX-License-Identifier: Apache-2.0
"""Trees whose equal limbs (legs, arms, fingers) are one limb with lanes of constants and variables.

The steps of the algorithms run unchanged on the bodies of such a tree. `LaneTree.seen_from_below` and
`LaneTree.from_above` exchange values between a limb and its parents, which may be different bodies for different lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple, TypeVar, cast

from ada_dynamics.expr import extract, lane_sum, pack
from ada_dynamics.model.tree import WORLD, Body, Tree
from ada_dynamics.spatial.inertia import RigidInertia
from ada_dynamics.spatial.rotation import constant_rotation
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vector import Scalar

T = TypeVar("T")
MAX_LANES = 8  # further equal limbs form another group


class LaneOfBody(NamedTuple):
    """A lane of a body of a `LaneTree`; the world has one lane."""

    body: int
    lane: int


@dataclass(frozen=True, eq=False)
class LaneTree:
    """A tree whose bodies represent one body of the original tree per lane.

    Attributes:
        original: the original tree.
        tree: the bodies, parents first. Their `parent` is that of lane 0; q and v count lane values.
        members: bodies of the original tree, by body and lane.
        parents: parent, by body and lane.
    """

    original: Tree
    tree: Tree
    members: tuple[tuple[int, ...], ...]
    parents: tuple[tuple[LaneOfBody, ...], ...]

    @property
    def has_lanes(self) -> bool:
        """Return True if some limbs are equal."""
        return any(len(bodies) > 1 for bodies in self.members)

    # --- the model's vectors ----------------------------------------------------------------------------------------
    def positions(self, q: Sequence[Scalar]) -> list[Scalar]:
        """q of this tree from that of the original tree."""
        bodies = self.original.bodies
        return _lanes_side_by_side([[q[bodies[i].q] for i in own] for own in self.members])

    def rates(self, v: Sequence[Scalar]) -> list[Scalar]:
        """v (or accelerations, or efforts) of this tree from that of the original tree."""
        bodies = self.original.bodies
        return _lanes_side_by_side([[v[bodies[i].v] for i in own] for own in self.members])

    def original_rates(self, v: Sequence[Scalar]) -> list[Scalar]:
        """v of the original tree from that of this tree."""
        result: list[Scalar] = [0.0] * self.original.nv
        for body, own in zip(self.tree.bodies, self.members, strict=True):
            for lane, i in enumerate(own):
                result[self.original.bodies[i].v] = [extract(x, lane) for x in v[body.v]]
        return result

    # --- between limbs and their parents ----------------------------------------------------------------------------
    def of_members(self, body: int, values: Mapping[int, T], default: T) -> T:
        """Values of the members of a body as one value with lanes.

        Args:
            body: the body.
            values: by body of the original tree.
            default: value of members that are missing in `values`.
        """
        return lanes_packed([values.get(i, default) for i in self.members[body]])

    def from_above(self, body: int, values: Mapping[int, T]) -> T:
        """Values of a body's parents (`WORLD` included) as one value with the lanes of the body."""
        places = self.parents[body]
        above = places[0].body
        if above != WORLD and places == tuple(LaneOfBody(above, lane) for lane in range(len(self.members[above]))):
            return values[above]
        return lanes_packed([cast(T, on_scalars(partial(extract, lane=lane), values[i])) for i, lane in places])

    def seen_from_below(self, body: int, values: Mapping[int, T]) -> list[T]:
        """Values of a body's children as terms with the lanes of the body; their sum is the total of all children.

        Children in the same lanes are added before their lanes are summed.
        """
        width = len(self.members[body])
        terms: list[T] = []
        to_sum: dict[int, Any] = {}  # by number of lanes
        for child in self.children[body]:
            value = values[child]
            own = [place.lane if place.body == body else None for place in self.parents[child]]
            if own == list(range(width)):
                terms.append(value)
            elif width == 1 and None not in own:
                to_sum[len(own)] = to_sum[len(own)] + value if len(own) in to_sum else value
            else:
                terms.append(on_scalars(partial(_redistributed, own, width), value))
        return [*terms, *(on_scalars(lambda x, n=lanes: lane_sum(x, n), total) for lanes, total in to_sum.items())]

    @cached_property
    def children(self) -> dict[int, list[int]]:
        """Bodies that have the given body as parent in some lane."""
        result: dict[int, list[int]] = {i: [] for i in range(WORLD, len(self.members))}
        for child, places in enumerate(self.parents):
            for parent in dict.fromkeys(place.body for place in places):
                result[parent].append(child)
        return result


def on_scalars(function: Callable[..., Any], *values: Any) -> Any:
    """Apply a function to the scalars in nested (named) tuples of the same shape."""
    first = values[0]
    if not isinstance(first, tuple):
        return function(*values)
    parts = [on_scalars(function, *items) for items in zip(*values, strict=True)]
    return type(first)(*parts) if hasattr(first, "_fields") else tuple(parts)


def lanes_packed(values: Sequence[T]) -> T:
    """One value with lanes from nested tuples of scalars, one per lane."""
    return cast(T, on_scalars(lambda *lanes: pack(lanes), *values))


def _lanes_side_by_side(rows: Iterable[Sequence[Sequence[Scalar]]]) -> list[Scalar]:
    """Pack the vectors of each row into one vector with lanes, and concatenate the rows."""
    return [pack(lanes) for row in rows for lanes in zip(*row, strict=True)]


def _redistributed(own: Sequence[int | None], width: int, x: Scalar) -> Scalar:
    """Add lane i of a scalar to lane own[i] of a scalar with `width` lanes."""
    lanes: list[Scalar] = [0.0] * width
    for source, target in enumerate(own):
        if target is not None:
            lanes[target] = lanes[target] + extract(x, source)
    return pack(lanes)


# --- which limbs are equal ------------------------------------------------------------------------------------------
def lane_tree(tree: Tree) -> LaneTree:
    """Combine equal limbs of a tree in lanes, largest limbs first; all other bodies have one lane."""
    shape = _shapes(tree)
    children = _children(tree)
    groups: list[tuple[int, ...]] = []
    covered: set[int] = set()
    by_shape: dict[int, list[int]] = {}
    for body in tree.bodies:
        by_shape.setdefault(shape[body.index], []).append(body.index)
    sizes = {key: len(_limb(roots[0], children, shape)) for key, roots in by_shape.items()}
    for key in sorted(by_shape, key=lambda k: -sizes[k]):
        roots = [i for i in by_shape[key] if i not in covered]
        while len(roots) > 1:
            taken, roots = roots[:MAX_LANES], roots[MAX_LANES:]
            limbs = [_limb(root, children, shape) for root in taken]
            groups.extend(zip(*limbs, strict=True))
            covered.update(i for limb in limbs for i in limb)
    groups.extend((body.index,) for body in tree.bodies if body.index not in covered)
    return _assembled(tree, _parents_first(tree, groups))


def _children(tree: Tree) -> list[list[int]]:
    children: list[list[int]] = [[] for _ in tree.bodies]
    for body in tree.bodies:
        if body.parent != WORLD:
            children[body.parent].append(body.index)
    return children


def _shapes(tree: Tree) -> list[int]:
    """A number for each body, equal for bodies that carry limbs of equal joints in equal order."""
    children = _children(tree)
    known: dict[tuple[Any, ...], int] = {}
    shape = [0] * len(tree.bodies)
    for body in reversed(tree.bodies):
        below = tuple(sorted(shape[i] for i in children[body.index]))
        joint = (body.joint.moves_as, tuple(sorted(vars(body.joint).items())), body.multiplier, body.offset)
        shape[body.index] = known.setdefault((joint, below), len(known))
    return shape


def _limb(root: int, children: Sequence[Sequence[int]], shape: Sequence[int]) -> list[int]:
    """Bodies of a limb, depth-first; children are ordered by their shapes, so that equal limbs match."""
    result, stack = [], [root]
    while stack:
        i = stack.pop()
        result.append(i)
        stack.extend(sorted(children[i], key=lambda child: (shape[child], -child)))
    return result


def _parents_first(tree: Tree, groups: Iterable[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """The groups in an order with parents first, close to the order of the tree."""
    waiting = sorted(groups)
    done: set[int] = {WORLD}
    order: list[tuple[int, ...]] = []
    while waiting:
        ready = next(group for group in waiting if all(tree.bodies[i].parent in done for i in group))
        waiting.remove(ready)
        done.update(ready)
        order.append(ready)
    return order


# --- bodies whose constants have lanes ------------------------------------------------------------------------------
def _assembled(tree: Tree, groups: Sequence[tuple[int, ...]]) -> LaneTree:
    place = {i: LaneOfBody(number, lane) for number, group in enumerate(groups) for lane, i in enumerate(group)}
    place[WORLD] = LaneOfBody(WORLD, 0)
    bodies: list[Body] = []
    nq = nv = 0
    for number, group in enumerate(groups):
        joint = tree.bodies[group[0]].joint
        body = _body_with_lanes([tree.bodies[i] for i in group])
        bodies.append(
            replace(
                body,
                index=number,
                parent=place[tree.bodies[group[0]].parent].body,
                q=slice(nq, nq + joint.nq),
                v=slice(nv, nv + joint.nv),
            )
        )
        nq, nv = nq + joint.nq, nv + joint.nv
    parents = tuple(tuple(place[tree.bodies[i].parent] for i in group) for group in groups)
    return LaneTree(tree, Tree(tuple(bodies), {}, tree.gravity, nq, nv), tuple(groups), parents)


_LOADS = ("armature", "damping", "friction", "stiffness", "rest")


def _body_with_lanes(bodies: Sequence[Body]) -> Body:
    if len(bodies) == 1:
        return bodies[0]
    position = lanes_packed([body.placement.position for body in bodies])
    rotation = constant_rotation(*(body.placement.rotation.matrix() for body in bodies))
    inertia: RigidInertia = lanes_packed([body.inertia for body in bodies])
    loads = {name: pack([getattr(body, name) for body in bodies]) for name in _LOADS}
    return replace(bodies[0], placement=Transform(rotation, position), inertia=inertia, **loads)
