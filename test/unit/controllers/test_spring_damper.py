# SPDX-License-Identifier: Apache-2.0
"""Springs and dampers at the joints: eq. 6.6, gains by a quintic spline, weight that loops share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tiers import nightly

import ada_dynamics as ada
from ada_controllers import JointReference, State, make
from ada_controllers.in_simulation import InSimulation
from ada_controllers.support.loop_conditions import carried_weight
from ada_controllers.support.variable_gains import turned
from ada_robot.trajectory.splines import QuinticSpline


@pytest.fixture(scope="module")
def standing() -> ada.Model:
    return ada.load("hoap2_standing")


def test_efforts_are_those_of_eq_6_6(pa10: ada.Model) -> None:
    rng = np.random.default_rng(1)
    kp, kd = rng.uniform(0.1, 5.0, (2, 7))
    controller = make("spring_damper", pa10, {"stiffness": kp.tolist(), "damping": kd.tolist()})
    q, v, goal = rng.uniform(-0.5, 0.5, (3, 7))
    controller.reset(State(q, v), 0.0)
    at_start = controller.update(State(q, v), None, 0.001).effort
    assert at_start == pytest.approx(-kd * v, abs=1e-14)  # θ_ini: where it began
    assert controller.update(State(q, v), JointReference(goal), 0.002).effort == pytest.approx(
        kp * (goal - q) - kd * v, abs=1e-14
    )
    moving = JointReference(goal, velocity=v)
    assert controller.update(State(q, v), moving, 0.003).effort == pytest.approx(kp * (goal - q), abs=1e-14)


def test_gains_follow_the_quintic_spline_over_the_turn(standing: ada.Model) -> None:
    settings = {
        "link": "body",
        "axis": "z",
        "full_angle": 0.3,
        "stiffness": [1.0],
        "turned_stiffness": [5.0],
        "damping": [0.2],
        "turned_damping": [0.0],
    }
    controller = make("spring_damper", standing, settings)
    dynamics = ada.Dynamics(standing)
    spline = QuinticSpline([0.0, 0.3], [0.0, 1.0])
    start = State(np.zeros(10), np.zeros(10))
    for hip in (0.0, 0.05, -0.12, 0.2, 0.29, -0.4):
        q = np.where(np.isin(standing.joint_names, ["joint_1", "joint_6"]), hip, 0.0)
        v = np.full(10, 0.1)
        controller.reset(start, 0.0)
        effort = controller.update(State(q, v), None, 0.001).effort
        R = dynamics.pose("body", q)
        yaw = np.arctan2(R[1, 0], R[0, 0])
        part = float(spline.position(abs(yaw)))
        wanted = -(1.0 + 4.0 * part) * q - 0.2 * (1.0 - part) * v
        assert effort == pytest.approx(wanted, abs=1e-12)
        assert controller.signals()["angle"] == pytest.approx([yaw], abs=1e-14)


def test_a_joint_swings_as_a_damped_oscillator() -> None:
    """I θ̈ + d θ̇ + k θ = 0 about a vertical axis, within what a control period of 1 ms leaves."""
    builder = ada.Builder("wheel").link("base").link("disc", 1.0, (0, 0, 0), np.diag([0.1, 0.1, 0.2]))
    model = builder.joint("turn", "continuous", "base", "disc", axis=(0, 0, 1)).build()
    controller = make("spring_damper", model, {"stiffness": [5.0], "damping": [0.4]})
    log = InSimulation(controller, JointReference(np.zeros(1))).simulation(model, np.array([0.5]), step=1e-3).run(2.0)
    decay, w = 0.4 / (2 * 0.2), np.sqrt(5.0 / 0.2 - 1.0)
    wanted = 0.5 * np.exp(-decay * log.t) * (np.cos(w * log.t) + decay / w * np.sin(w * log.t))
    assert np.abs(log.q[:, 0] - wanted).max() < 3e-3


@pytest.mark.parametrize("name", ["pa10", "four_bar", *map(nightly, ("hoap2_standing", "delta"))])
def test_carried_weight_is_what_holds_a_robot_at_rest_with_the_least_efforts(name: str) -> None:
    model = ada.load(name)
    q = ada.assemble(model, model.neutral() if name == "pa10" else _start(name))
    dynamics = ada.Dynamics(model, pose=q)
    weight = np.array(carried_weight(model.tree, q.tolist()))
    rest = np.zeros(model.nv)
    scale = np.abs(dynamics.forward(q, rest, rest)).max()
    assert np.abs(dynamics.forward(q, rest, weight)).max() < 1e-9 * max(scale, 1.0)
    if len(model.actuated) == model.nv:
        assert weight == pytest.approx(dynamics.inverse(q, rest, rest), abs=1e-9)


def _start(name: str) -> Any:
    from ada_dynamics.robots.catalogue import start_of

    return start_of(name)


@pytest.mark.fuzz
def test_springs_with_carried_weight_do_not_sag(standing: ada.Model) -> None:
    controller = make("spring_damper", standing, {"stiffness": [2.0], "damping": [0.5], "carry_weight": True})
    log = InSimulation(controller).simulation(standing, np.zeros(10), step=2e-3).run(0.5)
    assert np.abs(log.q).max() < 1e-9


def test_turns_are_roll_pitch_and_yaw(pa10: ada.Model) -> None:
    for axis, joints in (("z", {"s1": 0.4}), ("y", {"s2": 0.3}), ("x", {"s1": np.pi / 2, "s2": 0.3, "s3": -np.pi / 2})):
        q = np.zeros(7)
        for name, angle in joints.items():
            q[pa10.q_index(name)] = angle
        angle = turned(pa10.tree, q.tolist(), "link_3", axis)
        assert abs(angle) == pytest.approx(0.4 if axis == "z" else 0.3, abs=1e-12)
