# SPDX-License-Identifier: Apache-2.0
"""Dynamics and rollouts as functions of torch with analytic gradients.

    import ada_dynamics.torch

    a = ada_dynamics.torch.forward(dynamics, q, v, tau)  # tensors with any leading dimensions
    a.square().sum().backward()  # tau.grad, ...

CPU tensors are read without a copy; GPU tensors need `Dynamics(model, device="cuda")`, and their gradients are computed
on the CPU. Gradients by quaternions in q have no component along the quaternion, as its norm is constant.
"""

from __future__ import annotations

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
    return _broadcast_call(lambda *x: _Dynamics.apply(dynamics, "forward", *x), q, v, tau)


def inverse(dynamics: Dynamics, q: Tensor, v: Tensor, a: Tensor) -> Tensor:
    """Joint efforts, (..., nv), as `Dynamics.inverse`; differentiable in reverse and forward mode.

    Raises:
        InputError: the model has loops; the distribution of efforts to the motors is not differentiated.
    """
    if dynamics.model.loops:
        text = f"model {dynamics.model.name!r} has loops; use Dynamics.inverse_derivatives(coordinates='actuated')."
        raise InputError(text, field="inverse", value=dynamics.model.name)
    return _broadcast_call(lambda *x: _Dynamics.apply(dynamics, "inverse", *x), q, v, a)


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


class _Dynamics(torch.autograd.Function):  # type: ignore[misc]
    """The method "forward" or "inverse" of `Dynamics`."""

    @staticmethod
    def forward(ctx: Any, dynamics: Dynamics, name: str, *given: Tensor) -> Tensor:
        ctx.dynamics, ctx.name = dynamics, name
        ctx.save_for_backward(*given)
        ctx.save_for_forward(*given)
        # arrays share the memory of CPU tensors; GPU tensors are passed on
        arrays = [x.detach() if x.is_cuda else x.detach().numpy() for x in given]
        return _tensor(getattr(dynamics, name)(*arrays), given[0])

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, w: Tensor) -> tuple[Tensor | None, ...]:
        given = _on_cpu(*ctx.saved_tensors)
        found = getattr(ctx.dynamics, f"{ctx.name}_vjp")(*given, *_on_cpu(w))
        by_q = ambient_of(ctx.dynamics).gradient(given[0], found.dq)
        return (None, None, *(_tensor(x, w) for x in (by_q, found.dv, found.du)))

    @staticmethod
    def jvp(ctx: Any, _: None, __: None, *changes: Tensor | None) -> Tensor:
        tensors = ctx.saved_tensors
        given = _on_cpu(*tensors)
        along, *others = _on_cpu(
            *(torch.zeros_like(x) if d is None else d for x, d in zip(tensors, changes, strict=True))
        )
        velocity = ambient_of(ctx.dynamics).velocity(given[0], along)
        return _tensor(getattr(ctx.dynamics, f"{ctx.name}_jvp")(*given, velocity, *others), tensors[0])


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


def _broadcast_call(function: Any, *given: Tensor) -> Tensor:
    """Apply a function of rows of states to tensors with broadcast leading dimensions."""
    first = given[0].shape[:-1]
    if len(first) < 2 and all(x.shape[:-1] == first for x in given):
        return function(*given)
    lead = torch.broadcast_shapes(*(x.shape[:-1] for x in given))
    rows = [x.expand(*lead, x.shape[-1]).reshape(*((-1,) if lead else ()), x.shape[-1]) for x in given]
    found = function(*rows)
    return found.reshape(*lead, found.shape[-1])


def _on_cpu(*tensors: Tensor) -> list[Any]:
    """Arrays that share the memory of CPU tensors, or copies of GPU tensors."""
    return [x.detach().cpu().numpy() for x in tensors]


def _tensor(found: Any, like: Tensor) -> Tensor:
    made = torch.from_numpy(found) if isinstance(found, np.ndarray) else torch.from_dlpack(found)
    return made.to(device=like.device, dtype=like.dtype)
