# SPDX-License-Identifier: Apache-2.0
"""Scenario files, controllers in them and settings of experiments: what is read and run, and what is refused."""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest
from refused import refused

from ada_controllers import CONTROLLERS
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import InputError
from ada_experiments.motion_measures import rhombus_angle
from ada_experiments.settings import OR_ZERO, read_settings
from ada_tools import scenario as scenarios
from ada_tools.scenario import ScenarioError
from ada_tools.scenario.registry import find_experiment, find_measure
from ada_tools.scenario.run import build_model, start_state
from ada_tools.scenario.scenario import Scenario, load
from ada_tools.scenario.units import BadValue, value_in

FALL = """\
name: fall
model: {robot: closed_4r}
start:
  joints: {joint_1: 135 deg, joint_2: -45 deg, joint_3: 225 deg}
simulation:
  duration: 0.02 s
  step: 1 ms
claims:
  - {claim: energy is kept, measure: energy_drift, limit: 1e-8}
"""
PUSH = "{link: link_1, wrench: [1, 0, 0, 0, 0, 0], duration: 1 s}"


@pytest.fixture
def read(tmp_path):
    def read(text, name="own.yaml"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return scenarios.load(path)

    return read


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("135 deg", "rad", math.radians(135.0)),
        ("1 ms", "s", 1e-3),
        ("0.3 N m s/rad", "N m s/rad", 0.3),
        ("2 kN/m", "N/m", 2000.0),
        ("30 rpm", "rad/s", math.pi),
        ("9.81 m/s²", "m/s^2", 9.81),
        ("9.81 m/s/s", "m/s^2", 9.81),
        ("2 kg*m^2/s^2", "N m", 2.0),
        ("5 %", "1", 0.05),
        ("7", "m", 7.0),
        ("5", "deg", 5.0),
        ("0.5 rad", "deg", math.degrees(0.5)),
        ("1 mm", "m, rad", 1e-3),
        ("0.1 deg", "m, rad", math.radians(0.1)),
        ("2 g m^2/s", "kg m²/s", 2e-3),
    ],
)
def test_values_are_converted_to_a_unit(text, unit, value):
    assert value_in(text, unit) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize(("text", "unit"), [("1 ms", "m"), ("135 deg", "rad/s"), ("1 kg", "N m/rad, N/m")])
def test_values_of_another_dimension_are_refused_with_both_units(text, unit):
    with refused(BadValue, value=text.split()[1], allowed=unit):
        value_in(text, unit)


@pytest.mark.parametrize(
    "text", ["3 parsec", "1 N/m s", "1 m//s", "1 m/", "fast", "nan", "", "1e999", "1 " + "m" * 100]
)
def test_what_is_no_value_is_refused(text):
    with pytest.raises(BadValue):
        value_in(text, "m/s")


@pytest.mark.parametrize("name", [n for n in scenarios.names() if scenarios.load(n).model is not None])
def test_the_documents_starts_fit_their_robots(name):
    scenario = scenarios.load(name)
    model = build_model(scenario)
    q, v = start_state(scenario, model)
    assert (q.shape, v.shape) == ((model.nq,), (model.nv,))


def test_a_start_off_the_loops_is_refused_unless_it_is_closed(read):
    scenario = read(FALL.replace("225 deg", "215 deg"))
    model = build_model(scenario)
    with refused(ScenarioError, line=4, field="start.joints"):
        start_state(scenario, model)
    closed = scenario.with_changes({"start.close": True})
    q, _ = start_state(closed, model)
    assert abs(np.sin(q[0]) + np.sin(q[0] + q[1]) + np.sin(q.sum()) - 1.0) < 1e-12


def test_a_start_velocity_that_opens_the_loops_is_refused(read):
    scenario = read(FALL.replace("225 deg}", "225 deg}\n  velocity: {joint_1: 1 rad/s}"))
    model = build_model(scenario)
    with refused(ScenarioError, field="start.velocity"):
        start_state(scenario, model)
    _, v = start_state(scenario.with_changes({"start.close": True}), model)
    assert v[0] + v[1] == pytest.approx(0.0, abs=1e-12)  # the second rod stays level
    assert v[0] > 0.1


def test_the_centre_of_mass_can_be_put_at_rest():
    scenario = scenarios.load("T4.2")
    model = build_model(scenario)
    q, v = start_state(scenario, model)
    # rounding of six masses and their velocities of about 1 m/s
    assert np.max(np.abs(Dynamics(model).momentum(q, v)[:3])) < 1e-14
    printed = start_state(scenario.with_changes({"start.centre_of_mass": "as given"}), model)[1]
    np.testing.assert_array_equal(v[6:], printed[6:])


@pytest.mark.parametrize(
    ("old", "new", "line", "field"),
    [
        ("step:", "steps:", 7, "simulation"),
        ("step: 1 ms", "step: 0", 7, "simulation.step"),
        ("step: 1 ms", "step: 1 mm", 7, "simulation.step"),
        ("duration: 0.02 s", "duration: 0.1 ms", 6, "simulation.duration"),  # less than a step
        ("  duration: 0.02 s\n", "", 6, "simulation.duration"),
        ("name: fall", "name: ../fall", 1, "name"),
        ("{robot: closed_4r}", "{robot: closed_4r, base: loose}", 2, "model.base"),
        ("limit: 1e-8", "limit: soon", 9, "claims.0.limit"),
        ("claims:", "figures: [{file: a/b, snapshots: 2}]\nclaims:", 8, "figures.0.file"),
        ("claims:", f"disturbances: [{PUSH.replace('[1,', '[1 m,')}]\nclaims:", 8, "disturbances.0.wrench"),
        ("claims:", f"disturbances: [{PUSH.replace('{', '{kind: sine, ')}]\nclaims:", 8, "disturbances.0.kind"),
    ],
)
def test_a_mistake_is_refused_with_line_and_key(read, old, new, line, field):
    assert old in FALL
    with refused(ScenarioError, line=line, field=field) as caught:
        read(FALL.replace(old, new))
    assert caught.value.file.endswith("own.yaml")


@pytest.mark.parametrize(
    ("old", "new", "line", "field", "value"),
    [
        ("joint_2:", "joint_5:", 4, "start.joints.joint_5", None),
        ("-45 deg", "-45 mm", 4, "start.joints.joint_2", None),
        ("robot: closed_4r", "robot: closed_5r", None, "model", "closed_5r"),
        ("robot: closed_4r", "robot: closed_4r, loops: none.yaml", None, "model", None),
        ("  step: 1 ms", "  efforts: {joint_9: 1 N m}", 7, "simulation.efforts.joint_9", None),
        ("deg}\n", "deg}\n  centre_of_mass: at rest\n", 5, "start.centre_of_mass", None),
        ("claims:", f"disturbances: [{PUSH.replace('link_1', 'foot')}]\nclaims:", None, "disturbances.0", "foot"),
    ],
)
def test_what_does_not_fit_the_robot_is_refused_when_it_is_simulated(read, old, new, line, field, value):
    assert old in FALL
    scenario = read(FALL.replace(old, new, 1))
    with refused(ScenarioError, line=line, field=field, value=value):
        scenarios.simulation_of(scenario)


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("name: [", None),
        ("", None),
        ("- 1\n", None),
        ("name: a\nname: b\n", None),
        ("name: !!python/object:os.system a\n", None),
        ("name: a\n", "simulation"),
        ("name: a\nexperiment: x\nclaims: [{claim: a, measure: b, limit: 1}]\n", "claims.0.measure"),
    ],
)
def test_files_that_are_no_scenarios_are_refused(read, text, field):
    with refused(ScenarioError, field=field):
        read(text)


def test_sources_that_do_not_exist_are_refused(tmp_path):
    with refused(InputError, field="scenario", value="T3.11"):
        scenarios.load("T3.11")
    (tmp_path / "latin.yaml").write_bytes(b"name: \xe9\n")
    for name in ("none.yaml", "latin.yaml"):
        with pytest.raises(ScenarioError):
            scenarios.load(tmp_path / name)
    with refused(InputError, field="source"):
        scenarios.load(b"T3.1")


def test_changes_give_another_scenario_and_leave_the_first_one(read):
    scenario = read(FALL)
    other = scenario.with_changes({"start.joints.joint_1": "120 deg", "step": "2 ms", "model.masses.link_2": 2.5})
    assert other.simulation.step == 2e-3
    assert other.model.masses == {"link_2": 2.5}
    assert other.as_data()["start"]["joints"]["joint_1"] == "120 deg"
    assert scenario.simulation.step == 1e-3
    assert scenario.as_data()["start"]["joints"]["joint_1"] == "135 deg"
    # A change that names a claim by its number.
    assert scenario.with_changes({"claims.0.limit": 1e-3}).claims[0].limit == 1e-3


def test_plain_data_gives_the_same_scenario(read):
    scenario = scenarios.load("T4.2")
    again = scenarios.load(scenario.as_data())
    assert again.simulation.hybrid == scenario.simulation.hybrid
    assert again.claims[3].limit == scenario.claims[3].limit
    model = build_model(scenario)
    np.testing.assert_array_equal(start_state(again, model)[1], start_state(scenario, model)[1])


@pytest.mark.parametrize(
    ("changes", "field", "value"),
    [
        ({"simulation.stepp": 1}, "simulation", "stepp"),
        ({"stepp": 1}, "simulation", "stepp"),
        ({"step": "1 kg"}, "simulation.step", None),
        ({"claims.7.limit": 1}, "claims.7.limit", "7"),
        ({"name.first": 1}, "name.first", "first"),
    ],
)
def test_changes_are_read_as_strictly(read, changes, field, value):
    with refused(ScenarioError, field=field, value=value):
        read(FALL).with_changes(changes)


def test_a_scenario_is_simulated_and_measured(read):
    scenario = read(FALL)
    log = scenarios.simulate(scenario)
    assert log.t[-1] == pytest.approx(0.02)
    assert scenarios.measure(scenario, log)["energy_drift"] < 1e-8
    # 20 ms of the closed form, by a method whose error there is rounding
    assert scenarios.measure(scenario, log, ["pendulum_error"])["pendulum_error"] < 1e-14
    with refused(InputError, field="measure", value="energy_drif"):
        scenarios.measure(scenario, log, ["energy_drif"])


def test_measures_refuse_motions_that_they_are_not_about(read):
    scenario = scenarios.load({"name": "a", "model": {"robot": "pa10"}, "simulation": {"duration": "2 ms"}})
    log = scenarios.simulate(scenario)
    for name, field in (("pendulum_error", "model"), ("quaternion_length", "base"), ("determinant_passings", "loops")):
        with refused(InputError, field=field):
            scenarios.measure(scenario, log, [name])


def test_the_closed_form_of_the_rhombus_solves_its_equation():
    # ψ'' = -(6/5) g sin ψ with ψ = angle - π, by central differences: error h² ψ''''/12, about 1e-6 x 1e3
    t, h = np.linspace(0.1, 3.0, 50), 1e-4
    for start in (math.radians(135.0), math.radians(60.0)):
        before, here, after = (rhombus_angle(t + s * h, start, (1.0, 1.0, 1.0), 9.81) for s in (-1, 0, 1))
        np.testing.assert_allclose((before - 2.0 * here + after) / h**2, 1.2 * 9.81 * np.sin(here), atol=1e-5)
        assert rhombus_angle(0.0, start, (1.0, 1.0, 1.0), 9.81) == pytest.approx(start, rel=1e-14)


class Gains(NamedTuple):
    kp: Annotated[float, "1/s"] = 5.0
    td: Annotated[float, "s", OR_ZERO] = 0.1


class Chosen(NamedTuple):
    name: str
    largest: Annotated[float, "N s"]
    delays: Annotated[tuple[float, ...], "s"]
    points: tuple[str, ...]
    gains: Gains
    count: int = 3
    whole: bool = True


GIVEN: dict[str, Any] = {"name": "x", "largest": "2 N s", "delays": ["1 ms", "2 ms"], "points": ["a", "b"]}


def scenario(**settings: Any) -> Scenario:
    return load({"name": "short", "experiment": "own", "settings": {**GIVEN, **settings}})


def test_settings_are_read_with_their_units_and_defaults() -> None:
    found = read_settings(scenario(gains={"td": "0 s"}, whole="false"), Chosen)
    assert found == Chosen("x", 2.0, (1e-3, 2e-3), ("a", "b"), Gains(td=0.0), 3, False)


@pytest.mark.parametrize(
    ("field", "value"), [("largest", "2 N"), ("largest", -1.0), ("delays", "1 ms"), ("delays", [])]
)
def test_wrong_settings_are_refused(field: str, value: Any) -> None:
    with refused(ScenarioError, field=f"settings.{field}"):
        read_settings(scenario(**{field: value}), Chosen)


def test_unknown_settings_are_refused() -> None:
    with refused(ScenarioError, value="other"):
        read_settings(scenario(other=1), Chosen)


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
