# SPDX-License-Identifier: Apache-2.0
"""Laws for mechanisms with loops, against the same laws in reduced coordinates on pinocchio's M and bias."""

from typing import Any

import numpy as np
import pytest

pytest.importorskip("pinocchio")
from mechanism_oracle import Oracle, least_efforts
from refused import refused
from tiers import nightly

import ada_dynamics as ada
from ada_controllers import JointReference, PoseReference, State, make
from ada_controllers.impedance import damping_of, pose_error
from ada_controllers.in_simulation import InSimulation

Array = Any
MOTORS = {"five_bar": 2, "delta": 3, "stewart": 6, "four_bar": 3}  # four_bar: three motors for one motion


class Moving:
    """A catalogue mechanism, closed near its start, that moves as its loops allow."""

    def __init__(self, name: str) -> None:
        self.model = ada.load(name)
        self.oracle, rng = Oracle(self.model), np.random.default_rng(7)
        self.q = np.asarray(self.oracle.nearby(np.asarray(ada.close_loops(self.model)), rng, 0.1), dtype=float)
        self.v = 0.2 * np.asarray(self.oracle.admissible(self.q, rng.normal(size=self.model.nv)), dtype=float)
        self.state = State(self.q, self.v)

    def motions(self) -> Array:
        """Orthonormal velocities that the loops allow, as columns."""
        J = np.asarray(self.oracle.jacobian(self.q), dtype=float)
        return np.linalg.svd(J)[2][self.oracle.rank(self.q) :].T

    def acceleration(self, motors: Array, wanted: Array) -> Array:
        """v̇ with J v̇ = -γ whose motors are nearest to the wanted accelerations."""
        J, gamma = (
            np.asarray(x, dtype=float) for x in (self.oracle.jacobian(self.q), self.oracle.gamma(self.q, self.v))
        )
        T, particular = self.motions(), -np.linalg.pinv(J, rcond=1e-9) @ gamma
        return particular + T @ (np.linalg.pinv(T[motors]) @ (wanted - particular[motors]))


@pytest.fixture(scope="module", params=["five_bar", "four_bar", *map(nightly, ("delta", "stewart"))])
def moving(request: pytest.FixtureRequest) -> Moving:
    return Moving(request.param)


def told(controller: Any, state: State, reference: Any) -> Array:
    controller.reset(state, 0.0)
    return controller.update(state, reference, 0.0).effort


def test_computed_torque_is_the_reduced_law_with_least_efforts(moving: Moving) -> None:
    count = MOTORS[moving.model.name]
    rng = np.random.default_rng(2)
    controller = make("computed_torque", moving.model, {"stiffness": [3.0], "damping": [2.0]})
    place = controller.v_index
    e, rate, ahead = 0.1 * rng.normal(size=(3, count))
    reference = JointReference(moving.q[controller.q_index] + e, moving.v[place] + rate, ahead)
    a = moving.acceleration(place, ahead + 2.0 * rate + 3.0 * e)
    wanted = least_efforts(moving.oracle, moving.q, moving.v, a)[place]
    assert controller.joints == tuple(moving.model.actuated)
    assert told(controller, moving.state, reference) == pytest.approx(wanted, rel=1e-8, abs=1e-8)
    assert controller.saturations == 0


def test_impedance_at_the_motors_is_weight_springs_and_dampers(moving: Moving) -> None:
    controller = make("impedance", moving.model, {"joint_stiffness": [5.0], "damping_ratio": 0.7})
    place, rest = controller.v_index, np.zeros(moving.model.nv)
    weight = least_efforts(moving.oracle, moving.q, rest, rest)[place]
    T = moving.motions()
    M, E = T.T @ moving.oracle.tree.mass_matrix(moving.q) @ T, T[place]
    back = np.linalg.pinv(E)
    D = back.T @ damping_of(M, 5.0 * E.T @ E, 0.7) @ back
    wanted = weight + 5.0 * 0.02 - D @ moving.v[place]
    efforts = told(controller, moving.state, JointReference(moving.q[controller.q_index] + 0.02))
    assert efforts == pytest.approx(wanted, rel=1e-8, abs=1e-8)


def test_a_platform_with_its_inertia_shaped_moves_as_a_mass_on_springs() -> None:
    moving, link = Moving("stewart"), "platform"
    model, oracle = moving.model, moving.oracle
    settings = {
        "space": "link",
        "link": link,
        "shape_inertia": True,
        "linear_inertia": 2.0,
        "angular_inertia": 0.5,
        "linear_stiffness": [8.0],
        "angular_stiffness": [2.0],
        "damping_ratio": 0.0,
        "linear_damping": [3.0],
        "angular_damping": [1.0],
        "singular_damping": 1e-6,
        "null_damping": [0.0],
    }
    controller = make("impedance", model, settings)
    present = ada.Dynamics(model).pose(link, moving.q)
    goal = present.copy()
    goal[:3, 3] += (0.01, -0.02, 0.015)
    tau = np.zeros(model.nv)
    tau[controller.v_index] = told(controller, moving.state, PoseReference(goal))
    a = oracle.forward(moving.q, moving.v, tau).acceleration
    twist = oracle.link_jacobian(link, moving.q) @ moving.v
    inertia, D = np.repeat([2.0, 0.5], 3), np.repeat([3.0, 1.0], 3)
    K = np.repeat([8.0, 2.0], 3)
    wanted = (K * pose_error(goal, present) - D * twist) / inertia
    assert oracle.link_acceleration(link, moving.q, moving.v, a) == pytest.approx(wanted, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("name", ["five_bar", "delta"])
def test_errors_of_motors_die_out_as_springs_and_dampers_do(name: str) -> None:
    model, w = ada.load(name), 8.0
    start = np.asarray(ada.close_loops(model))
    controller = make("computed_torque", model, {"stiffness": [w * w], "damping": [2.0 * w]})
    place = controller.q_index
    goal = start[place] + np.linspace(0.02, 0.04, len(place))
    log = InSimulation(controller, JointReference(goal)).simulation(model, start, step=1e-3).run(0.5)
    wanted = (goal - start[place]) * ((1.0 + w * log.t) * np.exp(-w * log.t))[:, None]
    assert np.abs(goal - log.q[:, place] - wanted).max() < 4e-3 * np.abs(wanted).max()


@pytest.mark.parametrize("law", ["computed_torque", "impedance"])
def test_references_and_efforts_are_in_the_order_of_the_motors(law: str) -> None:
    model = ada.load("planar_4r")
    order = [2, 0, 3, 1]
    turned = ada.Model(
        model.name,
        model.root,
        list(model.links.values()),
        list(model.joints.values()),
        model.gravity,
        actuated=[model.joint_names[i] for i in order],
    )
    state = State(np.array([0.3, -0.2, 0.5, 0.1]), np.array([0.1, 0.2, -0.1, 0.3]))
    goal = state.q + np.array([0.01, 0.02, -0.03, 0.04])
    plain = told(make(law, model), state, JointReference(goal))
    assert told(make(law, turned), state, JointReference(goal[order])) == pytest.approx(plain[order], rel=1e-9)


@pytest.mark.parametrize("law", ["computed_torque", "impedance"])
def test_where_the_motors_do_not_hold_a_joint_it_is_named(law: str) -> None:
    model, turn = ada.load("five_bar"), float(np.arcsin(1.0 / 3.0))  # cranks of 0.3 m, 0.2 m apart
    folded = State(np.array([turn, 0.4 - turn, -turn, 0.4 + turn]), np.zeros(4))
    controller = make(law, model)
    with refused(ada.SingularConfigurationError, joint="left_rod, right_rod"):
        controller.reset(folded, 0.0)
        controller.update(folded, None, 0.0)
