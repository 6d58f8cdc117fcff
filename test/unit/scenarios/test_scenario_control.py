# SPDX-License-Identifier: Apache-2.0
"""Scenarios with a controller: it acts, its signals are in the log, and mistakes are told before anything moves."""

import numpy as np
import pytest

from ada_controllers import CONTROLLERS
from ada_tools import cli
from ada_tools import scenario as scenarios
from ada_tools.scenario.registry import find_measure

REACH = {
    "name": "reach",
    "model": {"robot": "pa10"},
    "start": {"joints": {"s2": "30 deg", "e1": "40 deg"}},
    "simulation": {"step": "1 ms", "duration": "1.5 s"},
    "controller": {
        "name": "computed_torque",
        "settings": {"stiffness": [100.0], "damping": [20.0]},
        "period": "2 ms",
        "reference": {"joints": {"s1": "20 deg"}},
    },
}


def reach(**changes):
    return scenarios.load(REACH).with_changes(changes)


def test_the_controller_leads_named_joints_and_keeps_the_others_where_they_start():
    log = scenarios.simulate(reach())
    wanted = np.radians([20.0, 30.0, 0.0, 40.0, 0.0, 0.0, 0.0])
    error = np.radians(20.0) * (1 + 10 * 1.5) * np.exp(-10 * 1.5)  # critically damped, 10 rad/s
    np.testing.assert_allclose(log.q[-1], wanted, atol=1.2 * error)


def test_signals_of_the_controller_are_rows_over_its_own_times():
    log = scenarios.simulate(reach())
    np.testing.assert_allclose(np.diff(log.signal_times), 2e-3, rtol=1e-9)
    assert log.signals["effort"].shape == (len(log.signal_times), 7)


def test_signals_are_drawn_by_name(tmp_path):
    scenario = scenarios.load({**REACH, "figures": [{"file": "efforts", "panels": ["position", "signal:effort"]}]})
    result = scenarios.reproduce(scenario, tmp_path)
    assert not result.error
    assert (tmp_path / "efforts.png").stat().st_size > 10_000
    wrong = scenarios.load({**REACH, "figures": [{"file": "efforts", "panels": ["signal:efort"]}]})
    assert "Did you mean 'effort'?" in scenarios.reproduce(wrong, tmp_path).error


def test_a_controller_may_take_the_robot_for_one_with_the_same_joints():
    other = scenarios.simulate(reach(**{"controller.robot": "pa10"}))
    np.testing.assert_array_equal(other.q, scenarios.simulate(reach()).q)


@pytest.mark.parametrize(
    "change, says",
    [
        ({"controller.name": "computed_tork"}, "Did you mean 'computed_torque'?"),
        ({"controller.settings.stiffnes": [1.0]}, "no parameter is named 'stiffnes'"),
        ({"controller.settings.stiffness": [-1.0]}, "of at least 0"),
        ({"controller.reference.joints.s9": 1.0}, "commands no joint of that name. Known: s1, s2"),
        ({"controller.reference.joints.s1": "300 deg"}, "outside of"),
        ({"controller.reference.joints.s1": "1 m"}, "an angle"),
        ({"controller.robot": "planar_7r"}, "must have the same joints"),
        ({"controller.period": 0}, "greater than 0"),
        ({"controller.reference.pose": {"position": [0, 0, 1]}}, "either a pose or joints"),
        ({"model.robot": "khr1", "start.joints": {}, "controller.reference": {}}, "fixed base"),
    ],
)
def test_mistakes_in_a_controller_are_refused_with_the_fix(change, says):
    with pytest.raises(scenarios.ScenarioError) as refused:
        scenarios.simulation_of(reach(**change))
    assert says in str(refused.value)


def test_groups_name_scenarios_that_exist():
    for group in scenarios.GROUPS:
        assert scenarios.names_in(group), group
    assert cli.main(["reproduce", "chapter0"]) == 2


def test_controllers_and_measures_of_the_scenarios_are_known():
    for name in scenarios.names():
        scenario = scenarios.load(name)
        assert scenario.control is None or scenario.control.name in CONTROLLERS
        for claim in scenario.claims:
            find_measure(claim.measure)
