# SPDX-License-Identifier: Apache-2.0
"""Arguments of the front door: turned into arrays, and explained where they are unusable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.dynamics.singular import loose_joint
from ada_dynamics.errors import InputError, unknown_name
from ada_dynamics.model.model import Model
from ada_dynamics.model.tree import Tree

LARGEST_ANGLE = 1.6e9  # [rad], where the kernels' sine and cosine end


def as_array(name: str, value: Any, size: int, model: Model) -> Array:
    """One state (size,) or a batch of states (N, size) of float64."""
    x = value if isinstance(value, np.ndarray) and value.dtype == np.float64 else _converted(name, value, size, model)
    if x.ndim not in (1, 2) or x.shape[-1] != size:
        raise InputError(
            f"{name} has shape {x.shape}; model {model.name!r} needs ({size},), or (N, {size}) for a batch of N states."
        )
    return x


def _converted(name: str, value: Any, size: int, model: Model) -> Array:
    try:
        raw = np.asarray(value)
    except ValueError:
        raise InputError(f"{name} is ragged; model {model.name!r} needs {size} numbers.") from None
    if raw.dtype.kind not in "fiub":
        raise InputError(
            f"{name} holds values of type {raw.dtype}; model {model.name!r} needs {size} real numbers (float64)."
        )
    return raw.astype(np.float64)


def common_batch(arrays: Mapping[str, Array]) -> tuple[list[Array], bool]:
    """All arguments as single states, or all as batches of one length; single ones are repeated for a batch."""
    lengths = {name: x.shape[0] for name, x in arrays.items() if x.ndim == 2}
    if not lengths:
        return list(arrays.values()), False
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name}: {n}" for name, n in lengths.items())
        raise InputError(f"the batches have different numbers of states ({shown}).")
    n = next(iter(lengths.values()))
    laid_out = np.asfortranarray if all(x.flags.f_contiguous for x in arrays.values()) else np.ascontiguousarray
    return [x if x.ndim == 2 else laid_out(np.broadcast_to(x, (n, *x.shape))) for x in arrays.values()], True


def explain(model: Model, arrays: Mapping[str, Array]) -> str:
    """Why a kernel refused its arguments."""
    for name, x in arrays.items():
        bad = np.argwhere(~np.isfinite(np.atleast_2d(x)))
        if len(bad):
            row, column = (int(i) for i in bad[0])
            state = f" of state {row}" if x.ndim == 2 else ""
            value = np.atleast_2d(x)[row, column]
            more = f" ({len(bad)} such values)" if len(bad) > 1 else ""
            return f"{name}[{column}]{state} is {value}{_owner(model, name, column)}; finite numbers are needed.{more}"
    for row, q in enumerate(np.atleast_2d(arrays["q"])):
        problem = _problem_of_position(model, q)
        if problem:
            return (f"state {row}: " if arrays["q"].ndim == 2 else "") + problem
    return (
        f"the result of model {model.name!r} is not finite: the numbers overflow. Look for extreme values in the "
        "arguments, and in the masses and lengths of the model with ada.check."
    )


def _problem_of_position(model: Model, q: Array) -> str | None:
    far = np.flatnonzero(np.abs(q) > LARGEST_ANGLE)
    if len(far):
        owner = _owner(model, "q", int(far[0]))
        return f"q[{far[0]}] is {q[far[0]]:g}{owner}; angles beyond {LARGEST_ANGLE:g} rad have no digits left."
    problems = model.position_problems(q)
    if problems:
        return "; ".join(problems) + "."
    joint = loose_joint(model.tree, q.tolist())
    if joint is None:
        return None
    return (
        f"the mass matrix of model {model.name!r} is singular: nothing resists joint {joint!r} in this position, so "
        "its acceleration is undefined. Give the links that it carries inertia, or the joint an armature."
    )


def _owner(model: Model, name: str, column: int) -> str:
    if name == "wrenches":
        return f" (external wrench on body {column // 6})"
    find = model.q_index if name == "q" else model.v_index
    for joint in model.joint_names:
        if find(joint).start <= column < find(joint).stop:
            return f" (joint {joint!r})"
    return ""


def flat_wrenches(model: Model, tree: Tree, external: Mapping[str, Any]) -> Array:
    """External wrenches by link as [force, moment] about each body's origin in its axes, body after body.

    Each wrench is (6,) or, in a batch, (N, 6). The tree is the one that the kernel works on: body axes depend on it.
    """
    if not isinstance(external, Mapping):
        raise InputError(f"external is {external!r:.100}; it must be a dict from link names to wrenches of 6 numbers.")
    given: dict[str, Array] = {}
    for link, wrench in external.items():
        if link not in model.links:
            raise unknown_name("link", link, model.links)
        given[link] = as_array(f"external[{link!r}]", wrench, 6, model)
        if not np.isfinite(given[link]).all():
            raise InputError(f"external[{link!r}] is {given[link].tolist()!r:.200}; finite numbers are needed.")
    shape = next(((x.shape[0],) for x in given.values() if x.ndim == 2), ())
    flat = np.zeros((*shape, 6 * len(tree.bodies)))
    for link, wrench in given.items():
        frame = tree.frames[link]
        if frame.body < 0:
            continue  # a link fixed to the world takes any wrench
        R: Array = np.array(frame.pose.rotation.matrix())
        p: Array = np.array(frame.pose.position)
        force = wrench[..., :3] @ R.T
        moment = wrench[..., 3:] @ R.T + np.cross(p, force)
        flat[..., 6 * frame.body : 6 * frame.body + 6] += np.concatenate([force, moment], axis=-1)
    return flat


def choice(what: str, value: str, allowed: Sequence[str]) -> str:
    """The value, if it is among the allowed ones."""
    if value not in allowed:
        raise unknown_name(what, value, allowed)
    return value
