# SPDX-License-Identifier: Apache-2.0
"""Dynamics in torch: its own check of gradients, the library's matrices, tensors that are not copied."""

from functools import partial

import numpy as np
import pytest
from loop_robots import states
from refused import refused

import ada_dynamics as ada
from ada_dynamics.dynamics.computation import ambient_of

torch = pytest.importorskip("torch", reason="torch is not installed")
import ada_dynamics.torch as adapter  # noqa: E402


def tensors(*arrays, grad=True):
    return [torch.tensor(np.asarray(x), dtype=torch.float64, requires_grad=grad) for x in arrays]


def test_gradcheck_passes_backwards_and_forwards():
    model, q, v, tau = states("pa10", 2)
    dynamics = ada.Dynamics(model)
    options = {"check_forward_ad": True, "eps": 1e-5, "atol": 1e-5, "rtol": 1e-4}
    for function in (adapter.forward, adapter.inverse):
        assert torch.autograd.gradcheck(partial(function, dynamics), tensors(q, v, tau), **options)


@pytest.mark.parametrize("name", ["pa10", "free", "five_bar", "stewart"])
def test_gradients_are_those_of_forward_derivatives(name):
    model, q, v, tau = states(name)
    dynamics = ada.Dynamics(model)
    given, w = tensors(q, v, tau), np.random.default_rng(5).normal(size=v.shape)
    (adapter.forward(dynamics, *given) * torch.tensor(w)).sum().backward()
    found = dynamics.forward_derivatives(q, v, tau)
    by_q = ambient_of(dynamics).velocity_gradient(q, given[0].grad.numpy())
    for mine, matrix in zip((by_q, given[1].grad.numpy(), given[2].grad.numpy()), found, strict=True):
        wanted = (w[:, None] @ matrix)[:, 0]
        assert np.max(np.abs(mine - wanted)) < 1e-11 * max(1.0, np.max(np.abs(matrix)))


def test_quaternions_keep_their_length():
    model, q, v, tau = states("free")
    given = tensors(q, v, tau)
    adapter.forward(ada.Dynamics(model), *given).square().sum().backward()
    for name in model.joint_names:
        at = model.joints[name].type.quaternion_at()
        if at is not None:
            own = slice(model.q_index(name).start + at, model.q_index(name).start + at + 4)
            along = np.sum(given[0].grad.numpy()[:, own] * q[:, own], axis=1)
            assert np.max(np.abs(along)) < 1e-10 * float(given[0].grad.abs().max())


def test_dimensions_are_broadcast_and_types_kept():
    model, q, v, tau = states("pa10", 6)
    dynamics = ada.Dynamics(model)
    (one,), (many,) = tensors(q[0]), tensors(tau.reshape(2, 3, 7))
    a = adapter.forward(dynamics, one, torch.zeros(7, dtype=torch.float64), many)
    assert a.shape == (2, 3, 7)
    a.sum().backward()
    assert one.grad.shape == (7,) and many.grad.shape == (2, 3, 7)
    assert (
        adapter.forward(dynamics, *(torch.tensor(x, dtype=torch.float32) for x in (q, v, tau))).dtype == torch.float32
    )
    assert adapter.forward(dynamics, *tensors(q[0], v[0], tau[0])).shape == (7,)


def test_motions_have_gradients():
    model, q, v, tau = states("five_bar", 4)
    sim = ada.Simulation(model, q[0], integrator="rk4", step=1e-3)
    given = tensors(q[0], v[0], 0.1 * tau)
    positions, speeds = adapter.rollout(sim, *given, hold=5)
    loss = (positions[-1] ** 2).sum() + (speeds[2] ** 2).sum()
    loss.backward()
    path, pull = sim.rollout_vjp(q[0], v[0], 0.1 * tau, hold=5)
    by_q, by_v = np.zeros_like(path.v), np.zeros_like(path.v)
    by_q[-1], by_v[2] = 2.0 * path.q[-1], 2.0 * path.v[2]
    wanted = pull(by_q, by_v)
    for mine, theirs in zip(given, (wanted.dq, wanted.dv, wanted.du), strict=True):
        assert np.allclose(mine.grad.numpy(), theirs, rtol=1e-12, atol=1e-12)


def test_loops_have_no_inverse_of_all_efforts():
    model, q, v, _ = states("five_bar")
    with refused(ada.InputError, field="inverse", value="five_bar"):
        adapter.inverse(ada.Dynamics(model), *tensors(q, v, v))
