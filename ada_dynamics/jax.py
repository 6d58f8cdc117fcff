# SPDX-License-Identifier: Apache-2.0
"""Dynamics as functions of JAX, with their analytic gradients: under jit, grad and vmap, which is a batch.

    import ada_dynamics.jax

    a = jax.jit(ada_dynamics.jax.forward, static_argnums=0)(dynamics, q, v, tau)

JAX calls the library's compiled code, and waits for it. Numbers are computed in double precision, and handed back in
JAX's own, which is single unless `jax.config.update("jax_enable_x64", True)`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import InputError
from ada_dynamics.extras import how_to_install

try:
    import jax
    import jax.numpy as jnp
except ModuleNotFoundError:
    raise ImportError(f"JAX is not installed: {how_to_install('jax')}") from None

Array = Any  # jax.Array


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def forward(dynamics: Dynamics, q: Array, v: Array, tau: Array) -> Array:
    """Joint accelerations, (..., nv), as `Dynamics.forward`; `dynamics` is a static argument."""
    return _called(dynamics.forward, (dynamics.model.nv,), q, v, tau)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def inverse(dynamics: Dynamics, q: Array, v: Array, a: Array) -> Array:
    """Joint efforts, (..., nv), as `Dynamics.inverse`, of models without loops; `dynamics` is a static argument."""
    if dynamics.model.loops:
        text = (
            f"model {dynamics.model.name!r} has loops, and shares efforts among its motors: their derivatives are "
            "those of Dynamics.inverse_derivatives(coordinates='actuated'). Invert `forward` instead."
        )
        raise InputError(text, field="inverse", value=dynamics.model.name)
    return _called(dynamics.inverse, (dynamics.model.nv,), q, v, a)


def _forward_kept(dynamics: Dynamics, *given: Array) -> tuple[Array, tuple[Array, ...]]:
    return forward(dynamics, *given), given


def _forward_pulled(dynamics: Dynamics, given: tuple[Array, ...], w: Array) -> tuple[Array, ...]:
    return _pulled(dynamics, dynamics.forward_vjp, given, w)


def _inverse_kept(dynamics: Dynamics, *given: Array) -> tuple[Array, tuple[Array, ...]]:
    return inverse(dynamics, *given), given


def _inverse_pulled(dynamics: Dynamics, given: tuple[Array, ...], w: Array) -> tuple[Array, ...]:
    return _pulled(dynamics, dynamics.inverse_vjp, given, w)


def _pulled(dynamics: Dynamics, product: Callable[..., Any], given: tuple[Array, ...], w: Array) -> tuple[Array, ...]:
    """Gradients by the arguments of a function, from its product with w."""

    def products(*vectors: Any) -> Any:
        found = product(*vectors)
        return np.concatenate([dynamics.ambient.gradient(vectors[0], found.dq), found.dv, found.du], axis=-1)

    return _split(dynamics, given, _called(products, (dynamics.model.nq + 2 * dynamics.model.nv,), *given, w))


forward.defvjp(_forward_kept, _forward_pulled)
inverse.defvjp(_inverse_kept, _inverse_pulled)


def _called(function: Callable[..., Any], shape: tuple[int, ...], *given: Array) -> Array:
    """The library's function of rows of states, for arrays whose dimensions before the last are broadcast."""
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
    """The gradients by each argument, summed where it was broadcast."""
    nq, nv = dynamics.model.nq, dynamics.model.nv
    parts = jnp.split(joined, [nq, nq + nv], axis=-1)
    return tuple(
        part.sum(axis=tuple(range(part.ndim - x.ndim))).astype(x.dtype) if part.ndim > x.ndim else part.astype(x.dtype)
        for part, x in zip(parts, given, strict=True)
    )
