# SPDX-License-Identifier: Apache-2.0
"""States of robots, and all that a caller may hand over in place of a vector of numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import ada_dynamics as ada
from ada_dynamics.arrays import Array
from ada_experiments.pinocchio_loops import LoopConstraints
from trials.silent_wrong.judge import NoJudge
from trials.silent_wrong.residual import RANK
from trials.silent_wrong.robots import Fault, Robot, library
from trials.silent_wrong.texts import one

PACE, PACES, NARROWED = 0.15, 20, 40  # [rad, m] along a motion towards singular poses, how many, and thirds at most
CLOSED = 1e-8  # [m, rad] of the gap that the judge finds in a pose that is said to close all loops


def tree_state(model: ada.Model, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """q, v and a third vector, of any size."""
    q = np.asarray(model.random_state(rng)[0])
    if model.nq == model.nv and not model.has_manifold_coordinates:
        q = rng.uniform(-np.pi, np.pi, model.nq) * one((1.0, 1.0, 1e-8, 1e3), rng)
    v, u = (one((0.0, 1e-6, 1.0, 1e3), rng) * rng.normal(size=model.nv) for _ in range(2))
    return q, v, u


def closed_pose(robot: Robot, rng: np.random.Generator) -> Array | None:
    """A pose that closes the loops to library and judge, near the start or far; None where the library says it is open.

    Raises:
        Fault: the library says that it is closed, and it is not.
    """
    start = robot.model.neutral() if robot.q is None or rng.random() < 0.15 else robot.q
    away = one((0.0, 1e-4, 0.3, 0.3, 1.5), rng)
    with library():
        guess = robot.model.integrate(start, away * rng.normal(size=robot.model.nv))
        pose = ada.close_loops(robot.model, guess)
    q = np.asarray(pose)
    if pose.residual > CLOSED:
        return None
    gap = LoopConstraints(robot.tree).gap(q)
    if not np.isfinite(gap):
        raise NoJudge("its numbers overflow")
    if gap > CLOSED * max(1.0, float(np.abs(q).max())):
        raise Fault(f"a pose that is said to be closed is open by {gap:.1e}")
    return q


def towards_singular(robot: Robot, q: Array, rng: np.random.Generator) -> Array:
    """A closed pose along a motion from q, as near to where conditions become dependent as a share that is drawn."""
    conditions = LoopConstraints(robot.tree)
    sizes, way = np.linalg.svd(conditions.jacobian(q))[1:]
    rank = int(np.sum(sizes > RANK * np.max(sizes, initial=0.0)))
    if not 0 < rank < robot.model.nv:
        return q
    way = way[rank:].T @ rng.normal(size=robot.model.nv - rank)
    step = PACE / float(np.linalg.norm(way))

    def moved(share: float) -> tuple[float, Array]:
        with library():
            at = np.asarray(ada.close_loops(robot.model, robot.model.integrate(q, share * way)))
        sizes = np.linalg.svd(conditions.jacobian(at), compute_uv=False)
        return float(sizes[rank - 1] / sizes[0]), at

    found = [moved(step * i) for i in range(PACES)]
    middle = min(range(PACES), key=lambda i: found[i][0])
    low, high = step * (middle - 1), step * (middle + 1)
    for _ in range(int(rng.integers(2, NARROWED))):  # thirds: nearer and nearer to the least
        thirds = [moved(low + (high - low) * part)[0] for part in (1.0 / 3.0, 2.0 / 3.0)]
        low, high = (low, high - (high - low) / 3.0) if thirds[0] < thirds[1] else (low + (high - low) / 3.0, high)
    return moved(0.5 * (low + high))[1]


def _with(value: float) -> Callable[[Array, np.random.Generator], Any]:
    def put(x: Array, rng: np.random.Generator) -> Any:
        found = x.copy()
        found[..., int(rng.integers(x.shape[-1]))] = value
        return found

    return put


HANDED: dict[str, Callable[[Array, np.random.Generator], Any]] = {
    "as it is": lambda x, _: x,
    "nan": _with(np.nan),
    "inf": _with(-np.inf),
    "1e200": _with(1e200),
    "1e12": _with(1e12),
    "denormal": _with(5e-324),
    "short": lambda x, _: x[..., :-1],
    "long": lambda x, _: np.append(x, 0.0),
    "empty": lambda x, _: x[..., :0],
    "column": lambda x, _: np.atleast_2d(x).T.copy(),
    "row": lambda x, _: np.atleast_2d(x),
    "no rows": lambda x, _: np.atleast_2d(x)[:0],
    "rows": lambda x, rng: np.atleast_2d(x) + rng.uniform(0, 1e-3, size=(int(rng.integers(2, 6)), 1)),
    "cube": lambda x, _: x[None, None],
    "one number": lambda x, _: float(np.ravel(x)[0]),
    "list": lambda x, _: x.tolist(),
    "tuple": lambda x, _: tuple(x.tolist()),
    "ragged": lambda x, _: [x.tolist(), [0.0]],
    "integers": lambda x, _: np.clip(np.rint(x), -1e9, 1e9).astype(np.int64),
    "small integers": lambda x, _: np.clip(np.rint(x), -9, 9).astype(np.int8),
    "truths": lambda x, _: x > 0,
    "float32": lambda x, _: x.astype(np.float32),
    "float16": lambda x, _: x.astype(np.float16),
    "longdouble": lambda x, _: x.astype(np.longdouble),
    "other end first": lambda x, _: x.astype(">f8"),
    "strided": lambda x, _: np.repeat(x, 2, axis=-1)[..., ::2],
    "backwards": lambda x, _: x[..., ::-1].copy()[..., ::-1],
    "columns first": lambda x, _: np.asfortranarray(np.atleast_2d(np.repeat(np.atleast_2d(x), 3, axis=0))),
    "read-only": lambda x, _: np.frombuffer(x.tobytes()).reshape(x.shape),
    "off by a byte": lambda x, _: (
        np.frombuffer(b"0" + x.tobytes(), dtype=np.uint8)[1:].view(np.float64).reshape(x.shape)
    ),
    "complex": lambda x, _: x + 1j,
    "objects": lambda x, _: x.astype(object),
    "words": lambda x, _: x.astype(str),
    "nothing": lambda x, _: None,
    "longer by a hundredth": lambda x, _: x * 1.01,
}


def as_rows(handed: Any, size: int) -> Array | None:
    """The states that the numbers mean, in rows; None where they are none."""
    try:
        x = np.asarray(handed)
    except ValueError:
        return None
    if x.dtype.kind not in "fiub" or x.ndim not in (1, 2) or x.shape[-1] != size:
        return None
    return np.atleast_2d(x.astype(np.float64))
