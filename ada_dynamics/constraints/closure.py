# SPDX-License-Identifier: Apache-2.0
"""Loop closure: Levenberg-Marquardt on the configuration manifold, with and without the position limits of joints."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ada_dynamics.algorithms import closure
from ada_dynamics.algorithms.kinematics import transforms
from ada_dynamics.arrays import Array
from ada_dynamics.constraints.constraint_set import ConstraintSet
from ada_dynamics.constraints.rank import CERTAIN, ROUNDED_GAP, ConstraintSubset, is_mobile, rank_at
from ada_dynamics.errors import BeyondLimitsWarning, InputError, ModelError
from ada_dynamics.model.model import Model, within_limits
from ada_dynamics.model.tree import Tree

CLOSED = 1e-11  # largest closure error of a closed loop, relative to the characteristic length
_LONGEST_STEP = 0.6  # [rad], or in lengths of the mechanism
_RESTARTS = 24
_PATIENCE, _STALLED = 10, 0.9  # steps in which the closure error must shrink to this share
_TINY_GAP = 1e-5  # closure error in lengths of a file with six digits
_FAR = 0.1  # [rad, m] of a motion from a guess after which a nearer configuration is searched
_CUT = 1e-9  # share of the largest singular value that is rounding
_DAMPINGS = (0.0, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1e3)  # of the largest singular value


class ClosureResult(NamedTuple):
    """Result of the iteration."""

    q: Array
    error: float  # largest closure error, in characteristic lengths


def gauss_newton(
    constraints: ConstraintSet,
    q: Array,
    free: NDArray[np.intp] | None = None,
    steps: int = 60,
    polish: int = 2,
    cut: float = _CUT,
    stalled: float = _STALLED,
) -> ClosureResult:
    """Close the loops by Gauss-Newton steps with singular values, damped if the full step does not help.

    Args:
        constraints: of all loops.
        q: initial configuration.
        free: indices of the velocities that may change; all by default.
        steps: maximum number.
        polish: number of steps after the closure error is less than `CLOSED`.
        cut: share of the largest singular value below which singular values are truncated.
        stalled: share to which the closure error must shrink in ten steps; otherwise the iteration stops, as in a local
            minimum.
    """
    model, weights = constraints.model, 1.0 / (constraints.weights * constraints.length)
    moved = np.arange(model.nv) if free is None else free
    longest = _LONGEST_STEP * max(1.0, constraints.length)

    def error(at: Array) -> Array:
        return constraints.violation(at) * weights

    g = error(q)
    before = np.inf
    for taken in range(steps):
        if taken % _PATIENCE == 0:
            now = float(np.linalg.norm(g))
            if now > stalled * before and now > ROUNDED_GAP:
                break
            before = now
        size = float(np.max(np.abs(g), initial=0.0))
        if size < CLOSED:
            if polish == 0 or size == 0.0:
                break
            polish -= 1
        J = constraints.jacobian(q)[:, moved] * weights[:, None]
        for own in _damped_steps(J, g, cut, longest):
            step = np.zeros(model.nv)
            step[moved] = own
            candidate = model.integrate(q, step)
            found = error(candidate)
            if float(np.linalg.norm(found)) < float(np.linalg.norm(g)) * (1.0 - 1e-12):
                q, g = candidate, found
                break
        else:  # a minimum
            break
    return ClosureResult(q, float(np.max(np.abs(g), initial=0.0)))


def _damped_steps(J: Array, g: Array, cut: float, longest: float) -> Iterator[Array]:
    """Truncated least-squares steps J x = -g, from the undamped one to the most damped one; none if J is zero."""
    U, s, Vt = np.linalg.svd(J, full_matrices=False)
    if not np.max(s, initial=0.0) > 0.0:
        return
    along, kept = U.T @ g, np.where(s > cut * s[0], s, 0.0)
    for damping in _DAMPINGS:
        factors = kept / np.where(kept > 0.0, s * s + (damping * s[0]) ** 2, 1.0)
        step = -Vt.T @ (factors * along)
        yield step * min(1.0, longest / max(float(np.max(np.abs(step))), 1e-300))


# --- orientation of the axes -----------------------------------------------------------------------------------------
def reversed_loops(tree: Tree, q: Array) -> list[str]:
    """Loops that close with an axis, or a frame, in the opposite direction."""
    X = transforms(tree, q.tolist())
    return [loop.name for loop in tree.loops if float(closure.agreement(tree, X, loop)) < 0.0]


# --- closure from a guess --------------------------------------------------------------------------------------------
def closed_near(model: Model, constraints: ConstraintSet, guess: Array, free: NDArray[np.intp] | None = None) -> Array:
    """Configuration near the guess that closes all loops; ModelError if none is found."""
    rng = np.random.default_rng(20120301)
    best: ClosureResult | None = None
    opposite: list[str] = []
    for attempt in range(1 + _RESTARTS):
        start = guess
        if attempt:
            push = np.zeros(model.nv)
            push[slice(None) if free is None else free] = rng.normal(size=model.nv if free is None else len(free))
            start = model.integrate(guess, push * min(1.5, 0.1 * attempt))
        found = gauss_newton(constraints, start, free)
        if found.error < CLOSED:
            turned = reversed_loops(model.tree, found.q)
            if not turned:
                # rounded loops close exactly in few configurations, to which tiny singular values lead from far away
                moved = _distance(model, start, found.q)
                near = _closed_up_to_rounding(constraints, start, free, _TINY_GAP) if moved > _FAR else None
                if near is None or _distance(model, start, near) > 0.9 * moved:
                    return found.q
                exact = gauss_newton(constraints, near, free)
                return exact.q if exact.error < CLOSED and _distance(model, near, exact.q) < _FAR else near
            opposite = opposite or turned
            continue
        if best is None or found.error < best.error:
            best = found
        if attempt == 0 or found.error < ROUNDED_GAP:
            most = ROUNDED_GAP if found.error < ROUNDED_GAP else _TINY_GAP
            rounded = _closed_up_to_rounding(constraints, start, free, most)
            if rounded is not None:
                return rounded
    if best is not None:
        best = gauss_newton(constraints, best.q, free, stalled=np.inf)
        if best.error < CLOSED and not reversed_loops(model.tree, best.q):
            return best.q
    raise _closure_error(model, constraints, best, opposite, free is not None)


def _distance(model: Model, q0: Array, q1: Array) -> float:
    return float(np.max(np.abs(model.difference(q0, q1)), initial=0.0))


def _closed_up_to_rounding(
    constraints: ConstraintSet, start: Array, free: NDArray[np.intp] | None, most: float = ROUNDED_GAP
) -> Array | None:
    """Configuration of an overconstrained mechanism whose rounded lengths and axes prevent an exact closure.

    `most` is the largest closure error in lengths.
    """
    q = gauss_newton(constraints, start, free, cut=CERTAIN).q
    rows = ConstraintSubset(constraints)
    if rows.size(q) > most or reversed_loops(constraints.model.tree, q):
        return None
    rank = rank_at(rows, q)
    return q if rank < constraints.model.nv and is_mobile(rows, q, rank) else None


def _closure_error(
    model: Model, constraints: ConstraintSet, best: ClosureResult | None, opposite: Sequence[str], some_held: bool
) -> ModelError:
    where = f"model {model.name!r}"
    held = " with the held joints fixed" if some_held else ""
    if best is None:
        return ModelError(
            f"{where}: loop {', '.join(map(repr, opposite))} only closes with its axes in opposite directions{held}; "
            "turn the frame of one of its sides, or start from another configuration.",
            loop=opposite[0],
            field="axis",
        )
    errors = _errors_by_loop(constraints, best.q)
    shown = "; ".join(f"{name!r} by {text}" for name, text in list(errors.items())[:6])
    return ModelError(
        f"the loops of {where} cannot be closed{held}: the smallest closure errors found are {shown}. Check the "
        f"lengths and frames of the joints on these loops, or start near a closed one ({1 + _RESTARTS} starts tried).",
        loop=", ".join(errors),
        field="hold" if some_held else "guess",
        value=errors,
    )


def _errors_by_loop(constraints: ConstraintSet, q: Array) -> dict[str, str]:
    """Closure error of each open loop, as text."""
    squares: dict[tuple[str, bool], float] = {}
    for size, (loop, _, kind) in zip(constraints.violation(q).tolist(), constraints.rows, strict=True):
        squares[loop, kind.is_force] = squares.get((loop, kind.is_force), 0.0) + size * size
    found: dict[str, list[str]] = {}
    for (loop, is_force), square in squares.items():
        if np.sqrt(square) > CLOSED * max(1.0, constraints.length):
            found.setdefault(loop, []).append(f"{np.sqrt(square):.3g} {'m' if is_force else 'rad'}")
    return {loop: " and ".join(parts) for loop, parts in found.items()}


def initial_configuration(model: Model, guess: ArrayLike | Mapping[str, ArrayLike] | None) -> Array:
    """The validated guess as a new array; the home configuration of the model by default."""
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
    """Indices of the velocities of the joints that are not held; None for all."""
    if not hold:
        return None
    fixed = np.zeros(model.nv, dtype=bool)
    for name in [hold] if isinstance(hold, str) else hold:
        fixed[model.v_index(name)] = True
    return np.flatnonzero(~fixed)


# --- position limits --------------------------------------------------------------------------------------------------
BEYOND = 1e-6  # [rad, m] of tolerated rounding errors
_STARTS = 24
_STEPS = 60
_SHOWN = 4  # joints in a message


def within_joint_limits(constraints: ConstraintSet, q: Array, guess: Array, free: NDArray[np.intp] | None) -> Array:
    """Configuration within the position limits near a closed one q; q with a warning if none is found.

    It is searched from the guess from which q was found, by the free velocities, or by all.
    """
    model = constraints.model
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
            start = model.integrate(guess, push)
        start = _bounded(constraints, start, moved)
        found = gauss_newton(constraints, start, free)
        closed = found.q if found.error < CLOSED else _closed_up_to_rounding(constraints, start, free)
        if closed is not None and not reversed_loops(model.tree, closed) and not _excess(model, closed, moved).any():
            q = closed
            break
    else:
        _warn(model, q, moved)
    return q


def _excess(model: Model, q: Array, moved: NDArray[np.intp]) -> Array:
    """Displacement of the free velocities back to their limits."""
    back = np.asarray(model.difference(q, within_limits(model, q)))[moved]
    return np.where(np.abs(back) > BEYOND, back, 0.0)


def _bounded(constraints: ConstraintSet, q: Array, moved: NDArray[np.intp]) -> Array:
    """Reduce the closure error within the limits of the joints, by damped steps with an active set."""
    model, weights = constraints.model, 1.0 / (constraints.weights * constraints.length)
    back = np.zeros(model.nv)
    back[moved] = _excess(model, q, moved)
    q = np.asarray(model.integrate(q, back))
    error, damping = constraints.violation(q) * weights, 1e-4
    for _ in range(_STEPS):
        if float(np.max(np.abs(error), initial=0.0)) < CLOSED or damping > 1.0:
            break
        J = constraints.jacobian(q)[:, moved] * weights[:, None]
        candidate = _step_within_limits(model, q, J, error, moved, damping)
        found = constraints.violation(candidate) * weights
        if float(np.linalg.norm(found)) < float(np.linalg.norm(error)) * (1.0 - 1e-12):
            q, error, damping = candidate, found, max(0.1 * damping, 1e-10)
        else:
            damping *= 10.0
    return q


def _step_within_limits(
    model: Model, q: Array, J: Array, error: Array, moved: NDArray[np.intp], damping: float
) -> Array:
    """Configuration after a damped least-squares step, in which joints stop at their limits."""
    step, free = np.zeros(len(moved)), np.ones(len(moved), dtype=bool)
    whole = np.zeros(model.nv)
    while True:
        A = J[:, free]
        H = A.T @ A
        H += damping * max(float(np.max(np.diag(H), initial=0.0)), 1e-300) * np.eye(len(H))
        step[free] = np.linalg.solve(H, -A.T @ (error + J[:, ~free] @ step[~free]))
        whole[moved] = np.clip(step, -_LONGEST_STEP, _LONGEST_STEP)
        candidate = np.asarray(model.integrate(q, whole))
        back = _excess(model, candidate, moved)
        beyond = free & (back != 0.0)
        if not beyond.any():
            return candidate
        step[beyond] = (whole[moved] + back)[beyond]
        free &= ~beyond


def _warn(model: Model, q: Array, moved: NDArray[np.intp]) -> None:
    sizes = np.zeros(model.nv)
    sizes[moved] = np.abs(_excess(model, q, moved))
    joints = {name: float(np.max(sizes[model.v_index(name)])) for name in model.joint_names}
    beyond = {name: over for name, over in joints.items() if over > 0.0}
    shown = ", ".join(
        f"{name!r} by {over:.3g} ({', '.join(map(str, model.joints[name].bounds))})"
        for name, over in list(beyond.items())[:_SHOWN]
    )
    message = (
        f"model {model.name!r}: no configuration was found that closes its loops within the limits of its joints; the "
        f"result exceeds these limits [rad, m]: {shown}. Correct the limits, or start from another guess."
    )
    warnings.warn(BeyondLimitsWarning(message, loops=tuple(model.loop_names), joints=beyond), stacklevel=4)
