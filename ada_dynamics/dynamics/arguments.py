# SPDX-License-Identifier: Apache-2.0
"""Conversion of the arguments of `Dynamics` to arrays; invalid ones raise an InputError."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.dynamics.preflight import loose_joint
from ada_dynamics.errors import InputError, unknown_name
from ada_dynamics.model.model import Model
from ada_dynamics.model.tree import Tree

LARGEST_ANGLE = 1.6e9  # [rad], where the kernels' sine and cosine end


def as_array(name: str, value: Any, size: int, model: Model) -> Array:
    """One state (size,) or a batch of states (N, size) of float64."""
    x = value if isinstance(value, np.ndarray) and value.dtype == np.float64 else _converted(name, value, size, model)
    if x.ndim not in (1, 2) or x.shape[-1] != size:
        raise InputError(
            f"{name} has shape {x.shape}; model {model.name!r} needs ({size},), or (N, {size}) for a batch of N "
            "states.",
            field=name,
            value=x.shape,
            allowed=((size,), ("N", size)),
        )
    return x


def _converted(name: str, value: Any, size: int, model: Model) -> Array:
    try:
        raw = np.asarray(value)
    except ValueError:
        message = f"{name} is ragged; model {model.name!r} needs {size} numbers."
        raise InputError(message, field=name, value="ragged", allowed=((size,), ("N", size))) from None
    if raw.dtype.kind not in "fiub":
        raise InputError(
            f"{name} holds values of type {raw.dtype}; model {model.name!r} needs {size} real numbers (float64).",
            field=name,
            value=str(raw.dtype),
            allowed="float64",
        )
    return raw.astype(np.float64)


def common_batch(arrays: Mapping[str, Array]) -> tuple[list[Array], bool]:
    """All arguments as single states, or all as batches of one length; single ones are repeated for a batch."""
    lengths = {name: x.shape[0] for name, x in arrays.items() if x.ndim == 2}
    if not lengths:
        return list(arrays.values()), False
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name}: {n}" for name, n in lengths.items())
        raise InputError(f"the batches have different numbers of states ({shown}).", field=shown, value=lengths)
    n = next(iter(lengths.values()))
    laid_out = np.asfortranarray if all(x.flags.f_contiguous for x in arrays.values()) else np.ascontiguousarray
    return [x if x.ndim == 2 else laid_out(np.broadcast_to(x, (n, *x.shape))) for x in arrays.values()], True


def refusal(model: Model, arrays: Mapping[str, Array]) -> InputError:
    """Error for arguments that a kernel refused; its `field` is the element as numpy writes it: "v[2]", "v[7, 2]"."""
    for name, x in arrays.items():
        bad = np.argwhere(~np.isfinite(np.atleast_2d(x)))
        if len(bad):
            row, column = (int(i) for i in bad[0])
            state = f" of state {row}" if x.ndim == 2 else ""
            value = np.atleast_2d(x)[row, column]
            more = f" ({len(bad)} such values)" if len(bad) > 1 else ""
            joint = _owner(model, name, column)
            where = f" (external wrench on body {column // 6})" if name == "wrenches" else f" (joint {joint!r})"
            message = f"{name}[{column}]{state} is {value}{where}; finite numbers are needed.{more}"
            field = f"{name}[{row}, {column}]" if x.ndim == 2 else f"{name}[{column}]"
            return InputError(message, joint=joint, field=field, value=float(value), allowed="finite")
    for row, q in enumerate(np.atleast_2d(arrays["q"])):
        problem = _problem_of_position(model, q, f"{row}, " if arrays["q"].ndim == 2 else "")
        if problem is not None:
            text, facts = problem
            return InputError((f"state {row}: " if arrays["q"].ndim == 2 else "") + text, **facts)
    return InputError(
        f"the result of model {model.name!r} is not finite: the numbers overflow. Look for extreme values in the "
        "arguments, and in the masses and lengths of the model with ada.check.",
        field="result",
        allowed="finite",
    )


def _problem_of_position(model: Model, q: Array, row: str) -> tuple[str, dict[str, Any]] | None:
    """Message and facts; None for a usable position."""
    far = np.flatnonzero(np.abs(q) > LARGEST_ANGLE)
    if len(far):
        k, value, joint = int(far[0]), float(q[far[0]]), _owner(model, "q", int(far[0]))
        text = f"q[{k}] is {value:g} (joint {joint!r}); angles beyond {LARGEST_ANGLE:g} rad have no digits left."
        return text, {"joint": joint, "field": f"q[{row}{k}]", "value": value, "allowed": LARGEST_ANGLE}
    problems = model.position_problems(q)
    if problems:
        joint = problems[0].split("'")[1]
        own = model.q_index(joint)
        return "; ".join(problems) + ".", {"joint": joint, "field": f"q[{row}{own.start}:{own.stop}]"}
    loose = loose_joint(model.tree, q.tolist())
    if loose is None:
        return None
    text = (
        f"the mass matrix of model {model.name!r} is singular: nothing resists joint {loose!r} in this position, so "
        "its acceleration is undefined. Give the links that it carries inertia, or the joint an armature."
    )
    return text, {"joint": loose, "field": "inertia"}


def _owner(model: Model, name: str, column: int) -> str | None:
    """Joint of a position or a velocity; None for components of wrenches."""
    if name == "wrenches":
        return None
    find = model.q_index if name == "q" else model.v_index
    return next((j for j in model.joint_names if find(j).start <= column < find(j).stop), None)


def flat_wrenches(model: Model, tree: Tree, external: Mapping[str, Any]) -> Array:
    """External wrenches by link as [force, moment] about each body's origin in its axes, body after body.

    Each wrench is (6,) or, in a batch, (N, 6). The tree is the one that the kernel works on: body axes depend on it.
    """
    if not isinstance(external, Mapping):
        raise InputError(
            f"external is {external!r:.100}; it must be a dict from link names to wrenches of 6 numbers.",
            field="external",
            value=external,
            allowed=dict,
        )
    given: dict[str, Array] = {}
    for link, wrench in external.items():
        if link not in model.links:
            raise unknown_name("link", link, model.links)
        given[link] = as_array(f"external[{link!r}]", wrench, 6, model)
        if not np.isfinite(given[link]).all():
            message = f"external[{link!r}] is {given[link].tolist()!r:.200}; finite numbers are needed."
            raise InputError(message, link=link, field=f"external[{link!r}]", value=wrench, allowed="finite")
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
