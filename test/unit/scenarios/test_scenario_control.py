# SPDX-License-Identifier: Apache-2.0
"""Scenarios with a controller: it acts, its signals are in the log, and mistakes are refused before anything moves."""

import numpy as np
import pytest
from refused import refused

from ada_controllers import CONTROLLERS
from ada_tools import scenario as scenarios
from ada_tools.scenario.registry import find_experiment, find_measure
from ada_tools.scenario.run import build_model

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


@pytest.mark.parametrize(
    ("change", "field", "value"),
    [
        ({"controller.name": "computed_tork"}, "controller", "computed_tork"),
        ({"controller.settings.stiffnes": [1.0]}, "controller", "stiffnes"),
        ({"controller.reference.joints.s9": 1.0}, "controller.reference.joints.s9", None),
        ({"controller.reference.joints.s1": "300 deg"}, "controller", np.radians(300.0)),  # outside of its limits
        ({"controller.robot": "planar_7r"}, "controller", "pa10"),
        ({"controller.reference.pose": {"position": [0, 0, 1]}}, "controller.reference.pose", None),
        ({"model.robot": "khr1", "start.joints": {}, "controller.reference": {}}, "controller", 17),  # it floats
    ],
)
def test_mistakes_in_a_controller_are_refused(change, field, value):
    with refused(scenarios.ScenarioError, field=field, value=value):
        scenarios.simulation_of(reach(**change))


def test_settings_of_a_controller_have_units():
    short = {"simulation.duration": "20 ms"}
    given, plain = reach(**short, **{"controller.settings.damping": ["0.02 1/ms"]}), reach(**short)
    np.testing.assert_allclose(scenarios.simulate(given).q, scenarios.simulate(plain).q, rtol=1e-12)


def pushed(**changes):
    more = {"simulation.duration": "60 ms", "disturbances.0.start": "0 s", "controller.robot": "hoap2_standing"}
    return scenarios.load("T6.2").with_changes(more | changes)


def test_rotors_friction_and_contact_of_a_scenario():
    free = {"model.robot": "hoap2_10dof", "simulation.integrator": "semi_implicit"}
    contact = {"links": ["right_foot", "left_foot"], "stiffness": "180 kN/m", "friction": 0.5}
    motors = {"model.rotor_inertia": "0.02 kg m^2", "model.joint_friction": "0.05 N m"}
    scenario = pushed(**free, **motors, **{"simulation.contact": contact})
    model = build_model(scenario)
    names = set(model.actuated) - {model.floating_joint}
    found = {(joint.armature, joint.friction) for name, joint in model.joints.items() if name in names}
    assert found == {(0.02, 0.05)}
    log = scenarios.simulate(scenario)
    # Without contact it would fall by 18 mm.
    assert np.ptp(log.com[:, 2]) < 1e-3
    assert {frame[0] for frame in log.contact_frames.values()} == set(contact["links"])
    for key, value in {"model.joint_friction": -1.0, "simulation.contact.friction": -1.0}.items():
        with refused(scenarios.ScenarioError, field=key):
            scenario.with_changes({key: value})


def test_zero_moment_point_of_the_motion_is_that_of_the_wrenches_of_the_feet():
    scenario, coarse = pushed(), pushed(**{"simulation.integrator": "semi_implicit"})
    found = scenarios.measure(scenario, scenarios.simulate(scenario), ["zmp_margin", "zmp_margin_of_motion"])
    assert found["zmp_margin_of_motion"] == pytest.approx(found["zmp_margin"], abs=1e-12)
    near = scenarios.measure(coarse, scenarios.simulate(coarse), ["zmp_margin_of_motion"])
    assert near["zmp_margin_of_motion"] == pytest.approx(found["zmp_margin"], abs=5e-4)  # of first order, steps of 1 ms


def test_groups_name_scenarios_that_exist():
    assert all(map(scenarios.names_in, scenarios.GROUPS))


@pytest.mark.parametrize("name", scenarios.names())
def test_what_the_scenarios_of_the_library_name_is_there(name):
    scenario = scenarios.load(name)
    assert scenario.name == name
    assert scenario.source
    assert scenario.control is None or scenario.control.name in CONTROLLERS
    for claim in scenario.claims:
        assert claim.quantity or find_measure(claim.measure)
        scenario.with_changes(claim.changes)
    assert scenario.experiment is None or find_experiment(scenario.experiment)
