# SPDX-License-Identifier: Apache-2.0
"""Dynamics and rollouts as functions of torch with analytic gradients.

    import ada_dynamics.torch

    a = ada_dynamics.torch.forward(dynamics, q, v, tau)  # tensors with any leading dimensions
    a.square().sum().backward()  # tau.grad, ...

CPU tensors are read without a copy; GPU tensors need `Dynamics(model, device="cuda")`, and their gradients are computed
on the CPU. Gradients by quaternions in q have no component along the quaternion, as its norm is constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ada_dynamics.dynamics import Dynamics
from ada_dynamics.dynamics.computation import ambient_of
from ada_dynamics.errors import InputError
from ada_dynamics.resources import how_to_install
from ada_dynamics.simulation import Simulation

try:
    import torch
    from torch.autograd.function import once_differentiable
except ModuleNotFoundError:
    raise ImportError(f"torch is not installed: {how_to_install('torch')}") from None

Tensor = Any  # torch.Tensor; Any if torch is not installed


def forward(dynamics: Dynamics, q: Tensor, v: Tensor, tau: Tensor) -> Tensor:
    """Joint accelerations, (..., nv), as `Dynamics.forward`; differentiable in reverse and forward mode."""
    return _broadcast_call(lambda *x: _Forward.apply(dynamics, *x), q, v, tau)


def inverse(dynamics: Dynamics, q: Tensor, v: Tensor, a: Tensor) -> Tensor:
    """Joint efforts, (..., nv), as `Dynamics.inverse`; differentiable by all arguments.

    Raises:
        InputError: the model has loops; the distribution of efforts to the motors is not differentiated.
    """
    if dynamics.model.loops:
        text = f"model {dynamics.model.name!r} has loops; use Dynamics.inverse_derivatives(coordinates='actuated')."
        raise InputError(text, field="inverse", value=dynamics.model.name)
    return _broadcast_call(lambda *x: _Inverse.apply(dynamics, *x), q, v, a)


def rollout(sim: Simulation, q: Tensor, v: Tensor, tau: Tensor, *, hold: int = 1) -> tuple[Tensor, Tensor]:
    """Configurations (R + 1, nq) and velocities (R + 1, nv) of a rollout, differentiated by `Simulation.rollout_vjp`.

    Args:
        sim: simulation with integrator and time step; its state does not change.
        q: initial configuration, (nq,).
        v: initial velocities, (nv,).
        tau: efforts, (R, nv).
        hold: integration steps per row of efforts.
    """
    return _Rollout.apply(sim, hold, q, v, tau)  # type: ignore[no-any-return]


class _Forward(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, dynamics: Dynamics, q: Tensor, v: Tensor, tau: Tensor) -> Tensor:
        ctx.dynamics = dynamics
        ctx.save_for_backward(q, v, tau)
        ctx.save_for_forward(q, v, tau)
        return _tensor(dynamics.forward(*_arrays(q, v, tau)), q)

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, w: Tensor) -> tuple[Tensor | None, ...]:
        return _vjp(ctx.dynamics, ctx.dynamics.forward_vjp, ctx.saved_tensors, w)

    @staticmethod
    def jvp(ctx: Any, _: None, d_q: Tensor, d_v: Tensor, d_tau: Tensor) -> Tensor:
        tensors = ctx.saved_tensors
        changes = [torch.zeros_like(x) if d is None else d for x, d in zip(tensors, (d_q, d_v, d_tau), strict=True)]
        positions, *rest = _on_cpu(*tensors)
        along, *others = _on_cpu(*changes)
        velocity = ambient_of(ctx.dynamics).velocity(positions, along)
        return _tensor(ctx.dynamics.forward_jvp(positions, *rest, velocity, *others), tensors[0])


class _Inverse(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, dynamics: Dynamics, q: Tensor, v: Tensor, a: Tensor) -> Tensor:
        ctx.dynamics = dynamics
        ctx.save_for_backward(q, v, a)
        return _tensor(dynamics.inverse(*_arrays(q, v, a)), q)

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, w: Tensor) -> tuple[Tensor | None, ...]:
        return _vjp(ctx.dynamics, ctx.dynamics.inverse_vjp, ctx.saved_tensors, w)


class _Rollout(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, sim: Simulation, hold: int, q: Tensor, v: Tensor, tau: Tensor) -> tuple[Tensor, Tensor]:
        path, ctx.pull = sim.rollout_vjp(*_on_cpu(q, v, tau), hold=hold)
        ctx.ambient, ctx.positions, ctx.like = ambient_of(sim.dynamics), path.q, q
        return _tensor(path.q, q), _tensor(path.v, q)

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, by_q: Tensor, by_v: Tensor) -> tuple[Tensor | None, ...]:
        rows, speeds = _on_cpu(by_q, by_v)
        found = ctx.pull(ctx.ambient.velocity_gradient(ctx.positions, rows), speeds)
        start = ctx.ambient.gradient(ctx.positions[0], found.dq)
        return (None, None, *(_tensor(x, ctx.like) for x in (start, found.dv, found.du)))


def _vjp(dynamics: Dynamics, product: Any, state: Sequence[Tensor], w: Tensor) -> tuple[Tensor | None, ...]:
    """Gradients by the arguments of a function from its vector-Jacobian product."""
    positions, *rest = _on_cpu(*state)
    found = product(positions, *rest, *_on_cpu(w))
    by_q = ambient_of(dynamics).gradient(positions, found.dq)
    return (None, *(_tensor(x, w) for x in (by_q, found.dv, found.du)))


def _broadcast_call(function: Any, *given: Tensor) -> Tensor:
    """Apply a function of rows of states to tensors with broadcast leading dimensions."""
    first = given[0].shape[:-1]
    if len(first) < 2 and all(x.shape[:-1] == first for x in given):
        return function(*given)
    lead = torch.broadcast_shapes(*(x.shape[:-1] for x in given))
    rows = [x.expand(*lead, x.shape[-1]).reshape(*((-1,) if lead else ()), x.shape[-1]) for x in given]
    found = function(*rows)
    return found.reshape(*lead, found.shape[-1])


def _arrays(*tensors: Tensor) -> list[Any]:
    """Arrays that share the memory of CPU tensors; GPU tensors are passed on."""
    return [x.detach() if x.is_cuda else x.detach().numpy() for x in tensors]


def _on_cpu(*tensors: Tensor) -> list[Any]:
    """Arrays that share the memory of CPU tensors, or copies of GPU tensors."""
    return [x.detach().cpu().numpy() for x in tensors]


def _tensor(found: Any, like: Tensor) -> Tensor:
    made = torch.from_numpy(found) if isinstance(found, np.ndarray) else torch.from_dlpack(found)
    return made.to(device=like.device, dtype=like.dtype)
