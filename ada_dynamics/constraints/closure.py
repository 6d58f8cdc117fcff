# SPDX-License-Identifier: Apache-2.0
"""Find a pose that closes all loops near a rough one: Levenberg-Marquardt on the configuration manifold."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ada_dynamics.algorithms import closure
from ada_dynamics.algorithms.kinematics import transforms
from ada_dynamics.arrays import Array
from ada_dynamics.constraints.constraint_set import LoopNumbers
from ada_dynamics.constraints.rank import CERTAIN, ROUNDED_GAP, Rows, moves, rank_at
from ada_dynamics.errors import BeyondLimitsWarning, InputError, ModelError, unknown_name
from ada_dynamics.model.bounds import bounds_of, within_limits
from ada_dynamics.model.model import Model
from ada_dynamics.model.tree import Tree

CLOSED = 1e-11  # largest gap of a closed loop, relative to the mechanism's length
_LONGEST_STEP = 0.6  # [rad], or in lengths of the mechanism
_RESTARTS = 24
_PATIENCE, _STALLED = 10, 0.9  # steps in which gaps must shrink to this share
_CUT = 1e-9  # of the largest singular value: less is arithmetic
_DAMPINGS = (0.0, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1e3)  # of the largest singular value


class Closing(NamedTuple):
    """Where Gauss-Newton has come to."""

    q: Array
    gap: float  # the largest one, in lengths of the mechanism
    steps: int


def close(
    numbers: LoopNumbers,
    q: Array,
    free: NDArray[np.intp] | None = None,
    steps: int = 60,
    tolerance: float = CLOSED,
    polish: int = 2,
    cut: float = _CUT,
    stalled: float = _STALLED,
) -> Closing:
    """Gauss-Newton steps by singular values, damped where they do not help.

    Args:
        numbers: the loops.
        q: where to start.
        free: indices of the velocities that may change; all by default.
        steps: how many to try.
        tolerance: a gap at which to stop, relative to the mechanism's length.
        polish: steps that are taken from there on.
        cut: singular values below this share of the largest are left alone.
        stalled: share to which gaps must shrink in ten steps; else they are left, as in a minimum that is open.
    """
    model, weights = numbers.model, 1.0 / (numbers.weights * numbers.length)
    moved = np.arange(model.nv) if free is None else free

    def error(at: Array) -> Array:
        return numbers.gap(at) * weights

    g = error(q)
    taken, before = 0, np.inf
    for _ in range(steps):
        if taken % _PATIENCE == 0:
            now = float(np.linalg.norm(g))
            if now > stalled * before and now > ROUNDED_GAP:
                break
            before = now
        size = float(np.max(np.abs(g), initial=0.0))
        if size < tolerance:
            if polish == 0 or size == 0.0:
                break
            polish -= 1
        J = numbers.jacobian(q)[:, moved] * weights[:, None]
        better = _better(numbers, q, g, J, moved, error, cut)
        taken += 1
        if better is None:
            break
        q, g = better
    return Closing(q, float(np.max(np.abs(g), initial=0.0)), taken)


def _better(
    numbers: LoopNumbers,
    q: Array,
    g: Array,
    J: Array,
    moved: NDArray[np.intp],
    error: Callable[[Array], Array],
    cut: float,
) -> tuple[Array, Array] | None:
    """A pose with a smaller gap, by a step that is the more damped the less the full one helps; None at a minimum."""
    U, s, Vt = np.linalg.svd(J, full_matrices=False)
    if not np.max(s, initial=0.0) > 0.0:
        return None
    along = U.T @ g
    longest = _LONGEST_STEP * max(1.0, numbers.length)
    for damping in _DAMPINGS:
        kept = np.where(s > cut * s[0], s, 0.0)
        factors = kept / np.where(kept > 0.0, s * s + (damping * s[0]) ** 2, 1.0)
        step = np.zeros(numbers.model.nv)
        step[moved] = -Vt.T @ (factors * along)
        step *= min(1.0, longest / max(float(np.max(np.abs(step))), 1e-300))
        candidate = numbers.model.integrate(q, step)
        found = error(candidate)
        if float(np.linalg.norm(found)) < float(np.linalg.norm(g)) * (1.0 - 1e-12):
            return candidate, found
    return None


# --- is it really closed --------------------------------------------------------------------------------------------
def flipped(tree: Tree, q: Array) -> list[str]:
    """Loops whose gap vanishes because an axis, or a frame, is the wrong way round."""
    X = transforms(tree, q.tolist())
    return [loop.name for loop in tree.loops if float(closure.agreement(tree, X, loop)) < 0.0]


# --- assembly -------------------------------------------------------------------------------------------------------
def assembled(model: Model, numbers: LoopNumbers, guess: Array, free: NDArray[np.intp] | None = None) -> Array:
    """A pose near the guess that closes all loops; raises where none is found."""
    rng = np.random.default_rng(20120301)
    best: Closing | None = None
    wrong_way: list[str] = []
    for attempt in range(1 + _RESTARTS):
        start = guess
        if attempt:
            push = np.zeros(model.nv)
            push[slice(None) if free is None else free] = rng.normal(size=model.nv if free is None else len(free))
            start = model.integrate(guess, push * min(1.5, 0.1 * attempt))
        found = close(numbers, start, free)
        if found.gap < CLOSED:
            turned = flipped(model.tree, found.q)
            if not turned:
                return found.q
            wrong_way = wrong_way or turned
            continue
        if best is None or found.gap < best.gap:
            best = found
        meant = _closed_but_for_rounding(numbers, start, free) if found.gap < ROUNDED_GAP else None
        if meant is not None:
            return meant
    if best is not None:
        best = close(numbers, best.q, free, stalled=np.inf)
    raise _why_open(model, numbers, best, wrong_way, free is not None)


def _closed_but_for_rounding(numbers: LoopNumbers, start: Array, free: NDArray[np.intp] | None) -> Array | None:
    """A pose of an overconstrained mechanism whose lengths and axes are rounded, so that it cannot close exactly."""
    q = close(numbers, start, free, cut=CERTAIN).q
    rows = Rows(numbers)
    if rows.size(q) > ROUNDED_GAP or flipped(numbers.model.tree, q):
        return None
    rank = rank_at(rows, q)
    return q if rank < numbers.model.nv and moves(rows, q, rank) else None


def _why_open(
    model: Model, numbers: LoopNumbers, best: Closing | None, wrong_way: Sequence[str], some_held: bool
) -> ModelError:
    where = f"model {model.name!r}"
    held = " with the held joints where they are" if some_held else ""
    field = "hold" if some_held else "guess"
    if best is None:
        return ModelError(
            f"{where}: loop {', '.join(map(repr, wrong_way))} only closes with its axes in opposite directions{held}; "
            "turn the frame of one of its sides, or start from another pose.",
            loop=wrong_way[0],
            field="axis",
        )
    gaps = _open_by(numbers, best.q)
    shown = "; ".join(f"{name!r} by {text}" for name, text in list(gaps.items())[:6])
    return ModelError(
        f"{where} cannot be assembled{held}: nearest to closed, these loops stay open: {shown}. Check the lengths and "
        f"frames of the joints on them, or start from a pose nearer to the closed one ({1 + _RESTARTS} starts tried).",
        loop=", ".join(gaps),
        field=field,
        value=gaps,
    )


def _open_by(numbers: LoopNumbers, q: Array) -> dict[str, str]:
    """How far each loop that is open is from closed, in words."""
    squares: dict[tuple[str, bool], float] = {}
    for size, (loop, _, kind) in zip(numbers.gap(q).tolist(), numbers.conditions, strict=True):
        squares[loop, kind.is_force] = squares.get((loop, kind.is_force), 0.0) + size * size
    found: dict[str, list[str]] = {}
    for (loop, is_force), square in squares.items():
        if np.sqrt(square) > CLOSED * max(1.0, numbers.length):
            found.setdefault(loop, []).append(f"{np.sqrt(square):.3g} {'m' if is_force else 'rad'}")
    return {loop: " and ".join(parts) for loop, parts in found.items()}


def start_of(model: Model, guess: ArrayLike | None) -> Array:
    """The guess as an array, with its quaternions made unit length; that of the model's file where there is none."""
    if guess is None:
        return model.home()
    q = model.as_positions(guess, "guess")
    if not np.isfinite(q).all():
        message = f"guess is {q.tolist()!r:.200}; finite numbers are needed."
        raise InputError(message, field="guess", value=q, allowed="finite")
    problems = model.position_problems(q)
    if problems:
        message = f"guess of model {model.name!r}: " + "; ".join(problems) + "."
        raise InputError(message, field="guess", value=q, joint=problems[0].split("'")[1])
    return q.copy()


def free_velocities(model: Model, hold: str | Sequence[str]) -> NDArray[np.intp] | None:
    """Indices of the velocities of the joints that may move."""
    if not hold:
        return None
    fixed = np.zeros(model.nv, dtype=bool)
    for name in [hold] if isinstance(hold, str) else hold:
        if name not in model.joint_names:
            raise unknown_name("joint", name, model.joint_names)
        fixed[model.v_index(name)] = True
    return np.flatnonzero(~fixed)


# --- position limits --------------------------------------------------------------------------------------------------
BEYOND = 1e-6  # [rad, m] that is rounding
_STARTS = 24
_STEPS = 60
_SHOWN = 4  # joints in a message


def limited(numbers: LoopNumbers, q: Array, guess: Array, free: NDArray[np.intp] | None) -> Array:
    """A closed configuration within the limits; the given one, with a warning, where none is found.

    Args:
        numbers: the loops.
        q: a configuration that closes them.
        guess: from which it was found.
        free: indices of the velocities that may change; all by default.
    """
    model = numbers.model
    moved = np.arange(model.nv) if free is None else free
    if not _excess(model, q, moved).any():
        return q
    rng = np.random.default_rng(20120301)
    swung = np.isin(moved, np.r_[model.v_index(model.floating_joint)] if model.floating_joint else [], invert=True)
    for attempt in range(_STARTS):
        start = q
        if attempt:
            push = np.zeros(model.nv)
            push[moved] = swung * rng.normal(size=len(moved)) * min(2.0, 0.15 * (attempt - 1))
            start = _only(model, guess, within_limits(model, model.integrate(guess, push)), moved)
        found = close(numbers, _pressed(numbers, start, moved), free)
        is_closed = found.gap < CLOSED and not flipped(model.tree, found.q)
        if is_closed and not _excess(model, found.q, moved).any():
            return found.q
    _warn(model, q, moved)
    return q


def _only(model: Model, q: Array, wanted: Array, moved: NDArray[np.intp]) -> Array:
    """The first configuration with some velocities' part of the way to the second."""
    way = np.zeros(model.nv)
    way[moved] = model.difference(q, wanted)[moved]
    return np.asarray(model.integrate(q, way))


def _excess(model: Model, q: Array, moved: NDArray[np.intp]) -> Array:
    """The way back to the limits, of the velocities that may change."""
    back = np.asarray(model.difference(q, within_limits(model, q)))[moved]
    return np.where(np.abs(back) > BEYOND, back, 0.0)


def _pressed(numbers: LoopNumbers, q: Array, moved: NDArray[np.intp]) -> Array:
    """Steps that close the loops and, as far as these let them, bring joints back to their limits and hold them."""
    model, weights = numbers.model, 1.0 / (numbers.weights * numbers.length)
    held = np.zeros(len(moved), dtype=bool)
    for _ in range(_STEPS):
        back, gap = _excess(model, q, moved), numbers.gap(q) * weights
        held |= back != 0.0
        if not back.any() and float(np.max(np.abs(gap), initial=0.0)) < CLOSED:
            break
        U, s, Vt = np.linalg.svd(numbers.jacobian(q)[:, moved] * weights[:, None], full_matrices=True)
        rank = int(np.sum(s > _CUT * np.max(s, initial=0.0)))
        step = -Vt[:rank].T @ ((U[:, :rank].T @ gap) / s[:rank])
        ways = Vt[rank:].T  # by which the joints move while the loops stay closed
        step += ways @ np.linalg.lstsq(ways[held], (back - step)[held], rcond=1e-6)[0]
        step *= min(1.0, _LONGEST_STEP / max(float(np.max(np.abs(step), initial=0.0)), 1e-300))
        whole = np.zeros(model.nv)
        whole[moved] = step
        q = np.asarray(model.integrate(q, whole))
    return q


def _warn(model: Model, q: Array, moved: NDArray[np.intp]) -> None:
    sizes = np.zeros(model.nv)
    sizes[moved] = np.abs(_excess(model, q, moved))
    joints = {name: float(np.max(sizes[model.v_index(name)])) for name in model.joint_names}
    beyond = {name: over for name, over in joints.items() if over > 0.0}
    shown = ", ".join(
        f"{name!r} by {over:.3g} ({', '.join(map(str, bounds_of(model.joints[name])))})"
        for name, over in list(beyond.items())[:_SHOWN]
    )
    message = (
        f"model {model.name!r}: no configuration was found that closes its loops within the limits of its joints; in "
        f"the one taken these are beyond theirs [rad, m]: {shown}. Correct the limits, or start from another guess."
    )
    warnings.warn(BeyondLimitsWarning(message, loops=tuple(model.loop_names), joints=beyond), stacklevel=4)
