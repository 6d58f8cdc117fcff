# SPDX-License-Identifier: Apache-2.0
"""Checks of models and options, and conversion of arguments to arrays; invalid ones raise an error.

A joint without inertia makes the mass matrix singular, in every configuration or in one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from ada_dynamics.algorithms import aba, crba
from ada_dynamics.algorithms.assembly_order import ORDERS
from ada_dynamics.algorithms.kinematics import transforms
from ada_dynamics.algorithms.ldl import SymmetricMatrix, factorise
from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError, ModelError, check_name, invalid, unknown_name
from ada_dynamics.hybrid.cut_selection import cut_joints
from ada_dynamics.model.inertia_regularization import has_singular_inertias
from ada_dynamics.model.model import Model
from ada_dynamics.model.tree import MAX_DEPTH, Tree, depth
from ada_dynamics.spatial.vector import Scalar

LARGEST_ANGLE = 1.6e9  # [rad], where the kernels' sine and cosine end


def as_array(name: str, value: Any, size: int, model: Model) -> Array:
    """One state (size,) or a batch of states (N, size) of float64."""
    x = value if isinstance(value, np.ndarray) and value.dtype == np.float64 else _converted(name, value, size, model)
    if x.ndim not in (1, 2) or x.shape[-1] != size:
        wanted = f"({size},), or (N, {size}) for a batch of N states, for model {model.name!r}"
        raise invalid(name, x.shape, wanted, "the shape of ", allowed=((size,), ("N", size)))
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
        wanted = f"float64, or another type of real numbers, for model {model.name!r}"
        raise invalid(name, str(raw.dtype), wanted, "the type of ", allowed="float64")
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
            find = model.joint_of_position if name == "q" else model.joint_of_velocity
            joint = None if name == "wrenches" else find(column)
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
        k, value, joint = int(far[0]), float(q[far[0]]), model.joint_of_position(int(far[0]))
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
    return f"model {model.name!r}: {unresisted(loose, 'in this position')}", {"joint": loose, "field": "inertia"}


def flat_wrenches(model: Model, tree: Tree, external: Mapping[str, Any]) -> Array:
    """External wrenches by link as [force, moment] about each body's origin in its axes, body after body.

    Each wrench is (6,) or, in a batch, (N, 6). The tree is the one that the kernel works on: body axes depend on it.
    """
    if not isinstance(external, Mapping):
        raise invalid("external", external, "a dict from link names to wrenches of 6 numbers", allowed=dict)
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


# --- models -----------------------------------------------------------------------------------------------------------
Algorithm: TypeAlias = Literal["auto", "aba", "ada", "crba", "dca", "hybrid", "lagrange", "lanes", "order_n"]
KernelKind: TypeAlias = Literal["auto", "specialised", "generic"]
LoopSolver: TypeAlias = Literal["auto", "robust", "rank-revealing"]
ALGORITHMS: tuple[Algorithm, ...] = get_args(Algorithm)
# Inertia about a joint, relative to the carried inertia, below which it is rounding.
NEGLIGIBLE = 1e-14
LARGEST_CHECKED = 1000  # velocities of a model whose inertias are checked when its dynamics are created
# Smallest pivot of the mass matrix relative to its diagonal entry; smaller ones are rounding.
SMALLEST_PIVOT = 1e-12
# Algorithms of forward dynamics that close loops.
CLOSES_LOOPS = ("auto", "aba", "ada", "crba", "dca", "lagrange")


def refuse_options(model: Any, algorithm: str, kernel: str, solver: str, order: Any, hybrid: Any) -> None:
    """Raise InputError if options of `Dynamics` are unknown, or do not fit together or to the model."""
    if not isinstance(model, Model):
        raise invalid("model", model, "a Model, such as ada.load('pa10') returns", allowed=Model)
    check_name("algorithm", algorithm, ALGORITHMS)
    check_name("kernel", kernel, get_args(KernelKind))
    check_name("solver", solver, get_args(LoopSolver))
    if solver != "auto" and not model.loops:
        raise invalid("solver", solver, f"'auto', as model {model.name!r} has no loops", allowed=("auto",))
    if model.nv == 0:
        message = f"model {model.name!r} has no joint that moves; there are no dynamics to compute."
        raise InputError(message, field="nv", value=0)
    if order is not None:
        if algorithm not in ("ada", "dca"):
            raise invalid(
                "order", order, f"None for algorithm={algorithm!r}, unlike 'ada' and 'dca'", allowed=("ada", "dca")
            )
        check_name("assembly order", str(order), tuple(ORDERS))
    if hybrid != "auto":
        if algorithm != "hybrid":
            raise invalid("hybrid", hybrid, f"'auto' for algorithm={algorithm!r}, unlike 'hybrid'", allowed=("hybrid",))
        cut_joints(model.tree, hybrid)  # raises for names that no joint has


def refuse_algorithm(model: Model, algorithm: str, generic: bool) -> None:
    """Raise InputError if an algorithm, or the generic kernels, do not support a model."""
    where = f"model {model.name!r}: "
    if model.has_mimics and algorithm not in ("auto", "crba"):
        wanted = "'auto' or 'crba' for mimic joints, which others cannot couple; or load the model with mimic='free'"
        raise invalid("algorithm", algorithm, wanted, where, allowed=("auto", "crba"))
    if generic and (model.loops or model.has_mimics):
        wanted = "'auto' or 'specialised' for loops and mimic joints, which generic kernels cannot couple"
        raise invalid("kernel", "generic", wanted, where, allowed=("auto", "specialised"))
    if model.loops and algorithm not in CLOSES_LOOPS:
        wanted = f"one of {', '.join(map(repr, CLOSES_LOOPS))} for a model with loops"
        raise invalid("algorithm", algorithm, wanted, where, allowed=CLOSES_LOOPS)
    if generic and algorithm not in ("auto", "aba"):
        raise invalid("algorithm", algorithm, "'aba' or 'auto' for generic kernels", where, allowed=("auto", "aba"))


def refuse_unusable(model: Model) -> None:
    """Raise ModelError if a joint has no inertia in a random configuration, and therefore in nearly all.

    Trees with more than LARGEST_CHECKED velocities are not checked.
    """
    tree = model.tree
    if model.nv > LARGEST_CHECKED or not has_singular_inertias(tree):
        return
    q = model.random_state(0)[0].tolist()
    for body, carried in zip(tree.bodies, crba.composite_inertias(tree, transforms(tree, q)), strict=True):
        size = carried.mass + sum(carried.about_origin[i][i] for i in range(3))
        resistance = min(float(s @ (carried @ s)) for s in body.joint.subspace(body.positions(q)))
        if not body.armature and resistance <= NEGLIGIBLE * size:
            text = f"model {model.name!r}: {unresisted(body.name, 'in any position')}"
            raise ModelError(text, joint=body.name, link=model.joints[body.name].child, field="inertia")


def unresisted(joint: str | None, where: str) -> str:
    """Message for a joint whose pivot of the mass matrix is zero."""
    return (
        f"nothing resists joint {joint!r} {where}, so its acceleration is undefined: the links that it carries have no "
        "mass, or no inertia that another joint does not move as well. Give them inertia, give the joint an armature, "
        "or make it fixed."
    )


# --- in one configuration ---------------------------------------------------------------------------------------------
def needs_mass_matrix(tree: Tree) -> bool:
    """Return True if joints share coordinates, or a short tree must be checked for a singular mass matrix."""
    is_checked = depth(tree) <= MAX_DEPTH and has_singular_inertias(tree)
    return is_checked or not all(body.is_independent for body in tree.bodies)


def pivot_guards(tree: Tree, q: Sequence[Scalar]) -> list[Scalar]:
    """Quantities that are non-negative if the mass matrix is regular; none if it always is."""
    if not has_singular_inertias(tree):
        return []
    if needs_mass_matrix(tree):
        return _pivot_margins(crba.mass_matrix(tree, q))
    X, margins = transforms(tree, q), list[Scalar]()
    carried = crba.composite_inertias(tree, X)
    for body, inertia, one in zip(tree.bodies, carried, aba.eliminated_bodies(tree, X, q), strict=True):
        for s, inverse in zip(body.joint.subspace(body.positions(q)), one.inverse_D, strict=True):
            share = SMALLEST_PIVOT * (s @ (inertia @ s) + body.armature) * inverse
            margins.append(inverse * (1.0 - share))  # the inverse has the sign of its pivot
    return margins


def _pivot_margins(M: SymmetricMatrix) -> list[Scalar]:
    """Pivots minus the rounding share of their diagonal entries; one is negative unless M is positive definite."""
    return [pivot - SMALLEST_PIVOT * M[k, k] for k, pivot in enumerate(factorise(M).pivots)]


def loose_joint(tree: Tree, q: Sequence[float]) -> str | None:
    """Joint without inertia in configuration q, or None."""
    M = crba.mass_matrix(tree, q)
    for body in tree.bodies:
        if body.is_independent and not all(float(M[i, i]) > 0.0 for i in range(body.v.start, body.v.stop)):
            return body.name
    try:
        left = _pivot_margins(M)
    except ZeroDivisionError:
        left = None
    for body in tree.bodies:
        # an exact zero has stopped the elimination: of two joints with the same motion, the first one is named
        if body.is_independent and (left is None or not min(left[body.v], default=1.0) >= 0.0):
            return body.name
    return None
