# SPDX-License-Identifier: Apache-2.0
"""Forward dynamics by hybrid modelling: sub-chains by their equations of motion, joined by ADA (Takahashi 2012, ch. 4).

Assembly starts from whole sub-chains instead of links, which saves its first and last steps (sec. 4.2.3, fig. 4.4).
Traced, a sub-chain is a symbolic operator with the robot's constants folded; on floats it is plain numbers. Cuts are
given, or chosen among candidates by their cost (future work of ch. 4).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

from ada_dynamics.algorithms import ada
from ada_dynamics.algorithms.assembly import State
from ada_dynamics.algorithms.assembly_order import AssemblyOrder, pieces_first
from ada_dynamics.algorithms.joint_space import ByArticulatedInertia, ByMassMatrix, SubChain, sub_tree
from ada_dynamics.errors import InputError, check_name
from ada_dynamics.expr import Function, trace
from ada_dynamics.jit.estimate import instructions
from ada_dynamics.model.tree import WORLD, Tree
from ada_dynamics.spatial.motion import Force
from ada_dynamics.spatial.vector import Scalar

# Constraint rows in use by loop.
Rows: TypeAlias = tuple[tuple[str, tuple[int, ...]], ...] | None

METHODS: tuple[type[SubChain], ...] = (ByMassMatrix, ByArticulatedInertia)
# Candidate sizes of sub-chains; tracing a program takes some hundredths of a second per ten joints.
SIZES = (1, 2, 3, 4, 6, 8, 12, 16)
# Cuts of trees up to this size are also changed one by one; each change is traced.
MENDED_UP_TO = 8


def solve(
    tree: Tree,
    state: Sequence[Sequence[Scalar]],
    external: Mapping[int, Force] | None,
    cuts: tuple[int, ...],
    rows: Mapping[str, Sequence[int]] | None,
    method: type[SubChain],
) -> list[Scalar]:
    """Compute the joint accelerations of a tree that is cut at the joints of some bodies.

    Args:
        tree: the mechanism.
        state: q, v and τ.
        external: wrench on a body about its origin, in its axes.
        cuts: bodies at whose joints the tree is cut.
        rows: constraint rows in use by loop (see `ada.solve`).
        method: factorizes the mass matrix of a sub-chain.
    """

    def sub_chain(at: State, joints: Sequence[int]) -> SubChain:
        return method(sub_tree(at.tree, joints), at.q, at.v, at.effort, at.w, at.external)

    q, v, tau = state
    return ada.solve(tree, q, v, tau, external, assembly_order(tree, cuts), rows, sub_chain).accelerations


# --- partition into sub-chains at the cuts --------------------------------------------------------------------------
def cut_joints(tree: Tree, names: Sequence[str]) -> tuple[int, ...]:
    """Bodies of the joints at which a tree is to be cut.

    Args:
        tree: the mechanism.
        names: names of the joints.

    Raises:
        InputError: a name is unknown or that of a loop joint.
    """
    if isinstance(names, str):
        text = f"cuts is {names!r}; give 'auto', or a list of joint names such as [{names!r}]."
        raise InputError(text, field="cuts", value=names, allowed="'auto', or a list of joint names")
    numbers = {body.name: body.index for body in tree.bodies}
    loops = {loop.name for loop in tree.loops}
    for name in names:
        if name in loops:
            text = f"joint {name!r} closes a loop and is not part of a sub-chain: remove it from the cuts."
            raise InputError(text, loop=name, field="cuts")
        check_name("joint", name, numbers)
    return tuple(sorted({numbers[name] for name in names}))


def pieces(tree: Tree, cuts: Iterable[int]) -> list[tuple[int, ...]]:
    """Joints inside each sub-chain, by their bodies; sub-chains that are a single link are omitted."""
    cut = set(cuts)
    piece: dict[int, int] = {}  # of each body, by its first body
    inside: dict[int, list[int]] = {}
    for body in tree.bodies:
        starts = body.index in cut or body.parent == WORLD
        piece[body.index] = body.index if starts else piece[body.parent]
        if body.index not in cut:
            inside.setdefault(piece[body.index], []).append(body.index)
    return [tuple(joints) for joints in inside.values()]


@lru_cache(maxsize=256)
def assembly_order(tree: Tree, cuts: tuple[int, ...]) -> AssemblyOrder:
    """Assembly order: first the sub-chains, then the cut joints inward with the loops that they complete (fig. 4.4)."""
    return pieces_first(tree, pieces(tree, cuts), cuts)


# --- candidates -------------------------------------------------------------------------------------------------------
def uniform_cuts(tree: Tree, size: int) -> tuple[int, ...]:
    """Cuts that limit the number of links in series in a sub-chain, counted from the base."""
    links: dict[int, int] = {}
    cuts = []
    for body in tree.bodies:
        count = links.get(body.parent, 0)
        if count >= size:
            cuts.append(body.index)
            count = 0
        links[body.index] = count + 1
    return tuple(cuts)


def limb_cuts(tree: Tree) -> tuple[int, ...]:
    """A cut at each limb where several limbs start from one link, so that equal limbs are equal sub-chains."""
    starts: dict[int, list[int]] = {}
    for body in tree.bodies:
        starts.setdefault(body.parent, []).append(body.index)
    several = [limb for parent, limbs in starts.items() if parent != WORLD and len(limbs) > 1 for limb in limbs]
    return tuple(sorted(several))


def candidates(tree: Tree) -> list[tuple[int, ...]]:
    """Candidate cuts: none, at the limbs, sub-chains of equal size, or all joints beyond the first sub-chain."""
    depths = {body.index: len(tree.ancestry(body.index)) for body in tree.bodies}
    limbs = limb_cuts(tree)
    found = [(), limbs]
    for size in (size for size in SIZES if size < max(depths.values())):
        uniform = uniform_cuts(tree, size)
        # one sub-chain at the base and single links beyond it: a floating sub-chain costs six more velocities
        grounded = tuple(i for i, depth in depths.items() if depth > size)
        found += [uniform, tuple(sorted({*uniform, *limbs})), grounded]
    return list(dict.fromkeys(found))


# --- cost ------------------------------------------------------------------------------------------------------------
def traced(tree: Tree, cuts: tuple[int, ...], rows: Rows = None, method: type[SubChain] | None = None) -> Function:
    """The traced forward dynamics for some cuts.

    Args:
        tree: the mechanism.
        cuts: bodies at whose joints the tree is cut.
        rows: constraint rows in use by loop; all by default.
        method: factorizes the mass matrix of a sub-chain; the cheapest by default.
    """
    used = None if rows is None else dict(rows)
    way = method or cheapest_method(tree, cuts, rows)

    def body(q: Sequence[Scalar], v: Sequence[Scalar], tau: Sequence[Scalar]) -> dict[str, Any]:
        return {"a": solve(tree, (q, v, tau), None, cuts, used, way)}

    return trace("forward_hybrid", {"q": tree.nq, "v": tree.nv, "tau": tree.nv}, body)


@lru_cache(maxsize=1024)
def _instructions(tree: Tree, cuts: tuple[int, ...], rows: Rows, method: type[SubChain]) -> float:
    return instructions(traced(tree, cuts, rows, method))


def cheapest_method(tree: Tree, cuts: tuple[int, ...], rows: Rows = None) -> type[SubChain]:
    """The factorization of the sub-chains that needs fewer instructions."""
    return min(METHODS, key=lambda method: _instructions(tree, cuts, rows, method))


def costs(tree: Tree, choices: Iterable[tuple[int, ...]], rows: Rows = None) -> dict[tuple[int, ...], float]:
    """Estimated number of instructions of the whole program for each choice of cuts."""
    return {cuts: min(_instructions(tree, cuts, rows, method) for method in METHODS) for cuts in choices}


def frozen(rows: Mapping[str, Sequence[int]] | None) -> Rows:
    """Constraint rows in use, as a hashable tuple."""
    return None if rows is None else tuple((name, tuple(rows[name])) for name in sorted(rows))


@lru_cache(maxsize=32)
def cheapest_cuts(tree: Tree, rows: Rows) -> tuple[int, ...]:
    """The cuts whose program has the fewest instructions: the best candidate, improved cut by cut on small trees."""
    known = costs(tree, candidates(tree), rows)
    best = min(known, key=known.__getitem__)
    if len(tree.bodies) > MENDED_UP_TO:
        return best
    while True:
        near = [tuple(sorted({*best} ^ {body.index})) for body in tree.bodies]
        known = costs(tree, [best, *near], rows)
        better = min(known, key=known.__getitem__)
        if known[better] >= known[best]:
            return best
        best = better


def forward_dynamics(
    tree: Tree,
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    tau: Sequence[Scalar],
    external: Mapping[int, Force] | None = None,
    cuts: Sequence[str] | str = "auto",
    rows: Mapping[str, Sequence[int]] | None = None,
) -> list[Scalar]:
    """Compute the joint accelerations.

    Arguments are those of `ada.solve`. The cuts are names of joints, or "auto" for the program with the fewest
    instructions; `rows` are the constraint rows in use by loop (see `ada.solve`).
    """
    used = frozen(rows)
    chosen = cheapest_cuts(tree, used) if isinstance(cuts, str) and cuts == "auto" else cut_joints(tree, cuts)
    method = cheapest_method(tree, chosen, used)
    return solve(tree, (q, v, tau), external, chosen, rows, method)
