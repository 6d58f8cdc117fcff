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


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def forward(dynamics: Dynamics, q: Array, v: Array, tau: Array) -> Array:
    """Joint accelerations, (..., nv), as `Dynamics.forward`; `dynamics` is a static argument."""
    return _broadcast_call(dynamics.forward, (dynamics.model.nv,), q, v, tau)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def inverse(dynamics: Dynamics, q: Array, v: Array, a: Array) -> Array:
    """Joint efforts, (..., nv), as `Dynamics.inverse`, for models without loops; `dynamics` is a static argument."""
    if dynamics.model.loops:
        text = f"model {dynamics.model.name!r} has loops; use Dynamics.inverse_derivatives(coordinates='actuated')."
        raise InputError(text, field="inverse", value=dynamics.model.name)
    return _broadcast_call(dynamics.inverse, (dynamics.model.nv,), q, v, a)


def _forward_fwd(dynamics: Dynamics, *given: Array) -> tuple[Array, tuple[Array, ...]]:
    return forward(dynamics, *given), given


def _forward_bwd(dynamics: Dynamics, given: tuple[Array, ...], w: Array) -> tuple[Array, ...]:
    return _vjp(dynamics, dynamics.forward_vjp, given, w)


def _inverse_fwd(dynamics: Dynamics, *given: Array) -> tuple[Array, tuple[Array, ...]]:
    return inverse(dynamics, *given), given


def _inverse_bwd(dynamics: Dynamics, given: tuple[Array, ...], w: Array) -> tuple[Array, ...]:
    return _vjp(dynamics, dynamics.inverse_vjp, given, w)


def _vjp(dynamics: Dynamics, product: Callable[..., Any], given: tuple[Array, ...], w: Array) -> tuple[Array, ...]:
    """Gradients by the arguments of a function from its vector-Jacobian product."""

    def products(*vectors: Any) -> Any:
        found = product(*vectors)
        return np.concatenate([ambient_of(dynamics).gradient(vectors[0], found.dq), found.dv, found.du], axis=-1)

    return _split(dynamics, given, _broadcast_call(products, (dynamics.model.nq + 2 * dynamics.model.nv,), *given, w))


forward.defvjp(_forward_fwd, _forward_bwd)
inverse.defvjp(_inverse_fwd, _inverse_bwd)


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


def _split(dynamics: Dynamics, given: tuple[Array, ...], joined: Array) -> tuple[Array, ...]:
    """Gradients by each argument, summed over broadcast dimensions."""
    nq, nv = dynamics.model.nq, dynamics.model.nv
    parts = jnp.split(joined, [nq, nq + nv], axis=-1)
    return tuple(
        part.sum(axis=tuple(range(part.ndim - x.ndim))).astype(x.dtype) if part.ndim > x.ndim else part.astype(x.dtype)
        for part, x in zip(parts, given, strict=True)
    )
