# SPDX-License-Identifier: Apache-2.0
"""Dynamics as functions of JAX with analytic gradients, under jit, grad and vmap.

    import ada_dynamics.jax

    a = jax.jit(ada_dynamics.jax.forward, static_argnums=0)(dynamics, q, v, tau)

The functions are callbacks to compiled code in double precision. Results have the default precision of JAX, which is
single unless `jax.config.update("jax_enable_x64", True)`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ada_dynamics.dynamics import Dynamics
from ada_dynamics.dynamics.computation import ambient_of
from ada_dynamics.errors import InputError
from ada_dynamics.resources import how_to_install

try:
    import jax
    import jax.numpy as jnp
except ModuleNotFoundError:
    raise ImportError(f"JAX is not installed: {how_to_install('jax')}") from None

Array = Any  # jax.Array


def forward(dynamics: Dynamics, q: Array, v: Array, tau: Array) -> Array:
    """Joint accelerations, (..., nv), as `Dynamics.forward`; `dynamics` is a static argument."""
    return _forward(dynamics, q, v, tau)


def inverse(dynamics: Dynamics, q: Array, v: Array, a: Array) -> Array:
    """Joint efforts, (..., nv), as `Dynamics.inverse`, for models without loops; `dynamics` is a static argument."""
    if dynamics.model.loops:
        text = f"model {dynamics.model.name!r} has loops; use Dynamics.inverse_derivatives(coordinates='actuated')."
        raise InputError(text, field="inverse", value=dynamics.model.name)
    return _inverse(dynamics, q, v, a)


def _differentiable(name: str) -> Callable[..., Array]:
    """A method of `Dynamics` with gradients by its vector-Jacobian product."""

    @partial(jax.custom_vjp, nondiff_argnums=(0,))
    def call(dynamics: Dynamics, *given: Array) -> Array:
        return _broadcast_call(getattr(dynamics, name), (dynamics.model.nv,), *given)

    def with_arguments(dynamics: Dynamics, *given: Array) -> tuple[Array, tuple[Array, ...]]:
        return call(dynamics, *given), given

    def gradients(dynamics: Dynamics, given: tuple[Array, ...], w: Array) -> tuple[Array, ...]:
        nq, nv = dynamics.model.nq, dynamics.model.nv

        def joined(*vectors: Any) -> Any:
            found = getattr(dynamics, f"{name}_vjp")(*vectors)
            return np.concatenate([ambient_of(dynamics).gradient(vectors[0], found.dq), found.dv, found.du], axis=-1)

        parts = jnp.split(_broadcast_call(joined, (nq + 2 * nv,), *given, w), [nq, nq + nv], axis=-1)
        pairs = zip(parts, given, strict=True)  # sums over broadcast dimensions
        return tuple(part.sum(axis=tuple(range(part.ndim - x.ndim))).astype(x.dtype) for part, x in pairs)

    call.defvjp(with_arguments, gradients)
    return call  # type: ignore[no-any-return]


_forward, _inverse = _differentiable("forward"), _differentiable("inverse")


def _broadcast_call(function: Callable[..., Any], shape: tuple[int, ...], *given: Array) -> Array:
    """Apply a function of rows of states to arrays with broadcast leading dimensions."""
    lead = jnp.broadcast_shapes(*(x.shape[:-1] for x in given))
    result = jax.ShapeDtypeStruct((*lead, *shape), jnp.result_type(*given))

    def rows(*values: Any) -> Any:
        over = np.broadcast_shapes(*(x.shape[:-1] for x in values))
        flat = [
            np.ascontiguousarray(np.broadcast_to(x, (*over, x.shape[-1])), dtype=np.float64).reshape(-1, x.shape[-1])
            for x in map(np.asarray, values)
        ]
        return np.asarray(function(*flat), dtype=result.dtype).reshape(*over, *shape)

    return jax.pure_callback(rows, result, *given, vmap_method="broadcast_all")
