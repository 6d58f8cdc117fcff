# SPDX-License-Identifier: Apache-2.0
"""Closure of all loops within the position limits of the joints."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.errors import BeyondLimitsWarning
from ada_dynamics.loops.assembly import CLOSED, close, flipped
from ada_dynamics.loops.numbers import LoopNumbers
from ada_dynamics.model.bounds import bounds_of, within_limits
from ada_dynamics.model.model import Model

BEYOND = 1e-6  # [rad, m] that is rounding
_STARTS = 24
_STEPS = 60
_LONGEST_STEP = 0.6  # [rad, m]
_CUT = 1e-9  # of the largest singular value: less is arithmetic
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
