# SPDX-License-Identifier: Apache-2.0
"""The standard services of simulators over DDS; see docs/simulation_interfaces.md for how to build their package."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("rclpy")

from std_srvs.srv import SetBool, Trigger

from ada_robot.node import standard_services
from ada_robot.node.dynamics_node import DynamicsNode

pytestmark = pytest.mark.ros
NODE = (sys.executable, "-m", "ada_robot.node.dynamics_node", "--ros-args")
NAMES = {
    "get_simulation_state",
    "get_simulator_features",
    "reset_simulation",
    "set_simulation_state",
    "step_simulation",
}
# the standard's own numbers, so that a wrong constant is seen
UNSUPPORTED, OK, FAILED = 0, 1, 4
ALREADY, TRANSITION_ERROR = 101, 102
STOPPED, PLAYING, PAUSED, QUITTING, NO_WORLD = 0, 1, 2, 3, 4
TIME, STATE, SPAWNED, ALL = 1, 2, 4, 255


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
        self.node = ros.make(DynamicsNode, parameters)
        self.loop = ros.wait(lambda: self.node.loop, what="the physics")

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


@pytest.fixture
def simulator(ros, standard):
    def make(**parameters):
        return Simulator(ros, standard, parameters)

    return make


def services_of(ros, node):
    return {name.rsplit("/", 1)[1] for name, _ in ros.tester.get_service_names_and_types_by_node(node.get_name(), "/")}


@pytest.mark.skipif(standard_services.LACKING is None, reason="simulation_interfaces is there")
def test_without_the_package_the_node_offers_its_own_services_alone(ros):
    node = ros.make(DynamicsNode, {"robot": "pa10"})
    ros.wait(lambda: ros.call(Trigger, "dynamics_node/reset").success, what="a reset of the compiled physics")
    assert "reset" in services_of(ros, node) and not services_of(ros, node) & NAMES


def test_the_features_are_those_of_the_services_and_there_are_no_worlds(ros, simulator):
    sim = simulator(robot="pa10", start_paused=True)
    features = sim.ask("GetSimulatorFeatures", "get_simulator_features").features
    # reset, its time and state; state got, set, paused; one step and many
    assert list(features.features) == [20, 21, 22, 24, 25, 26, 31, 32]
    assert not features.spawn_formats
    assert services_of(ros, sim.node) >= NAMES
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


def test_a_simulator_that_is_told_to_quit_answers_and_ends_cleanly(ros, standard):
    process = ros.start(*NODE, "-p", "robot:=pa10")
    service = standard.srv.SetSimulationState
    request = service.Request(state=standard.msg.SimulationState(state=QUITTING))
    assert ros.call(service, "set_simulation_state", request).result.result == OK
    assert process.wait() == 0, process.output
    assert "Traceback" not in process.output
