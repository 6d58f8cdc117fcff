# SPDX-License-Identifier: Apache-2.0
"""Checks of models and options, and conversion of arguments to arrays; invalid ones raise an error.

A joint without inertia makes the mass matrix singular, in every configuration or in one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from ada_dynamics.algorithms import crba
from ada_dynamics.algorithms.assembly_order import ORDERS
from ada_dynamics.algorithms.ldl import SymmetricMatrix, factorise
from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError, ModelError, unknown_name
from ada_dynamics.hybrid.partition import cut_joints
from ada_dynamics.model.inertia_regularization import has_singular_inertias
from ada_dynamics.model.joints import JointType
from ada_dynamics.model.model import Model
from ada_dynamics.model.tree import WORLD, Tree
from ada_dynamics.spatial.inertia import RigidInertia
from ada_dynamics.spatial.vector import Scalar

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
    if name == "q" and isinstance(value, Mapping):
        return model.as_positions(value)
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


# --- models -----------------------------------------------------------------------------------------------------------
Algorithm: TypeAlias = Literal["auto", "aba", "ada", "crba", "dca", "hybrid", "lagrange", "lanes", "order_n"]
KernelKind: TypeAlias = Literal["auto", "specialised", "generic"]
LoopSolver: TypeAlias = Literal["auto", "robust", "rank-revealing"]
ALGORITHMS: tuple[Algorithm, ...] = get_args(Algorithm)
# Resistance under this share of the carried inertia is rounding.
NEGLIGIBLE = 1e-14
# Of a diagonal entry of the mass matrix, elimination must leave this share; less is rounding.
SMALLEST_PIVOT = 1e-12
# Algorithms of forward dynamics that close loops.
CLOSES_LOOPS = ("auto", "aba", "ada", "crba", "dca", "lagrange")


def refuse_options(model: Any, algorithm: str, kernel: str, solver: str, order: Any, hybrid: Any) -> None:
    """Raise InputError if options of `Dynamics` are unknown, or do not fit together or to the model."""
    if not isinstance(model, Model):
        raise InputError(
            f"model is {model!r:.100}; Dynamics needs a Model, such as ada.load('pa10') returns.",
            field="model",
            value=model,
            allowed=Model,
        )
    choice("algorithm", algorithm, ALGORITHMS)
    choice("kernel", kernel, get_args(KernelKind))
    choice("solver", solver, get_args(LoopSolver))
    if solver != "auto" and not model.loops:
        message = f"solver={solver!r} is for loop constraints; model {model.name!r} has no loops."
        raise InputError(message, field="solver", value=solver, allowed=("auto",))
    if model.nv == 0:
        message = f"model {model.name!r} has no joint that moves; there are no dynamics to compute."
        raise InputError(message, field="nv", value=0)
    if order is not None:
        if algorithm not in ("ada", "dca"):
            message = f"order is for the algorithms 'ada' and 'dca', not for {algorithm!r}."
            raise InputError(message, field="order", value=order, allowed=("ada", "dca"))
        choice("assembly order", str(order), tuple(ORDERS))
    if hybrid != "auto":
        if algorithm != "hybrid":
            message = f"hybrid={hybrid!r} is for the algorithm 'hybrid', not for {algorithm!r}."
            raise InputError(message, field="hybrid", value=hybrid, allowed=("hybrid",))
        cut_joints(model.tree, hybrid)  # raises for names that no joint has


def refuse_algorithm(model: Model, algorithm: str, generic: bool) -> None:
    """Raise InputError if an algorithm, or the generic kernels, do not support a model."""
    if model.has_mimics and algorithm not in ("auto", "crba"):
        raise InputError(
            f"model {model.name!r} has mimic joints; algorithm {algorithm!r} cannot couple them. Use 'auto' or "
            "'crba', or load the model with mimic='free'.",
            field="algorithm",
            value=algorithm,
            allowed=("auto", "crba"),
        )
    if model.loops and generic:
        message = f"model {model.name!r} has loops, which the generic kernels cannot close; use kernel='auto'."
        raise InputError(message, field="kernel", value="generic", allowed=("auto", "specialised"))
    if model.loops and algorithm not in CLOSES_LOOPS:
        raise InputError(
            f"model {model.name!r} has loops, which algorithm {algorithm!r} cannot close; use one of "
            f"{', '.join(map(repr, CLOSES_LOOPS))}.",
            field="algorithm",
            value=algorithm,
            allowed=CLOSES_LOOPS,
        )
    if generic and algorithm not in ("auto", "aba"):
        raise InputError(
            f"generic kernels run the algorithm 'aba', not {algorithm!r}; use kernel='specialised'.",
            field="algorithm",
            value=algorithm,
            allowed=("auto", "aba"),
        )


def refuse_unusable(model: Model, tree: Tree) -> None:
    """Raise ModelError if a joint at the end of a branch carries no inertia about its axis.

    The mass matrix is then singular in every configuration. Only outermost joints are checked: the bodies behind other
    joints add inertia through them.
    """
    columns = tree.columns
    mass, _, about = columns.inertias
    size = mass + about[:, 0, 0] + about[:, 1, 1] + about[:, 2, 2]
    armature = columns.loads[:, 0]
    outermost = np.ones(len(size), dtype=bool)
    outermost[[parent for parent in columns.parents if parent != WORLD]] = False
    for i in np.flatnonzero(outermost & (armature == 0.0)).tolist():
        if _resistance(columns.kinds[i], columns.inertia(i)) <= NEGLIGIBLE * size[i]:
            carried = [f.link for f in tree.frames.values() if f.body == i]
            links = ", ".join(map(repr, carried))
            raise ModelError(
                f"model {model.name!r}: joint {tree.bodies[i].name!r} carries no mass or inertia that resists it (link "
                f"{links}), so its acceleration is undefined. Give the link an inertia about the joint's axis, give "
                "the joint an armature, or make the joint fixed.",
                joint=tree.bodies[i].name,
                link=carried[0] if carried else None,
                field="inertia",
            )
    _refuse_massless_subtrees(model, tree, (size + armature).tolist())


def _resistance(joint: JointType, inertia: RigidInertia) -> float:
    """Smallest Sᵀ I S over the velocities of the joint, at the zero position."""
    q = joint.neutral().tolist()
    smallest: float = min(s @ (inertia @ s) for s in joint.subspace(q))
    return smallest


def _refuse_massless_subtrees(model: Model, tree: Tree, size: list[float]) -> None:
    """Raise ModelError if a joint and its whole subtree have neither inertia nor armature; `size` is per body."""
    for i in reversed(range(len(size))):
        if not size[i]:
            raise ModelError(
                f"model {model.name!r}: nothing that joint {tree.bodies[i].name!r} carries has mass, so its "
                "acceleration is undefined. Give a link mass, give the joint an armature, or make the joint fixed.",
                joint=tree.bodies[i].name,
                field="mass",
            )
        parent = tree.columns.parents[i]
        if parent != WORLD:
            size[parent] += size[i]


# --- in one configuration ---------------------------------------------------------------------------------------------
def pivot_guards(tree: Tree, q: Sequence[Scalar]) -> list[Scalar]:
    """Quantities that are non-negative if the mass matrix is regular; none if it always is."""
    if not has_singular_inertias(tree):
        return []
    return _left(crba.mass_matrix(tree, q))


def _left(M: SymmetricMatrix) -> list[Scalar]:
    """Pivots minus the rounding share of their diagonal entries; one is negative unless M is positive definite."""
    return [pivot - SMALLEST_PIVOT * M[k, k] for k, pivot in enumerate(factorise(M).pivots)]


def loose_joint(tree: Tree, q: Sequence[float]) -> str | None:
    """Joint without inertia in configuration q, or None."""
    M = crba.mass_matrix(tree, q)
    for body in tree.bodies:
        if body.is_independent and not all(float(M[i, i]) > 0.0 for i in range(body.v.start, body.v.stop)):
            return body.name
    try:
        left = _left(M)
    except ZeroDivisionError:
        left = None
    for body in tree.bodies:
        # an exact zero has stopped the elimination: of two joints that move the same thing, the first one is named
        if body.is_independent and (left is None or not min(left[body.v], default=1.0) >= 0.0):
            return body.name
    return None
