# SPDX-License-Identifier: Apache-2.0
"""Impedance: pushed, the robot gives way as the springs, dampers and masses that it was given would."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from refused import refused

import ada_dynamics as ada
from ada_controllers import JointReference, PoseReference, ReferenceRefused, State, make
from ada_controllers.impedance import damping_of, pose_error
from ada_controllers.in_simulation import InSimulation
from ada_dynamics.simulation import Simulation, constant

Array = NDArray[np.float64]

START = np.array([0.2, 0.5, -0.3, 1.0, 0.2, 0.6, 0.1])
HAND = "flange"
FORCE = np.array([10.0, -5.0, 8.0, 0.0, 0.0, 0.0])
AT_LINK = {"space": "link", "link": HAND}


def told(controller: Any, state: State, reference: Any = None) -> Any:
    controller.reset(state, 0.0)
    return controller.update(state, reference, 0.0).effort


def pushed(model: ada.Model, settings: Any, until: float, feels: bool = False) -> ada.Log:
    """A steady force on the hand in the world's axes, measured in the hand's own where it is felt."""
    poses = ada.Dynamics(model)

    def sensor(sim: Simulation) -> Array:
        R = poses.pose(HAND, sim.q)[:3, :3]
        return np.concatenate([R.T @ FORCE[:3], R.T @ FORCE[3:]])

    loop = InSimulation(make("impedance", model, settings), sensor=sensor if feels else None)
    return loop.simulation(model, START, step=1e-3, external=[constant(HAND, FORCE, frame="world")]).run(until)


def test_at_the_joints_efforts_are_weight_springs_and_dampers(pa10: ada.Model, dynamics: ada.Dynamics) -> None:
    settings = {"joint_stiffness": [30.0], "damping_ratio": 0.0, "joint_damping": [4.0], "gravity": 0.5}
    v, ahead = np.linspace(-0.1, 0.1, 7), np.linspace(0.0, 0.2, 7)
    controller = make("impedance", pa10, settings)
    efforts = told(controller, State(START, v), JointReference(START + 0.1, ahead))
    assert efforts == pytest.approx(0.5 * dynamics.gravity(START) + 3.0 + 4.0 * (ahead - v))
    assert controller.signals()["error"] == pytest.approx(np.full(7, 0.1))


def test_with_their_inertia_shaped_joints_move_as_masses_on_springs(pa10: ada.Model, dynamics: ada.Dynamics) -> None:
    inertia, k, d = 2.0, 30.0, 4.0
    settings = {
        "joint_stiffness": [k],
        "joint_damping": [d],
        "damping_ratio": 0.0,
        "joint_inertia": [inertia],
        "shape_inertia": True,
        "link": HAND,
    }
    v = np.linspace(-0.3, 0.2, 7)
    R = dynamics.pose(HAND, START)[:3, :3]
    felt = np.concatenate([R.T @ FORCE[:3], np.zeros(3)])
    efforts = told(make("impedance", pa10, settings), State(START, v, felt), JointReference(START + 0.02))
    a = dynamics.forward(START, v, efforts, {HAND: felt})
    outer = dynamics.jacobian(HAND, START).T @ FORCE
    assert inertia * a == pytest.approx(outer + k * 0.02 - d * v, rel=1e-9, abs=1e-9)


def test_a_pushed_link_gives_way_by_force_over_stiffness(pa10: ada.Model, dynamics: ada.Dynamics) -> None:
    settings = {**AT_LINK, "linear_stiffness": [400.0, 600.0, 800.0], "null_damping": [5.0]}
    log = pushed(pa10, settings, 5.0)
    moved = pose_error(dynamics.pose(HAND, log.q[-1]), dynamics.pose(HAND, START))
    assert moved[:3] == pytest.approx(FORCE[:3] / [400.0, 600.0, 800.0], abs=1e-5)
    assert moved[3:] == pytest.approx(np.zeros(3), abs=1e-5)


def test_the_elbow_gives_way_while_the_hand_stays(pa10: ada.Model, dynamics: ada.Dynamics) -> None:
    v = np.zeros(7)
    J = dynamics.jacobian(HAND, START)
    own = np.linalg.svd(J)[2][-1]  # the self-motion
    controller = make("impedance", pa10, {**AT_LINK, "null_damping": [3.0]})
    moving = told(controller, State(START, 0.5 * own)) - told(controller, State(START, v))
    a = dynamics.forward(START, v, dynamics.gravity(START) + moving)
    assert np.abs(J @ a).max() < 1e-3 * np.abs(a).max()  # what δ leaves of it
    assert moving @ own < 0.0  # it damps


def test_with_its_inertia_shaped_a_link_moves_as_a_mass_on_a_spring(pa10: ada.Model, dynamics: ada.Dynamics) -> None:
    mass, w = 12.0, 6.0
    settings = {
        **AT_LINK,
        "shape_inertia": True,
        "linear_inertia": mass,
        "linear_stiffness": [mass * w * w],
        "damping_ratio": 1.0,
        "singular_damping": 1e-5,
    }
    log = pushed(pa10, settings, 1.0, feels=True)
    wanted = np.outer(1.0 - (1.0 + w * log.t) * np.exp(-w * log.t), FORCE[:3] / (mass * w * w))
    found = dynamics.pose(HAND, log.q)[:, :3, 3] - dynamics.pose(HAND, START)[:3, 3]
    assert np.abs(found - wanted).max() < 0.01 * np.abs(wanted).max()


def test_damping_gives_every_way_of_swinging_its_ratio() -> None:
    rng = np.random.default_rng(6)
    for ratio in (0.3, 0.7):
        root = rng.normal(size=(5, 5))
        M, K = root @ root.T + 0.1 * np.eye(5), np.diag(rng.uniform(1.0, 100.0, 5))
        D = damping_of(M, K, ratio)
        system = np.block([[np.zeros((5, 5)), np.eye(5)], [-np.linalg.solve(M, K), -np.linalg.solve(M, D)]])
        values = np.linalg.eigvals(system)
        assert -values.real / np.abs(values) == pytest.approx(np.full(10, ratio), rel=1e-6)


def test_a_joint_swings_as_a_damped_oscillator() -> None:
    builder = ada.Builder("wheel").link("base").link("disc", 1.0, (0, 0, 0), np.diag([0.1, 0.1, 0.2]))
    model = builder.joint("turn", "continuous", "base", "disc", axis=(0, 0, 1)).build()
    controller = make("impedance", model, {"joint_stiffness": [5.0], "joint_damping": [0.4], "damping_ratio": 0.0})
    log = InSimulation(controller, JointReference(np.zeros(1))).simulation(model, np.array([0.5]), step=1e-3).run(2.0)
    decay, w = 0.4 / (2 * 0.2), np.sqrt(5.0 / 0.2 - 1.0)
    wanted = 0.5 * np.exp(-decay * log.t) * (np.cos(w * log.t) + decay / w * np.sin(w * log.t))
    assert np.abs(log.q[:, 0] - wanted).max() < 3e-3


def test_each_space_has_its_own_references(pa10: ada.Model) -> None:
    state = State(START, np.zeros(7))
    for settings, wrong, facts in (
        ({}, PoseReference(np.eye(4)), {"field": "reference", "allowed": "JointReference"}),
        (AT_LINK, JointReference(START), {"field": "reference", "allowed": "PoseReference"}),
    ):
        controller = make("impedance", pa10, settings)
        controller.reset(state, 0.0)
        with refused(ReferenceRefused, **facts):
            controller.update(state, wrong, 0.1)
