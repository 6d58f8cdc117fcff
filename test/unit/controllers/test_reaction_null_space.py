# SPDX-License-Identifier: Apache-2.0
"""Reaction null space: coupling inertia against pinocchio, null space against SVD, bases and feet that feel nothing."""

from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tiers import nightly

import ada_dynamics as ada
from ada_controllers import JointReference, State
from ada_controllers.balance import AnkleHipModel
from ada_controllers.reaction_null_space import ReactionNullSpace
from ada_controllers.support_coupling import SupportCoupling
from ada_experiments.pinocchio_model import PinocchioModel

Array = NDArray[np.float64]

CASES = (("space_robot_a", "base"), ("space_robot_a", "link_3"), ("pa10", ""), nightly("hoap2_10dof", "right_sole"))


@lru_cache(maxsize=8)
def loaded(name: str) -> tuple[ada.Model, ada.Dynamics]:
    model = ada.load(name)
    return model, ada.Dynamics(model)


@lru_cache(maxsize=16)
def coupling(name: str, support: str) -> SupportCoupling:
    return SupportCoupling(loaded(name)[0], support)


def at_rest(dynamics: ada.Dynamics, found: SupportCoupling, q: Array, rates: Array) -> Array:
    """The velocity of the model in which the joints have these rates and the support rests."""
    if not found.is_floating:
        return rates
    J = dynamics.jacobian(found.support, q)
    return np.concatenate([-np.linalg.solve(J[:, :6], J[:, 6:] @ rates), rates])


def about_support(pose: Array, com: Array, momentum: Array) -> Array:
    """Momentum about the centre of mass in the world's axes, about the support in its own."""
    R, at = pose[:3, :3], pose[:3, 3]
    angular = momentum[3:] + np.cross(com - at, momentum[:3])
    return np.concatenate([R.T @ momentum[:3], R.T @ angular])


@pytest.mark.parametrize(("name", "support"), CASES)
def test_coupling_inertia_is_pinocchios_momentum_about_the_support_at_rest(name: str, support: str) -> None:
    pin = pytest.importorskip("pinocchio")
    model, dynamics = loaded(name)
    found, other = coupling(name, support), PinocchioModel(model)
    data = other.model.createData()
    rng = np.random.default_rng(1)
    for _ in range(5):
        q, _ = model.random_state(rng)
        rates = rng.normal(size=found.count)
        v = at_rest(dynamics, found, q, rates)
        h = pin.computeCentroidalMomentum(other.model, data, other.own_position(q), other.own_velocity(v))
        wanted = about_support(dynamics.pose(found.support, q), data.com[0], np.array(h))
        assert found.matrix(q) @ rates == pytest.approx(wanted, rel=1e-9, abs=1e-10)


@pytest.mark.parametrize(("name", "support"), CASES)
def test_bias_is_the_rate_of_the_coupling_inertia_times_the_joint_rates(name: str, support: str) -> None:
    model, dynamics = loaded(name)
    found, rng = coupling(name, support), np.random.default_rng(2)
    q, _ = model.random_state(rng)
    rates = rng.normal(size=found.count)
    v, h = at_rest(dynamics, found, q, rates), 1e-5
    ahead, behind = found.matrix(model.integrate(q, v, h)), found.matrix(model.integrate(q, v, -h))
    scale = np.abs(found.bias(q, v)).max()
    assert found.bias(q, v) == pytest.approx((ahead - behind) @ rates / (2.0 * h), abs=1e-7 * scale)


@pytest.mark.parametrize(("name", "support"), CASES)
def test_projected_velocities_have_no_momentum_and_are_the_nearest_such(name: str, support: str) -> None:
    model, _ = loaded(name)
    found, rng = coupling(name, support), np.random.default_rng(4)
    for _ in range(5):
        q, _ = model.random_state(rng)
        b = rng.normal(size=found.count)
        M = found.matrix(q)
        x = found.projected(q, b)
        assert np.abs(M @ x).max() < 1e-13 * np.abs(M).max() * max(1.0, np.abs(b).max())
        _, s, Vt = np.linalg.svd(M)
        rank = int(np.sum(s > 1e-9 * s[0]))
        assert found.rank(q) == rank
        N = Vt[rank:].T
        assert x == pytest.approx(N @ N.T @ b, abs=1e-9)


def test_only_named_components_are_kept() -> None:
    model, _ = loaded("hoap2_10dof")
    found, rng = coupling("hoap2_10dof", "right_sole"), np.random.default_rng(5)
    q, _ = model.random_state(rng)
    momentum = found.matrix(q) @ found.projected(q, rng.normal(size=10), ("fx", "nz"))
    assert np.abs(momentum[[0, 5]]).max() < 1e-14
    assert np.abs(momentum[[1, 2, 3, 4]]).min() > 1e-6
    assert found.rank(q, ("fx", "nz")) == 2


FIG_6_7 = AnkleHipModel(m1=1.4, lg1=0.12, l1=0.2, mh=0.4, m2=4.6, lg2=0.1)


def model_of_fig_6_7() -> ada.Model:
    own = FIG_6_7
    builder = ada.Builder("fig_6_7").link("foot").link("leg", own.m1, (0, 0, own.lg1), np.eye(3) * 1e-3)
    builder.link("hip", own.mh, (0, 0, 0), np.eye(3) * 1e-4)
    builder.link("upper", own.m2, (0, 0, own.lg2), np.eye(3) * 1e-2)
    builder.joint("a", "revolute", "foot", "leg", axis=(0, 1, 0))
    builder.joint("h1", "revolute", "leg", "hip", (0, 0, own.l1), axis=(0, 0, 1))
    builder.joint("h2", "revolute", "hip", "upper", axis=(0, 1, 0))
    return builder.build()


def test_closed_form_of_three_joints_is_the_general_one() -> None:
    found = SupportCoupling(model_of_fig_6_7())
    for q in np.random.default_rng(7).uniform(-1.2, 1.2, (10, 3)):
        row = found.matrix(q)[0]
        assert FIG_6_7.coupling(q.tolist()) == pytest.approx(row, abs=1e-14)
        n1, n2 = np.array(FIG_6_7.motions(q.tolist()))
        assert n1[1] == 0.0
        assert n2[2] == 0.0
        assert abs(row @ n1) < 1e-14
        assert abs(row @ n2) < 1e-14
        kept = found.projected(q, n1, ("fx",))
        assert kept == pytest.approx(n1, abs=1e-12)
        assert FIG_6_7.ankle_per_hip(q.tolist()) == pytest.approx(n1[0] / n1[2])


def moving_arm(name: str, settings: dict[str, Any]) -> tuple[ada.Model, ReactionNullSpace, State, JointReference]:
    model, _ = loaded(name)
    rng = np.random.default_rng(8)
    q = model.neutral()
    q[7:] = rng.uniform(-1.0, 1.0, model.nq - 7)
    controller = ReactionNullSpace(model, settings)
    rates = coupling(name, "base").projected(q, rng.normal(size=model.nv - 6))
    state = State(q, np.concatenate([np.zeros(6), rates]))
    controller.reset(state, 0.0)
    return model, controller, state, JointReference(rng.uniform(-1.0, 1.0, model.nv - 6))


@pytest.mark.parametrize("name", ["space_robot_a", "space_robot_b"])
def test_a_free_flying_base_is_not_accelerated(name: str) -> None:
    _, controller, state, goal = moving_arm(name, {})
    effort = controller.update(state, goal, 0.001).effort
    a = loaded(name)[1].forward(state.q, state.v, np.concatenate([np.zeros(6), effort]))
    M = loaded(name)[1].mass_matrix(state.q)
    moved = np.abs(M[:6, 6:]) @ np.abs(a[6:])  # momentum per time that the joints move to and fro
    assert np.abs(M[:6, :6] @ a[:6]).max() < 1e-9 * moved.max()
    assert np.abs(a[6:]).max() > 0.1
    assert np.abs(controller.signals()["reaction"]).max() < 1e-9 * moved.max()
    assert controller.signals()["rank"] == [3.0]


def test_weights_decide_which_joints_give_way() -> None:
    weights = np.array([50.0, 1.0, 3.0, 0.2])
    _, controller, state, goal = moving_arm("space_robot_a", {"weights": weights.tolist(), "momentum_gain": 0.0})
    effort = controller.update(state, goal, 0.001).effort
    a = loaded("space_robot_a")[1].forward(state.q, state.v, np.concatenate([np.zeros(6), effort]))
    found = coupling("space_robot_a", "base")
    wanted = 25.0 * (goal.position - state.q[7:]) - 10.0 * state.v[6:]
    M, b = found.matrix(state.q), found.bias(state.q, state.v)
    eased = M / weights
    nearest = wanted - eased.T @ np.linalg.pinv(eased @ M.T, rcond=1e-9) @ (M @ wanted + b)
    assert a[6:] == pytest.approx(nearest, abs=1e-9 * np.abs(wanted).max())
