# SPDX-License-Identifier: Apache-2.0
"""The standard services of simulators over DDS; see docs/simulation_interfaces.md for how to build their package."""

import math
import sys
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("rclpy")

from rclpy.parameter import Parameter
from std_srvs.srv import SetBool, Trigger

from ada_robot.node import plant_services
from ada_robot.node.dynamics_node import DynamicsNode

pytestmark = pytest.mark.ros
NODE = (sys.executable, "-m", "ada_robot.node.dynamics_node", "--ros-args")
NAMES = {
    "get_entities",
    "get_entities_states",
    "get_entity_info",
    "get_entity_state",
    "get_simulation_state",
    "get_simulator_features",
    "reset_simulation",
    "set_entity_state",
    "set_simulation_state",
    "step_simulation",
}
# the standard's own numbers, so that a wrong constant is seen
UNSUPPORTED, OK, NOT_FOUND, FAILED = 0, 1, 2, 4
ALREADY, TRANSITION_ERROR, INVALID_POSE = 101, 102, 101
STOPPED, PLAYING, PAUSED, QUITTING, NO_WORLD = 0, 1, 2, 3, 4
TIME, STATE, SPAWNED, ALL = 1, 2, 4, 255
ROBOT, HUMAN = 1, 2


@pytest.fixture
def standard():
    why = "simulation_interfaces is neither installed nor built here"
    return SimpleNamespace(
        msg=pytest.importorskip("simulation_interfaces.msg", reason=why),
        srv=pytest.importorskip("simulation_interfaces.srv", reason=why),
    )


class Simulator:
    """A node in this process, and requests to it; each gives its result's code, or the whole answer."""

    def __init__(self, ros, standard, parameters):
        self.ros, self.standard = ros, standard
        overrides = [Parameter(name, value=value) for name, value in parameters.items()]
        self.node = ros.add(DynamicsNode(context=ros.context, parameter_overrides=overrides))
        self.loop = self.node.loop
        ros.wait(lambda: self.loop.is_ready, what="the physics")

    def ask(self, kind, name, **fields):
        service = getattr(self.standard.srv, kind)
        return self.ros.call(service, name, service.Request(**fields))

    def reset(self, scope):
        return self.ask("ResetSimulation", "reset_simulation", scope=scope).result.result

    def step(self, steps):
        return self.ask("StepSimulation", "step_simulation", steps=steps).result

    def state(self):
        return self.ask("GetSimulationState", "get_simulation_state").state.state

    def become(self, state):
        wanted = self.standard.msg.SimulationState(state=state)
        return self.ask("SetSimulationState", "set_simulation_state", state=wanted).result

    def entities(self, **filters):
        return self.ask("GetEntities", "get_entities", filters=self.standard.msg.EntityFilters(**filters))

    def place(self, name, state, pose=True, twist=True):
        request = self.standard.srv.SetEntityState.Request(entity=name, state=state)
        if hasattr(request, "set_pose"):  # since 2.1
            request.set_pose, request.set_twist = pose, twist
        return self.ros.call(self.standard.srv.SetEntityState, "set_entity_state", request).result


@pytest.fixture
def simulator(ros, standard):
    def make(**parameters):
        return Simulator(ros, standard, parameters)

    return make


def services_of(ros, node):
    return {name.rsplit("/", 1)[1] for name, _ in ros.tester.get_service_names_and_types_by_node(node.get_name(), "/")}


@pytest.mark.skipif(plant_services.LACKING is None, reason="simulation_interfaces is there")
def test_without_the_package_the_node_offers_its_own_services_alone(ros):
    node = ros.add(DynamicsNode(context=ros.context, parameter_overrides=[Parameter("robot", value="pa10")]))
    ros.wait(lambda: ros.call(Trigger, "dynamics_node/reset").success, what="a reset of the compiled physics")
    assert "reset" in services_of(ros, node) and not services_of(ros, node) & NAMES


def test_the_features_are_those_of_the_services_and_there_are_no_worlds(ros, simulator):
    sim = simulator(robot="pa10", start_paused=True)
    features = sim.ask("GetSimulatorFeatures", "get_simulator_features").features
    # categories; entity state and info; reset, its time and state; state got, set, paused; one step and many
    assert list(features.features) == [8, 10, 12, 20, 21, 22, 24, 25, 26, 31, 32]
    assert not features.spawn_formats
    assert services_of(ros, sim.node) >= NAMES == set(plant_services.NAMES)
    for state in (NO_WORLD, 77):
        assert sim.become(state).result == UNSUPPORTED
    assert sim.state() == PAUSED


def test_each_scope_of_a_reset_resets_what_it_says_and_nothing_else(simulator):
    sim = simulator(robot="pa10", idle="release", start_paused=True)
    start = sim.loop.latest.q.copy()

    def moved():
        assert sim.step(50).result == OK
        return sim.loop.latest

    before = moved()
    assert not np.array_equal(before.q, start)
    assert sim.reset(TIME) == OK
    assert sim.loop.latest.t == 0.0
    assert np.array_equal(sim.loop.latest.q, before.q)
    assert np.array_equal(sim.loop.latest.v, before.v)
    before = moved()
    assert sim.reset(STATE) == OK
    assert sim.loop.latest.t == pytest.approx(before.t)
    assert np.array_equal(sim.loop.latest.q, start)
    for scope in (0, TIME | STATE, ALL):
        moved()
        assert sim.reset(scope) == OK
        assert sim.loop.latest.t == 0.0
        assert np.array_equal(sim.loop.latest.q, start)
        assert not sim.loop.latest.v.any()
    before = moved()
    for scope in (SPAWNED, SPAWNED | STATE, 8):
        assert sim.reset(scope) == UNSUPPORTED
        assert sim.loop.latest.t == before.t


def test_steps_are_taken_in_a_pause_alone_and_exactly_as_many_as_asked_for(simulator):
    sim = simulator(robot="pa10", start_paused=True)
    for count in (1, 7, 450):  # the last one in several batches
        steps = sim.loop.plant.steps
        assert sim.step(count).result == OK
        assert sim.loop.plant.steps == steps + count
    assert sim.step(2**63).result == FAILED
    for state in (PLAYING, STOPPED):
        assert sim.become(state).result == OK
        assert sim.step(1).result == FAILED


def test_the_simulation_is_played_paused_and_stopped(ros, simulator):
    sim = simulator(robot="pa10", idle="release", start_paused=True)
    start = sim.loop.latest.q.copy()
    assert sim.become(PLAYING).result == OK
    ros.wait(lambda: sim.loop.latest.t > 0.05, what="some motion")
    assert sim.state() == PLAYING
    assert sim.become(PLAYING).result == ALREADY
    assert sim.become(PAUSED).result == OK
    assert sim.state() == PAUSED
    steps = sim.loop.plant.steps
    assert sim.become(PAUSED).result == ALREADY
    assert sim.loop.plant.steps == steps
    assert sim.become(STOPPED).result == OK
    assert sim.state() == STOPPED
    assert sim.loop.latest.t == 0.0
    assert np.array_equal(sim.loop.latest.q, start)
    assert sim.become(STOPPED).result == ALREADY
    # from a stop into a pause, without a step
    assert sim.become(PAUSED).result == OK
    assert (sim.state(), sim.loop.latest.t) == (PAUSED, 0.0)
    assert sim.become(STOPPED).result == OK
    assert sim.become(PLAYING).result == OK
    ros.wait(lambda: sim.loop.latest.t > 0.05, what="motion after the stop")
    # the node's own services and these tell of one state
    assert ros.call(SetBool, "dynamics_node/pause", SetBool.Request(data=True)).success
    assert sim.state() == PAUSED
    assert sim.become(STOPPED).result == OK
    assert ros.call(Trigger, "dynamics_node/step").success
    assert sim.state() == PAUSED


def test_a_motion_that_has_failed_is_played_only_after_a_reset(ros, simulator):
    sim = simulator(robot="pa10", start_paused=True)
    sim.loop.plant.failure = "The motion cannot go on."
    assert sim.become(PLAYING).result == TRANSITION_ERROR
    assert sim.state() == PAUSED
    assert sim.step(1).result == FAILED
    assert sim.reset(ALL) == OK
    assert sim.become(PLAYING).result == OK
    ros.wait(lambda: sim.loop.latest.t > 0.01, what="motion")


def test_a_simulator_that_is_told_to_quit_answers_and_ends_cleanly(ros, standard, tmp_path):
    record = tmp_path / "run.mcap"
    process = ros.start(*NODE, "-p", "robot:=pa10", "-p", f"record:={record}")
    service = standard.srv.SetSimulationState
    request = service.Request(state=standard.msg.SimulationState(state=QUITTING))
    assert ros.call(service, "set_simulation_state", request).result.result == OK
    assert process.wait() == 0, process.output
    assert "Traceback" not in process.output
    assert record.stat().st_size > 0


def test_a_fixed_robot_is_the_one_entity_found_by_name_and_category_and_cannot_be_placed(standard, simulator):
    sim = simulator(robot="pa10", start_paused=True)
    category = standard.msg.EntityCategory
    assert sim.entities().entities == ["pa10"]
    assert sim.entities(filter="^pa[0-9]+$").entities == ["pa10"]
    assert sim.entities(categories=[category(category=ROBOT)]).entities == ["pa10"]
    for filters in ({"filter": "^khr"}, {"categories": [category(category=HUMAN)]}):
        nothing = sim.entities(**filters)
        assert (nothing.result.result, nothing.entities) == (OK, [])
    assert sim.entities(filter="(").result.result == FAILED
    for filters in (
        {"filter": "[[:alpha:]]"},
        {"tags": standard.msg.TagsFilter(tags=["arm"])},
        {"bounds": standard.msg.Bounds(type=3)},
    ):
        assert sim.entities(**filters).result.result == UNSUPPORTED
    info = sim.ask("GetEntityInfo", "get_entity_info", entity="pa10")
    assert (info.result.result, info.info.category.category) == (OK, ROBOT)
    assert "7 motors" in info.info.description
    for kind, name in (("GetEntityState", "get_entity_state"), ("GetEntityInfo", "get_entity_info")):
        unknown = sim.ask(kind, name, entity="pa11")
        assert unknown.result.result == NOT_FOUND
    answer = sim.ask("GetEntityState", "get_entity_state", entity="pa10")
    assert (answer.result.result, answer.state.header.frame_id) == (OK, "world")
    assert answer.state.pose.orientation.w == 1.0 and answer.state.acceleration.linear.x == 0.0
    assert sim.place("pa10", standard.msg.EntityState()).result == UNSUPPORTED, "it is fixed to the world"


def test_a_free_robot_is_put_where_it_was_told_and_says_so(standard, simulator):
    sim = simulator(robot="floating_rod", start_paused=True)
    assert 11 in sim.ask("GetSimulatorFeatures", "get_simulator_features").features.features
    (name,) = sim.entities().entities
    wanted = standard.msg.EntityState()
    wanted.header.frame_id = "odom"
    wanted.pose.position.x, wanted.pose.position.z = 1.5, 3.0
    wanted.pose.orientation.z = wanted.pose.orientation.w = math.sqrt(0.5)
    wanted.twist.linear.x, wanted.twist.angular.y = 0.25, -0.5
    assert sim.place(name, wanted).result == OK
    answer = sim.ask("GetEntitiesStates", "get_entities_states")
    assert answer.entities == [name]
    (state,) = answer.states
    assert state.header.frame_id == "odom"
    assert state.header.stamp.sec > 0
    for part in ("pose.position", "pose.orientation", "twist.linear", "twist.angular"):
        first, second = part.split(".")
        for axis in "xyz":
            asked = getattr(getattr(getattr(wanted, first), second), axis)
            assert getattr(getattr(getattr(state, first), second), axis) == pytest.approx(asked, abs=1e-12), part + axis
    assert math.isnan(state.acceleration.linear.z), "unknown, rather than zero"
    for change, code in (
        (lambda s: setattr(s.pose.orientation, "w", 5.0), INVALID_POSE),
        (lambda s: setattr(s.pose.position, "x", math.nan), INVALID_POSE),
        (lambda s: setattr(s.twist.linear, "x", math.inf), FAILED),
        (lambda s: setattr(s.header, "frame_id", "tool"), UNSUPPORTED),
    ):
        bad = standard.msg.EntityState()
        change(bad)
        before = sim.loop.latest.q
        assert sim.place(name, bad).result == code
        assert np.array_equal(sim.loop.latest.q, before)
    assert sim.place("somebody", wanted).result == NOT_FOUND
