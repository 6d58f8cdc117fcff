# SPDX-License-Identifier: Apache-2.0
"""Computed torque: each joint's error obeys a linear equation whose solution is known."""

from __future__ import annotations

import numpy as np
import pytest

import ada_dynamics as ada
from ada_controllers import JointReference, State, make
from ada_controllers.in_simulation import InSimulation
from ada_dynamics.engines.pinocchio_model import PinocchioModel


def test_efforts_are_those_of_pinocchio_for_the_wanted_acceleration(pa10: ada.Model) -> None:
    pytest.importorskip("pinocchio")
    other = PinocchioModel(pa10)
    rng = np.random.default_rng(1)
    kp, kd = rng.uniform(1.0, 50.0, (2, 7))
    controller = make("computed_torque", pa10, {"stiffness": kp.tolist(), "damping": kd.tolist()})
    for _ in range(20):
        q, goal = rng.uniform(-0.3, 0.3, (2, 7))
        v, v_ref, a_ref = rng.normal(size=(3, 7)) * 0.1
        wanted = a_ref + kd * (v_ref - v) + kp * (goal - q)
        controller.reset(State(q, v), 0.0)
        told = controller.update(State(q, v), JointReference(goal, v_ref, a_ref), 0.001)
        tau = other.inverse(q, v, wanted)
        limits = np.array([limit.effort for limit in controller.limits])
        assert told.effort == pytest.approx(np.clip(tau, -limits, limits), rel=1e-9, abs=1e-9)


def test_errors_die_out_as_springs_and_dampers_do(pa10: ada.Model) -> None:
    """ë + 2 w ė + w² e = 0 from rest: e = e0 (1 + w t) exp(-w t), within what a control period of 1 ms leaves."""
    w = 5.0
    controller = make("computed_torque", pa10, {"stiffness": [w * w], "damping": [2.0 * w]})
    start = np.array([0.3, 0.4, -0.2, 0.8, 0.1, 0.3, 0.0])
    goal = start + 0.05 * np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0])
    log = InSimulation(controller, JointReference(goal)).simulation(pa10, start, step=1e-3).run(1.0)
    wanted = (goal - start) * ((1.0 + w * log.t) * np.exp(-w * log.t))[:, None]
    assert np.abs(goal - log.q - wanted).max() < 2e-4
    assert controller.saturations == 0
