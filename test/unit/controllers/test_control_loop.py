# SPDX-License-Identifier: Apache-2.0
"""The control loop: what it takes, what it refuses, and that commands never jump, whatever arrives."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from echo_controller import EchoVelocity, arm
from hypothesis import given, settings
from hypothesis import strategies as st
from refused import refused

import ada_dynamics as ada
from ada_controllers import ActivationRefused, Command, JointReference, PoseReference, ReferenceRefused, State, make
from ada_controllers.controller import Controller
from ada_controllers.running.control_loop import ControlLoop, LoopSettings, RobotPhase
from ada_controllers.running.state_filter import ReceivedState
from ada_dynamics.clock import ManualClock
from ada_dynamics.errors import InputError
from ada_robot.settings import setting

MODEL = ada.load("pa10")
BENT = np.array([0.1, 0.7, 0.0, 0.8, 0.0, 0.3, 0.0])
REST = np.zeros(7)
WEIGHT = ada.Dynamics(MODEL).inverse(BENT, REST, REST)  # efforts that hold the arm still
DT = 1e-3


@dataclass(frozen=True)
class FollowSettings:
    """Of a controller of positions."""

    droop: float = setting(0.0, "distance from what is asked", lower=0.0)


class Follow(Controller[FollowSettings]):
    """Tells the joints the reference."""

    NAME, SUMMARY, KIND = "follow", "positions as asked", "position"
    REFERENCES, SETTINGS = (JointReference,), FollowSettings

    def _law(self, state, time):
        return Command(position=self.reference.position - self.settings.droop)


class Choosy(Follow):
    """Begins only where `may_begin`."""

    may_begin = True

    def _begin(self, state, time):
        if not self.may_begin:
            raise InputError("cannot begin here")


class Failing(Follow):
    """Has a mistake."""

    NAME = "failing"

    def _law(self, state, time):
        raise ZeroDivisionError("a mistake")


class Robot:
    """Sends states to a loop in lock step, a millisecond apart by both clocks."""

    def __init__(self, loop):
        self.loop, self.clock, self.stamp = loop, ManualClock(), 100.0

    @property
    def time(self):
        return self.clock.now()

    def send(self, q=BENT, v=REST, *, later=0.0, **fields):
        self.clock.advance(DT)
        self.stamp += DT + later
        q, v = np.array(q, dtype=float), np.array(v, dtype=float)
        return self.loop.step(ReceivedState(State(q, v), self.stamp, **fields), self.time)

    def silence(self, seconds):
        told = []
        for _ in range(round(seconds / DT)):
            self.clock.advance(DT)
            told.append(self.loop.step(None, self.time))
        return [command for command in told if command is not None]


def running(controller=None, *, blend=0.0, **wanted):
    loop = ControlLoop(controller or make("computed_torque", MODEL), LoopSettings(blend=blend, **wanted))
    robot = Robot(loop)
    robot.send(effort=WEIGHT)
    loop.activate(robot.time)
    return loop, robot


def test_an_active_loop_gives_the_commands_of_its_controller_one_for_each_state():
    _, robot = running()
    alone = make("computed_torque", MODEL)
    alone.reset(State(BENT, REST), 0.0)
    moved = BENT + 0.01
    assert np.array_equal(robot.send(moved).effort, alone.update(State(moved, REST), None, DT).effort)
    assert robot.silence(0.01) == [], "the last command holds"


def test_activation_waits_for_a_state_and_for_rest():
    loop = ControlLoop(make("computed_torque", MODEL))
    robot = Robot(loop)
    with refused(ActivationRefused, field="state"):
        loop.activate(robot.time)
    speed = REST.copy()
    speed[3] = -0.8
    robot.send(v=speed)
    with refused(ActivationRefused, joint="e1", field="max_start_speed", value=0.8):
        loop.activate(robot.time)
    robot.send()
    with refused(ActivationRefused, field="state_timeout", value=0.5):
        loop.activate(robot.time + 0.5)
    assert not loop.is_active and robot.send() is None
    loop.activate(robot.time)
    assert loop.is_active and robot.send() is not None


@pytest.mark.parametrize(
    ("on_stop", "last"), [("hold", Command(position=BENT)), ("release", Command(effort=REST)), ("silent", None)]
)
def test_at_its_end_the_joints_are_told_what_the_user_chose(on_stop, last):
    loop, robot = running(on_stop=on_stop)
    robot.send()
    told = loop.deactivate()
    assert str(told) == str(last)
    assert robot.send() is None
    assert loop.reason == "asked for"
    assert loop.deactivate() is None, "it ends once"


def test_a_position_to_hold_is_within_the_limits_though_the_joint_is_not():
    loop, robot = running()
    beyond = BENT.copy()
    beyond[1] = loop.controller.limits[1].upper + 0.01
    robot.send(beyond)
    assert loop.deactivate().position[1] == loop.controller.limits[1].upper


def test_after_a_silence_of_the_timeout_comes_one_safe_command_and_the_reason():
    loop, robot = running(state_timeout=0.05)
    robot.send()
    assert robot.silence(0.045) == []
    (told,) = robot.silence(0.2)
    assert np.array_equal(told.position, BENT)
    assert not loop.is_active
    assert "no valid state for 0.05" in loop.reason and "state_timeout is 0.05 s" in loop.reason


def test_a_machine_that_stood_still_is_no_silence_of_the_robot():
    _, robot = running(state_timeout=0.05)
    robot.send()
    robot.clock.advance(3.0)
    assert robot.silence(0.03) == [], "the robot's process may wake a little later"
    assert robot.send(later=3.03) is not None
    robot.clock.advance(3.0)
    assert len(robot.silence(0.06)) == 1


@pytest.mark.parametrize(("clock", "is_simulated"), [("auto", True), ("states", False)])
def test_a_simulation_may_stand_still_but_its_own_time_without_a_good_state_counts(clock, is_simulated):
    loop, robot = running(state_timeout=0.05, timeout_clock=clock)
    loop.is_simulated = is_simulated
    assert robot.silence(3.0) == [] and robot.send() is not None
    commands = []
    while loop.is_active:
        commands.append(robot.send(problem="the loops cannot be closed"))
    assert len(commands) == pytest.approx(0.05 / DT, abs=2) and commands[-1] is not None


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"q": [math.nan, *BENT[1:]]}, "not possible"),
        ({"v": [*REST[1:], math.inf]}, "not possible"),
        ({"q": BENT[:6]}, "not possible"),
        ({"problem": "a joint is missing"}, "not whole"),
        ({"age": 0.3}, "late"),
        ({"age": -0.3}, "from the future"),
        ({"later": -0.05}, "backward in time"),
        ({"later": math.nan}, "not finite"),
    ],
)
def test_a_bad_state_is_refused_with_the_reason_and_the_last_command_holds(fields, reason):
    loop, robot = running()
    stamp = robot.stamp
    assert robot.send(**fields) is None
    assert loop.refused == {reason: 1}
    assert loop.is_active
    robot.stamp = stamp
    assert robot.send() is not None, "the next good one is taken"


def test_bad_states_without_end_count_as_silence():
    loop, robot = running(state_timeout=0.02)
    told = [robot.send(q=[math.nan] * 7) for _ in range(30)]
    assert [command.position.tolist() for command in told if command] == [BENT.tolist()] and not loop.is_active


def test_the_same_state_repeated_keeps_the_loop_active_without_new_commands():
    loop, robot = running(state_timeout=0.02)
    assert [robot.send(later=-DT) for _ in range(100)] == [None] * 100 and loop.is_active


def test_a_fast_joint_is_no_restart():
    loop, robot = running()
    q, v = BENT.copy(), REST.copy()
    for k in range(400):
        v[0] = 6.0 * math.sin(0.01 * k)
        q = q + v * 0.05
        robot.send(q, v, later=0.05 - DT)
    assert loop.restarts == 0


@pytest.mark.parametrize(("later", "timeout"), [(0.0, 0.1), (-50.0, 0.1), (-1.0, 2.0)])
def test_a_robot_that_was_put_elsewhere_or_a_clock_set_back_makes_the_controller_begin_there(later, timeout):
    loop, robot = running(state_timeout=timeout)
    loop.offer(JointReference(BENT + 0.3))
    robot.send()
    there = BENT - 1.0 if later == 0.0 else BENT
    robot.send(there, later=later)
    assert loop.restarts == 1
    assert np.array_equal(loop.controller.reference.position, there), "not back to where it was told to go before"
    robot.send(there + 1e-4)
    assert loop.restarts == 1


POSE = np.array([[0.0, 0.0, 1.0, 0.5], [0.0, 1.0, 0.0, 0.2], [-1.0, 0.0, 0.0, 0.6], [0.0, 0.0, 0.0, 1.0]])
FAR = {
    "joint_trajectory": JointReference(BENT + 0.8),
    "pose_servo": PoseReference(POSE),
    "computed_torque": JointReference(BENT + 0.3),
}


class Stepped:
    """An arm under a controller in lock step: its servos do what they are told, or its motors give the efforts."""

    def __init__(self, name):
        self.loop = ControlLoop(make(name, MODEL), LoopSettings())
        self.clock, self.q, self.v = ManualClock(), BENT.copy(), REST.copy()
        self.dynamics = ada.Dynamics(MODEL)
        self.loop.step(self.measured(), self.clock.now())
        self.loop.activate(self.clock.now())

    def measured(self):
        return ReceivedState(State(self.q, self.v), self.clock.now(), effort=self.dynamics.inverse(self.q, REST, REST))

    def cycle(self, dt=DT):
        self.clock.advance(dt)
        command = self.loop.step(self.measured(), self.clock.now())
        if command.position is not None:
            self.q, self.v = command.position.copy(), command.velocity.copy()
        elif command.velocity is not None:
            self.q, self.v = self.q + DT * command.velocity, command.velocity.copy()
        else:
            self.v = self.v + DT * self.dynamics.forward(self.q, self.v, command.effort)
            self.q = self.q + DT * self.v
        return command


@pytest.mark.parametrize("name", FAR)
def test_a_process_that_stood_still_hands_over_where_the_robot_is_then(name):
    arm = Stepped(name)
    arm.loop.offer(FAR[name])
    for _ in range(300):
        arm.cycle()
    assert np.abs(arm.v).max() > 0.05
    arm.v = REST.copy()  # without commands the robot came to rest
    stood = arm.q.copy()
    first = arm.cycle(2.5)
    assert arm.loop.restarts == 1
    assert arm.loop.start_reason == "no states for 2.5 s, max_gap is 0.2 s"
    if first.effort is not None:
        assert first.effort == pytest.approx(arm.dynamics.inverse(stood, REST, REST), abs=1e-9), "what the motors gave"
    told = [stood, arm.q.copy()]
    for _ in range(500):
        arm.cycle()
        told.append(arm.q.copy())
    assert np.abs(np.diff(told, axis=0)).max() < 0.01 * DT, "slower than 0.01 rad/s"
    assert np.abs(np.array(told) - stood).max() < 1e-3, "it stays: its target is no more"


def test_a_controller_that_cannot_begin_after_a_gap_gives_no_command_until_it_can():
    controller = Choosy(MODEL)
    loop, robot = running(controller)
    loop.offer(JointReference(BENT + 0.3))
    robot.send()
    controller.may_begin = False
    assert robot.send(later=1.0) is None and robot.send() is None
    assert loop.refused["control law"] == 2
    controller.may_begin = True
    assert robot.send().position == pytest.approx(BENT), "not the reference of before"


def test_a_robot_that_was_stopped_and_started_again_stays_where_it_is():
    loop, robot = running(Follow(MODEL))
    loop.robot_is(RobotPhase("active"), robot.time)
    assert loop.restarts == 0
    loop.offer(JointReference(BENT + 0.5))
    assert not np.array_equal(robot.send().position, BENT)
    there = BENT + 0.1
    for phase in ("stopping", "stopped", "inactive", "starting"):
        loop.robot_is(RobotPhase(phase, "asked to stop"), robot.time)
        assert loop.is_active and loop.is_silent
        assert [robot.send(there) for _ in range(50)] == [None] * 50, "no commands while it does not follow any"
        with refused(ReferenceRefused, field="phase", value=phase):
            loop.offer(JointReference(BENT + 0.5))
    loop.robot_is(RobotPhase("active"), robot.time)
    assert np.array_equal(loop.target.position, there), "joints that a request does not name stay here"
    told = [robot.send(there) for _ in range(300)]
    assert np.abs(np.array([command.position for command in told]) - there).max() < 1e-12
    assert loop.restarts == 1 and loop.start_reason == "the robot became active"
    loop.offer(JointReference(there + 0.2))
    assert robot.send(there) is not None


def test_a_robot_that_was_never_active_is_told_to_stay_and_takes_no_reference():
    loop, robot = running(Follow(MODEL))
    loop.robot_is(RobotPhase("inactive"), robot.time)
    assert robot.send().position == pytest.approx(BENT)
    with refused(ReferenceRefused, field="phase", value="inactive"):
        loop.offer(JointReference(BENT + 0.1))
    moved = BENT - 0.1  # by hand
    robot.send(moved)
    loop.robot_is(RobotPhase("active"), robot.time)
    loop.offer(JointReference(moved + 0.1))  # before the next state
    assert loop.target.position == pytest.approx(moved + 0.1)
    for _ in range(300):
        told = robot.send(moved)
    assert told.position == pytest.approx(moved + 0.1), "it is not lost"
    loop.deactivate()
    loop.robot_is(RobotPhase("stopped"), robot.time)
    robot.send(moved)
    loop.activate(robot.time)
    assert robot.send(moved) is None and loop.deactivate() is None, "a stopped robot gets nothing at all"


def test_a_robot_that_is_active_again_takes_no_reference_before_its_next_state():
    loop, robot = running(Follow(MODEL))
    for phase in ("active", "stopped"):
        loop.robot_is(RobotPhase(phase), robot.time)
    robot.clock.advance(0.5)  # without states
    loop.robot_is(RobotPhase("active"), robot.time)
    with refused(ReferenceRefused, field="phase", value="active"):
        loop.offer(JointReference(BENT + 0.5))
    assert robot.send(BENT + 0.1).position == pytest.approx(BENT + 0.1)
    loop.offer(JointReference(BENT + 0.5))


def test_a_waiting_controller_whose_robot_falls_silent_ends_without_a_command():
    loop, robot = running(state_timeout=0.05)
    for phase in ("active", "closed"):
        loop.robot_is(RobotPhase(phase), robot.time)
    robot.send()
    assert robot.silence(0.2) == [] and not loop.is_active


def test_a_source_gives_a_reference_for_the_stamp_of_each_state():
    loop, robot = running()
    asked = []
    loop.offer(lambda t: asked.append(t) or JointReference(BENT + 0.01 * (t - 100.0)))
    for _ in range(3):
        robot.send()
    assert asked == pytest.approx([100.002, 100.003, 100.004])
    assert loop.controller.reference.position[0] == pytest.approx(BENT[0] + 0.01 * 0.004)
    loop.offer(lambda t: JointReference(BENT * math.nan))
    assert robot.send() is not None, "a source that goes wrong is left, and the last reference stays"
    assert loop.refused == {"reference": 1}
    assert np.isfinite(loop.controller.reference.position).all()


def steps_of(commands, part="effort"):
    values = np.array([getattr(command, part) for command in commands])
    return np.abs(np.diff(values, axis=0)).max()


def test_switching_efforts_is_without_a_jump_and_ends_in_the_new_law():
    loop, robot = running(blend=0.1)
    off = BENT + 0.05  # the reference is elsewhere: the two laws differ by much
    loop.offer(JointReference(off))
    before = [robot.send() for _ in range(200)]
    other = make("computed_torque", MODEL, {"stiffness": [900.0], "damping": [60.0]})
    loop.switch(other, robot.time, keep=True)
    after = [robot.send() for _ in range(200)]
    apart = np.abs(after[-1].effort - before[-1].effort).max()
    assert apart > 10.0
    assert steps_of([before[-1], *after]) < 1.6 * apart * DT / 0.1, "1.5 is the steepest of the blend"
    alone = make("computed_torque", MODEL, {"stiffness": [900.0], "damping": [60.0]})
    alone.reset(State(BENT, REST), 0.0)
    assert np.array_equal(after[-1].effort, alone.update(State(BENT, REST), JointReference(off), DT).effort)


def test_a_switch_does_not_drive_a_joint_past_its_end():
    model = arm()
    first, second = EchoVelocity(model), EchoVelocity(model)
    first.said, second.said = Command(velocity=np.array([0.6, 0.0])), Command(velocity=np.zeros(2))
    loop = ControlLoop(first, LoopSettings(blend=1.0, max_start_speed=0.0))
    q, v, dt = np.array([1.94, 0.0]), np.array([0.6, 0.0]), 2e-3  # the end is at 2
    loop.step(ReceivedState(State(q, v), 0.0), 0.0)
    loop.activate(0.0)
    for k in range(1, 501):
        v = loop.step(ReceivedState(State(q, v), k * dt), k * dt).velocity
        q = q + dt * v  # a drive that does as it is told
        if k == 1:
            loop.switch(second, k * dt)
    assert 1.99 < q[0] <= 2.0, "it goes on for the time of the hand-over"


def test_after_efforts_the_first_position_is_the_measured_one_and_speeds_keep_their_limits():
    loop, robot = running(blend=0.1)
    robot.send()
    loop.switch(Follow(MODEL, {"droop": 0.05}), robot.time)
    told = [robot.send() for _ in range(150)]
    assert told[0].effort is None and np.abs(told[0].position - BENT).max() < 1e-4
    assert told[-1].position == pytest.approx(BENT - 0.05)
    speeds = np.abs(np.diff([command.position for command in told], axis=0)) / DT
    limits = np.array([limit.velocity for limit in loop.controller.limits])
    assert (speeds <= limits * (1.0 + 1e-9)).all() and speeds.max() > 0.9 * limits.min()


def test_a_switch_that_cannot_be_leaves_all_as_it_was():
    loop, robot = running()
    robot.send()
    with refused(InputError, field="model"):
        loop.switch(make("computed_torque", ada.load("pa10")), robot.time)
    with refused(ActivationRefused, field="state_timeout", value=5.0):
        loop.switch(make("computed_torque", MODEL), robot.time + 5.0)
    assert robot.send().effort == pytest.approx(WEIGHT)


def test_a_law_with_a_mistake_ends_in_the_safe_command_and_says_what_it_was():
    loop, robot = running(Failing(MODEL))
    assert np.array_equal(robot.send().position, BENT)
    assert loop.reason == "failing failed: ZeroDivisionError: a mistake"


numbers = st.floats(-10.0, 10.0) | st.sampled_from([math.nan, math.inf, 1e300])
events = st.one_of(
    st.tuples(st.just("state"), st.lists(numbers, min_size=6, max_size=7), st.floats(-1.0, 1.0)),
    st.tuples(st.just("good"), st.lists(st.floats(-0.5, 0.5), min_size=7, max_size=7), st.just(0.0)),
    st.tuples(st.just("reference"), st.lists(numbers, min_size=6, max_size=7), st.just(0.0)),
    st.tuples(
        st.sampled_from(["activate", "deactivate", "silence", "positions", "efforts"]), st.just([]), st.just(0.0)
    ),
)


@settings(max_examples=25, deadline=None)
@given(st.lists(events, max_size=40))
def test_no_sequence_of_events_makes_a_command_that_is_not_finite_or_beyond_a_limit(sequence):
    loop, robot = running(blend=0.02)
    limits = loop.controller.limits
    position, effort = Follow(MODEL), make("computed_torque", MODEL)
    for what, values, later in sequence:
        told = None
        try:
            if what == "state":
                told = robot.send(q=values, later=later)
            elif what == "good":
                told = robot.send(q=BENT + values, effort=WEIGHT)
            elif what == "reference":
                loop.offer(JointReference(np.array(values)))
            elif what == "silence":
                told = ([None, *robot.silence(0.12)])[-1]
            elif what == "activate":
                loop.activate(robot.time)
            elif what == "deactivate":
                told = loop.deactivate()
            else:
                loop.switch(position if what == "positions" else effort, robot.time)
        except InputError:
            pass
        for values_told, low, high in (
            (told and told.effort, [-one.effort for one in limits], [one.effort for one in limits]),
            (told and told.position, [one.lower for one in limits], [one.upper for one in limits]),
        ):
            if values_told is not None:
                assert np.isfinite(values_told).all()
                assert (values_told >= np.array(low) - 1e-12).all() and (values_told <= np.array(high) + 1e-12).all()


def test_a_gap_between_states_makes_no_jump_of_a_switch():
    loop, robot = running(blend=0.1, state_timeout=5.0)
    loop.offer(JointReference(BENT + 0.05))
    before = [robot.send() for _ in range(200)]
    loop.switch(make("gravity_compensation", MODEL), robot.time)
    after = [robot.send(later=1.0), robot.send(), robot.send(later=1.0), *(robot.send() for _ in range(200))]
    assert np.array_equal(after[0].effort, before[-1].effort), "whenever it comes, the first command is the old one"
    assert after[-1].effort == pytest.approx(WEIGHT)
    apart = np.abs(WEIGHT - before[-1].effort).max()
    assert apart > 10.0
    assert steps_of([before[-1], *after]) < 0.12 * apart, "a fifth of the way, near its beginning"
