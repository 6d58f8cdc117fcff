# SPDX-License-Identifier: Apache-2.0
"""Scenario files are read strictly: every mistake is an error that names file, line and key, and says what to do."""

import math
import pickle
import re

import numpy as np
import pytest

from ada_dynamics.errors import AdaError, InputError
from ada_tools import scenario as scenarios
from ada_tools.scenario import ScenarioError, registry, units
from ada_tools.scenario.rhombus import swing
from ada_tools.scenario.states import build_model, start_state
from ada_tools.scenario.units import BadValue, to_si

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


@pytest.fixture
def read(tmp_path):
    def read(text, name="own.yaml"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return scenarios.load(path)

    return read


# --- units ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "dimension", "value"),
    [
        ("135 deg", units.ANGLE, math.radians(135.0)),
        ("135deg", units.ANGLE, math.radians(135.0)),
        ("1 ms", units.TIME, 1e-3),
        ("0.3 N m/rad", units.TURNING_STIFFNESS, 0.3),
        ("0.3 N m s/rad", units.TURNING_DAMPING, 0.3),
        ("2 kN/m", units.STIFFNESS, 2000.0),
        ("-0.83 rad/s", units.ANGULAR_SPEED, -0.83),
        ("30 rpm", units.ANGULAR_SPEED, math.pi),
        ("9.81 m/s^2", units.ACCELERATION, 9.81),
        ("9.81 m/s²", units.ACCELERATION, 9.81),
        ("9.81 m/s/s", units.ACCELERATION, 9.81),
        ("2 kg*m^2/s^2", units.MOMENT, 2.0),
        ("5 %", units.NUMBER, 0.05),
        ("7", units.LENGTH, 7.0),
        ("-1.5e-3", units.MASS, -1.5e-3),
    ],
)
def test_values_with_units_become_si(text, dimension, value):
    assert to_si(text, dimension) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize(
    ("text", "dimension", "says"),
    [
        ("1 ms", units.LENGTH, "is a time [s], and not a length [m]"),
        ("135 deg", units.ANGULAR_SPEED, "is an angle [rad], and not an angular velocity"),
        ("3 parsec", units.LENGTH, "no known unit"),
        ("1 N/m s", units.DAMPING, "two ways"),
        ("1 m//s", units.SPEED, "two slashes"),
        ("1 m/", units.SPEED, "ends with a slash"),
        ("fast", units.SPEED, "not a number"),
        ("nan", units.SPEED, "not a finite number"),
        ("", units.SPEED, "empty"),
        ("1e999", units.SPEED, "too large"),
        ("1 " + "m" * 100, units.SPEED, "m"),
    ],
)
def test_values_that_do_not_fit_are_refused_with_the_reason(text, dimension, says):
    with pytest.raises(BadValue, match=re.escape(says)):
        to_si(text, dimension)


# --- what comes with the library ------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", scenarios.names())
def test_the_scenarios_of_the_library_are_read(name):
    scenario = scenarios.load(name)
    assert scenario.name == name
    assert scenario.title != name
    assert scenario.source
    for claim in scenario.claims:
        registry.find_measure(claim.measure)
        scenario.with_changes(claim.changes)
    if scenario.experiment is not None:
        registry.find_experiment(scenario.experiment)


@pytest.mark.parametrize("name", [n for n in scenarios.names() if scenarios.load(n).model is not None])
def test_the_documents_starts_fit_their_robots(name):
    scenario = scenarios.load(name)
    model = build_model(scenario)
    q, v = start_state(scenario, model)
    assert q.shape == (model.nq,)
    assert v.shape == (model.nv,)


def test_every_experiment_of_the_document_is_there():
    wanted = {"T3.1", "T3.2", "T3.3", "T3.4", "T3.5", "T4.1", "T4.2", "T4.3", "T5.1"}
    assert wanted <= set(scenarios.names())


# --- start ----------------------------------------------------------------------------------------------------------
def test_a_start_off_the_loops_says_by_how_much_and_which_key_closes_them(read):
    scenario = read(FALL.replace("225 deg", "215 deg"))
    model = build_model(scenario)
    # The third rod's end is off by a chord of 10 deg on a circle of 1 m: 0.174 m, 0.17 of it along an axis.
    with pytest.raises(ScenarioError, match=r"own\.yaml, line 4: start\.joints: .*by 0\.1\d* .*close: true"):
        start_state(scenario, model)
    closed = scenario.with_changes({"start.close": True})
    q, _ = start_state(closed, model)
    assert abs(np.sin(q[0]) + np.sin(q[0] + q[1]) + np.sin(q.sum()) - 1.0) < 1e-12


def test_what_closing_holds_stays(read):
    scenario = read(FALL.replace("225 deg}", "215 deg}\n  close: true\n  hold: [joint_1]"))
    q, _ = start_state(scenario, build_model(scenario))
    assert q[0] == math.radians(135.0)


def test_a_start_velocity_that_opens_the_loops_is_refused(read):
    scenario = read(FALL.replace("225 deg}", "225 deg}\n  velocity: {joint_1: 1 rad/s}"))
    model = build_model(scenario)
    with pytest.raises(ScenarioError, match=r"start\.velocity: it opens the loops: .*close: true"):
        start_state(scenario, model)
    _, v = start_state(scenario.with_changes({"start.close": True}), model)
    assert v[0] + v[1] == pytest.approx(0.0, abs=1e-12)  # the second rod stays level
    assert v[0] > 0.1


def test_the_centre_of_mass_can_be_put_at_rest():
    scenario = scenarios.load("T4.2")
    model = build_model(scenario)
    q, v = start_state(scenario, model)
    from ada_dynamics.dynamics import Dynamics

    # rounding of six masses and their velocities of about 1 m/s
    assert np.max(np.abs(Dynamics(model).momentum(q, v)[:3])) < 1e-14
    printed = start_state(scenario.with_changes({"start.centre_of_mass": "as given"}), model)[1]
    np.testing.assert_array_equal(v[6:], printed[6:])


def test_other_masses_change_inertias_in_proportion(read):
    scenario = read(FALL.replace("robot: closed_4r", "robot: closed_4r, masses: {link_2: 3 kg}"))
    model, plain = build_model(scenario), build_model(read(FALL))
    assert model.links["link_2"].mass == 3.0
    np.testing.assert_allclose(model.links["link_2"].inertia, 3.0 * plain.links["link_2"].inertia, rtol=1e-14)
    assert model.links["link_1"].mass == plain.links["link_1"].mass


# --- refusals -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("simulation:", "simulations:", r"line 5: the scenario has no key 'simulations'\. Did you mean 'simulation'\?"),
        ("step:", "steps:", r"line 7: simulation has no key 'steps'\. Did you mean 'step'\?"),
        ("step: 1 ms", "step: 0", r"line 7: simulation\.step: it is 0; it must be a time \[s\] greater than 0"),
        ("step: 1 ms", "step: -1 ms", r"simulation\.step: it is -0\.001"),
        ("step: 1 ms", "step: 1 mm", r"line 7: simulation\.step: '1 mm' is a length \[m\], and not a time"),
        ("step: 1 ms", "step: [1, 2]", r"simulation\.step: it is a list of 2; it must be a time"),
        ("step: 1 ms", "integrator: rk5", r"line 7: simulation\.integrator: 'rk5' is not possible\..*rk4"),
        ("step: 1 ms", "log_every: 0.5", r"simulation\.log_every: it is 0\.5; it must be a whole number"),
        ("step: 1 ms", "stops: {stiffness: 3 kg}", r"simulation\.stops\.stiffness: '3 kg' is a mass"),
        ("duration: 0.02 s", "duration: 0.1 ms", r"simulation\.duration: it is 0\.0001 s, less than one step"),
        ("  duration: 0.02 s\n", "", r"simulation\.duration: it is missing"),
        ("name: fall\n", "", r"name: it is missing"),
        ("name: fall", "name: ../fall", r"line 1: name: '\.\./fall' is not possible"),
        ("{robot: closed_4r}", "{}", r"model\.robot: it is missing"),
        ("{robot: closed_4r}", "closed_4r", r"line 2: model is 'closed_4r', not a mapping"),
        ("{robot: closed_4r}", "{robot: closed_4r, base: loose}", r"model\.base: 'loose' is not possible"),
        ("{robot: closed_4r}", "{robot: closed_4r, gravity: [0, -9.81]}", r"model\.gravity: it is a list of 2"),
        ("measure: energy_drift", "mesure: energy_drift", r"line 9: claims\.0 has no key 'mesure'"),
        ("limit: 1e-8", "limit: soon", r"line 9: claims\.0\.limit: 'soon' is not a number"),
        ("limit: 1e-8", "limit: 1e-8, relation: '<'", r"claims\.0\.relation: '<' is not possible"),
        ("claims:", "figures: [{file: a}]\nclaims:", r"line 8: figures\.0\.panels: a figure has either panels"),
        ("claims:", "figures: [{file: a/b, snapshots: 2}]\nclaims:", r"figures\.0\.file: 'a/b' is not possible"),
        ("claims:", "disturbances: [{link: link_1}]\nclaims:", r"disturbances\.0\.wrench: it is missing"),
        (
            "claims:",
            "disturbances: [{link: link_1, wrench: [1 m, 0, 0, 0, 0, 0], duration: 1 s}]\nclaims:",
            r"disturbances\.0\.wrench: '1 m' is a length \[m\], and not a force",
        ),
        (
            "claims:",
            "disturbances: [{kind: sine, link: link_1, wrench: [1, 0, 0, 0, 0, 0], duration: 1 s}]\nclaims:",
            r"disturbances\.0\.kind: 'sine' is not possible\. Did you mean 'half_sine'\?",
        ),
    ],
)
def test_mistakes_are_told_with_line_key_and_fix(read, old, new, says):
    assert old in FALL
    with pytest.raises(ScenarioError, match=rf"own\.yaml.*{says}") as raised:
        read(FALL.replace(old, new))
    assert isinstance(raised.value, AdaError)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("joint_2:", "joint_5:", r"line 4: start\.joints\.joint_5: no joint is named 'joint_5'\. Did you mean"),
        ("-45 deg", "-45 mm", r"line 4: start\.joints\.joint_2: '-45 mm' is a length \[m\], and not an angle"),
        ("-45 deg", "[1, 2]", r"start\.joints\.joint_2: it is a list of 2; it must be a list of 1"),
        ("robot: closed_4r", "robot: closed_5r", r"model: .*closed_5r.*Did you mean 'closed_4r'"),
        ("robot: closed_4r", "robot: closed_4r, masses: {rod: 1 kg}", r"model: no link in model\.masses is named"),
        ("robot: closed_4r", "robot: closed_4r, loops: none.yaml", r"model: .*none\.yaml"),
        ("  step: 1 ms", "  efforts: {joint_9: 1 N m}", r"line 7: simulation\.efforts\.joint_9: no joint"),
        ("  step: 1 ms", "  efforts: {joint_1: 1 N}", r"simulation\.efforts\.joint_1: '1 N' is a force"),
        ("  step: 1 ms", "  algorithm: magic", r"simulation: .*magic"),
        ("deg}\n", "deg}\n  centre_of_mass: at rest\n", r"start\.centre_of_mass: only .* floating base"),
        (
            "claims:",
            "disturbances: [{link: foot, wrench: [1, 0, 0, 0, 0, 0], duration: 1 s}]\nclaims:",
            r"disturbances\.0: no link is named 'foot'",
        ),
    ],
)
def test_what_does_not_fit_the_robot_is_told_when_it_is_simulated(read, old, new, says):
    assert old in FALL
    scenario = read(FALL.replace(old, new, 1))
    with pytest.raises(ScenarioError, match=rf"own\.yaml.*{says}"):
        scenarios.simulation_of(scenario)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("name: [", r"own\.yaml, line \d+.*not well-formed"),
        ("", r"own\.yaml.*empty"),
        ("- 1\n", r"own\.yaml, line 1: the scenario is a list"),
        ("name: a\nname: b\n", r"own\.yaml, line 2: the key 'name' is there twice"),
        ("name: a\n", r"simulation: it is missing; a scenario has a simulation, an experiment or both"),
        ("name: a\nexperiment: x\nclaims: [{claim: a, measure: b, limit: 1}]\n", r"claims: it needs a simulation"),
        ("name: a\nsimulation: {duration: 1 s}\n", r"model: it is missing"),
        ("name: !!python/object:os.system a\n", r"own\.yaml, line 1: it has the tag"),
    ],
)
def test_files_that_are_no_scenarios_are_refused(read, text, says):
    with pytest.raises(ScenarioError, match=says):
        read(text)


def test_sources_that_do_not_exist_are_told(tmp_path):
    with pytest.raises(InputError, match=r"no scenario is named 'T3\.11'\. Did you mean 'T3\.1'"):
        scenarios.load("T3.11")
    with pytest.raises(ScenarioError, match="there is no such file"):
        scenarios.load(tmp_path / "none.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"name: \xe9\n")
    with pytest.raises(ScenarioError, match="line 1: it is not UTF-8"):
        scenarios.load(tmp_path / "latin.yaml")
    with pytest.raises(InputError, match="it must be a name, a path or a dict"):
        scenarios.load(b"T3.1")


# --- changes --------------------------------------------------------------------------------------------------------
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


DOTTED = """<robot name="r"><link name="a"/><link name="b"/>
<link name="b.c"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="arm" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint>
<joint name="arm.j [1]" type="continuous"><parent link="b"/><child link="b.c"/><axis xyz="0 0 1"/></joint></robot>"""


@pytest.mark.parametrize("given", [{}, {"arm": 0.5}, {"arm.j [1]": 0.5}])
def test_names_with_dots_can_be_changed(tmp_path, given):
    (tmp_path / "own.urdf").write_text(DOTTED)
    data = {"name": "own", "model": {"robot": str(tmp_path / "own.urdf")}, "simulation": {"duration": "1 s"}}
    scenario = scenarios.load(data | ({"start": {"joints": given}} if given else {}))
    other = scenario.with_changes({"start.joints.arm.j [1]": "0.2 rad", "model.masses.b.c": "3 kg"})
    assert other.as_data()["start"]["joints"] == given | {"arm.j [1]": "0.2 rad"}
    model = build_model(other)
    assert model.links["b.c"].mass == 3.0
    assert start_state(other, model)[0].tolist() == [given.get("arm", 0.0), 0.2]
    # Items of lists are numbered as ever.
    listed = other.with_changes({"start.joints": {"free.1": [0.0, 1.0]}}).with_changes({"start.joints.free.1.0": 2.0})
    assert listed.as_data()["start"]["joints"]["free.1"] == [2, 1]


def test_plain_data_gives_the_same_scenario(read):
    scenario = scenarios.load("T4.2")
    again = scenarios.load(scenario.as_data())
    assert again.simulation.hybrid == scenario.simulation.hybrid
    assert again.claims[3].limit == scenario.claims[3].limit
    model = build_model(scenario)
    np.testing.assert_array_equal(start_state(again, model)[1], start_state(scenario, model)[1])


def test_json_files_are_read_like_yaml(read):
    scenario = read('{"name": "a", "model": {"robot": "pa10"}, "simulation": {"duration": "1 s"}}', "own.json")
    assert scenario.simulation.duration == 1.0


def test_scenarios_travel_to_other_processes(read):
    scenario = read(FALL).with_changes({"step": "2 ms"})
    assert pickle.loads(pickle.dumps(scenario)).simulation.step == 2e-3


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"simulation.stepp": 1}, "simulation has no key 'stepp'"),
        ({"stepp": 1}, "simulation has no key 'stepp'"),
        ({"step": "1 kg"}, "is a mass"),
        ({"claims.7.limit": 1}, "number from 0 to 0"),
        ({"name.first": 1}, "leads into a single value"),
    ],
)
def test_changes_are_read_as_strictly(read, changes, says):
    with pytest.raises(ScenarioError, match=re.escape(says)):
        read(FALL).with_changes(changes)


# --- simulate, measure ----------------------------------------------------------------------------------------------
def test_a_scenario_is_simulated_and_measured(read):
    scenario = read(FALL)
    log = scenarios.simulate(scenario)
    assert log.t[-1] == pytest.approx(0.02)
    assert scenarios.measure(scenario, log)["energy_drift"] < 1e-8
    # 20 ms of the closed form, by a method whose error there is rounding
    assert scenarios.measure(scenario, log, ["pendulum_error"])["pendulum_error"] < 1e-14
    with pytest.raises(InputError, match=r"no measure is named 'energy_drif'\. Did you mean 'energy_drift'"):
        scenarios.measure(scenario, log, ["energy_drif"])


def test_disturbances_push(read):
    text = FALL.replace(
        "claims:", "disturbances:\n  - {link: link_2, wrench: [5 N, 0, 0, 0, 0, 0], duration: 10 ms}\nclaims:"
    )
    pushed, free = scenarios.simulate(read(text)), scenarios.simulate(read(FALL))
    assert np.max(np.abs(pushed.v[-1] - free.v[-1])) > 1e-4
    assert "link_2" in pushed.external


def test_constant_efforts_act(read):
    text = FALL.replace("  step: 1 ms", "  step: 1 ms\n  efforts: {joint_1: 2 N m}")
    np.testing.assert_allclose(scenarios.simulate(read(text)).tau[3], [2.0, 0.0, 0.0])


def test_measures_refuse_motions_that_they_are_not_about(read):
    scenario = scenarios.load({"name": "a", "model": {"robot": "pa10"}, "simulation": {"duration": "2 ms"}})
    log = scenarios.simulate(scenario)
    for name, says in (
        ("pendulum_error", "no rhombus"),
        ("quaternion_length", "no base with a quaternion"),
        ("determinant_passings", "has no loops"),
    ):
        with pytest.raises(InputError, match=says):
            scenarios.measure(scenario, log, [name])


def test_the_closed_form_of_the_rhombus_solves_its_equation():
    # ψ'' = -(6/5) g sin ψ with ψ = angle - π, by central differences: error h² ψ''''/12, about 1e-6 x 1e3
    t, h = np.linspace(0.1, 3.0, 50), 1e-4
    for start in (math.radians(135.0), math.radians(60.0)):
        before, here, after = (swing(t + s * h, start, (1.0, 1.0, 1.0), 9.81) for s in (-1, 0, 1))
        np.testing.assert_allclose((before - 2.0 * here + after) / h**2, 1.2 * 9.81 * np.sin(here), atol=1e-5)
        assert swing(0.0, start, (1.0, 1.0, 1.0), 9.81) == pytest.approx(start, rel=1e-14)
