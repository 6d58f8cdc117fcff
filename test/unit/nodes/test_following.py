# SPDX-License-Identifier: Apache-2.0
"""Requests become references: for controllers that take targets and for those that plan paths; without ROS."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from refused import refused

import ada_dynamics as ada
from ada_controllers import JointPath, JointReference, ReferenceRefused, State, make
from ada_controllers.node.following import Following, Tolerance, tolerances_of
from ada_controllers.running.control_loop import ControlLoop, LoopSettings
from ada_controllers.running.state_filter import JointStateReader, ReceivedState
from ada_dynamics.clock import ManualClock
from ada_dynamics.errors import InputError
from ada_robot.contract import Reason
from ada_robot.trajectory.trajectory import OfferedTrajectory

MODEL = ada.load("pa10")
JOINTS = MODEL.joint_names
BENT = np.array([0.1, 0.7, 0.0, 0.8, 0.0, 0.3, 0.0])
REST = np.zeros(7)


DT = 2e-3


class Arm:
    """An arm and its requests: it stays where it is, or it is at once where it is commanded to be."""

    def __init__(self, name="computed_torque", *, moves=False, q=BENT, **settings):
        self.loop = ControlLoop(make(name, MODEL, settings), LoopSettings(blend=0.0))
        self.time, self.q, self.v, self.moves, self.commands = 0.0, np.array(q), REST.copy(), moves, []
        self.send()
        self.loop.activate(self.time)
        self.following = Following(self.loop)

    def send(self, seconds=0.001):
        self.time += seconds
        command = self.loop.step(ReceivedState(State(self.q, self.v), self.time), self.time)
        if self.moves and command is not None:
            self.q, self.v = command.position, command.velocity
            self.commands.append(command)
            self.following.look()

    def wait(self, seconds, step=0.05):
        for _ in range(round(seconds / step)):
            self.send(step)

    def run(self, seconds):
        """Commands meanwhile: positions and velocities, a row for each cycle."""
        begin = len(self.commands)
        self.wait(seconds, DT)
        rows = self.commands[begin:]
        return np.array([row.position for row in rows]), np.array([row.velocity for row in rows])

    def until_speed(self, joint, speed):
        while abs(self.v[joint]) < speed:
            self.send(DT)

    @property
    def target(self):
        return self.loop.target


def planned(**settings):
    return Arm("joint_trajectory", moves=True, **settings)


def moving(*points, names=("s1",), **fields):
    positions = [[position] * len(names) for position, _ in points]
    return OfferedTrajectory(names, [time for _, time in points], positions, **fields)


def test_joints_that_a_request_does_not_name_stay_where_they_are_told_to_be():
    arm = Arm()
    arm.following.joints(["w2", "s1"], [0.5, 0.2])
    arm.send()
    arm.following.joints(["s2"], [0.6], [0.1])
    arm.send()
    assert arm.target.position.tolist() == [0.2, 0.6, 0.0, 0.8, 0.0, 0.3, 0.5]
    assert arm.target.velocity.tolist() == [0.0, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize("law", ["computed_torque", "joint_trajectory"])
def test_a_joint_beyond_a_limit_stays_or_returns_while_others_are_moved(law):
    upper = MODEL.joints["w2"].limits.upper
    arm = Arm(law, q=[*BENT[:6], upper + 1e-3])
    arm.following.joints(["s1"], [0.2])
    arm.send()
    assert arm.target.position[0] == 0.2 and upper <= arm.target.position[6] <= upper + 1e-3
    with refused(ReferenceRefused, joint="w2", field="position"):
        arm.following.joints(["w2"], [upper + 2e-3])
    arm.following.trajectory(moving((upper - 0.1, 2.0), names=("w2",)))
    arm.wait(2.5, 1e-2)
    assert arm.following.progress().is_over and arm.loop.refused == {"reference": 1}


def test_a_trajectory_gives_a_reference_for_each_state():
    arm = Arm()
    arm.following.trajectory(moving((0.6, 1.0)))
    for k in range(1, 1200):
        arm.send()
        wanted = min(0.1 + 0.5 * k * 1e-3, 0.6)
        assert arm.target.position[0] == pytest.approx(wanted, abs=1e-9)
        assert arm.target.velocity[0] == pytest.approx(0.5 if k < 1000 else 0.0, abs=1e-6) or k == 1000
    assert arm.target.position[1:].tolist() == BENT[1:].tolist()
    assert arm.following.progress().is_over and arm.following.is_followed


def test_a_stop_holds_the_joints_in_the_middle_of_the_way():
    arm = Arm()
    arm.following.trajectory(moving((0.6, 1.0)))
    arm.wait(0.3, 1e-3)
    arm.following.stop()
    arm.wait(0.3, 1e-3)
    assert arm.target.position[0] == pytest.approx(0.25, abs=2e-3)
    arm.following.joints(["s2"], [0.6])
    assert not arm.following.is_followed, "another request takes over"
    assert arm.target.position[0] == pytest.approx(0.25, abs=2e-3), "from where it was told to be"


def test_a_controller_that_plans_gets_the_whole_path():
    arm = Arm("joint_trajectory")
    arm.following.trajectory(moving((0.3, 1.0), (0.5, 2.0), names=("s1", "w2")))
    path = arm.target
    assert isinstance(path, JointPath)
    assert path.times.tolist() == [1.0, 2.0]
    assert path.positions[:, [0, 6]].tolist() == [[0.3, 0.3], [0.5, 0.5]]
    assert path.positions[:, 1:6].tolist() == [BENT[1:6].tolist()] * 2
    arm.wait(0.5, 1e-3)
    arm.following.stop()
    arm.send()
    assert isinstance(arm.target, JointReference)


def test_what_the_loop_began_anew_is_followed_no_more():
    arm = Arm()
    arm.following.trajectory(moving((0.6, 1.0)))
    arm.send()
    arm.time -= 50.0  # the clock was set back
    arm.send()
    assert not arm.following.is_followed
    assert np.array_equal(arm.target.position, BENT)


@pytest.mark.parametrize(
    ("arm", "request_", "facts"),
    [
        (Arm, lambda f: f.joints(["elbow"], [0.1]), ("name", Reason.UNKNOWN_JOINT)),
        (Arm, lambda f: f.joints(["s1", "s1"], [0.1, 0.1]), ("name", Reason.DUPLICATE_JOINT)),
        (Arm, lambda f: f.joints(["s1"], [0.1], [1.0, 2.0]), ("velocity", None)),
        (Arm, lambda f: f.trajectory(moving((99.0, 1.0))), ("trajectory", Reason.OVER_LIMIT)),
        (Arm, lambda f: f.trajectory(moving((0.2, 0.001))), ("trajectory", Reason.OVER_LIMIT)),
        (Arm, lambda f: f.trajectory(moving((0.2, 1.0), names=("elbow",))), ("name", Reason.UNKNOWN_JOINT)),
        (Arm, lambda f: f.trajectory(OfferedTrajectory((), (), ((0.1,),))), ("trajectory", Reason.EMPTY)),
        (planned, lambda f: f.trajectory(moving((0.5, 1.0), start_in=-2.0)), ("trajectory", Reason.OLD)),
        (planned, lambda f: f.trajectory(moving((99.0, 1.0))), ("trajectory", Reason.OVER_LIMIT)),
        (planned, lambda f: f.trajectory(moving((0.5, 1.0), names=("elbow",))), ("name", Reason.UNKNOWN_JOINT)),
        (planned, lambda f: f.trajectory(moving((0.5, 1.0), (0.6, 1.0))), ("trajectory", Reason.TIMES)),
    ],
)
def test_a_request_that_cannot_be_is_refused_when_it_is_made_and_counted(arm, request_, facts):
    arm = arm()
    before = arm.target
    with refused(ReferenceRefused, field=facts[0], value=facts[1]):
        request_(arm.following)
    assert arm.loop.refused == {"reference": 1} and list(arm.loop.last_refusals) == ["reference"]
    assert arm.target is before
    arm.loop.deactivate()
    with refused(ReferenceRefused, field="is_active", value=False):
        arm.loop.offer(before)


@pytest.mark.parametrize("how", ["cancel", "empty trajectory"])
@pytest.mark.parametrize("points", [[(2.0, 10.0)], [(1.0, 4.0), (0.4, 7.0), (2.0, 12.0)]])
def test_a_stop_of_a_planned_way_slows_down_all_the_time_and_holds(how, points):
    arm = planned(acceleration=[2.0])
    arm.following.trajectory(moving(*points, names=("s1", "w2")))
    arm.until_speed(0, 0.216)
    began, speed = arm.q.copy(), np.abs(arm.v)
    if how == "cancel":
        arm.following.stop()
    else:
        arm.following.trajectory(OfferedTrajectory((), (), ()))
    q, v = arm.run(1.0)
    assert (np.diff(np.abs(np.vstack([speed, v])), axis=0) <= 1e-12).all(), "it never gets faster"
    assert (np.abs(q[-1] - began) <= speed**2 / (2.0 * 2.0) * (1.0 + 1e-5) + speed * DT).all(), "v^2/2a and a cycle"
    assert (np.abs(np.diff(v, axis=0)) <= 2.0 * DT * (1.0 + 1e-9)).all(), "no harder than the limit"
    assert np.abs(np.diff(q, axis=0) - 0.5 * DT * (v[1:] + v[:-1])).max() < 2.0 * DT**2, (
        "positions and velocities agree"
    )
    assert not v[-1].any()
    held, still = arm.run(0.5)
    assert np.array_equal(held, np.tile(q[-1], (len(held), 1))) and not still.any()
    assert arm.loop.target.position == pytest.approx(q[-1])


def test_a_stop_near_the_end_of_a_joint_leaves_it_within_its_range():
    arm = planned(acceleration=[0.5])
    upper = arm.loop.controller.limits[1].upper
    arm.following.trajectory(moving((upper, 3.5), names=("s2",)))
    while arm.q[1] < upper - 0.1:
        arm.send(DT)
    assert arm.v[1] > 0.1
    arm.following.stop()
    q, _ = arm.run(2.0)
    assert q[:, 1].max() <= upper


def test_a_tolerance_of_the_way_is_about_the_plan_that_is_followed():
    arm = planned()
    arm.following.trajectory(moving((2.1, 10.0)))
    assert not arm.following.progress().is_over and arm.following.is_followed
    arm.following.keep_to([Tolerance(0.1)] * 7)
    q, _ = arm.run(10.1)
    line = 0.1 + 2.0 * np.arange(1, len(q) + 1) * DT / 10.0
    assert np.abs(q[:4900, 0] - line[:4900]).max() > 0.1
    progress = arm.following.progress()
    assert progress.left == "" and progress.lost == "" and progress.is_over
    assert progress.desired.position[0] == pytest.approx(2.1)
    # and a joint that something holds leaves it, however late somebody asks
    arm.following.trajectory(moving((0.1, 5.0)))
    arm.following.keep_to([Tolerance(0.1)] * 7)
    for _ in range(3000):
        arm.send(DT)
        arm.q = np.array([max(arm.q[0], 1.9), *arm.q[1:]])
    assert "'s1'" in arm.following.progress().left


def test_a_new_goal_begins_from_the_moving_plan_without_a_step():
    arm = planned(acceleration=[2.0])
    arm.following.trajectory(moving((2.0, 8.0), names=("s1", "s3")))
    arm.until_speed(0, 0.3)
    before = arm.v.copy()
    arm.following.trajectory(moving((0.0, 6.0)))  # s3 is not named: it comes to rest
    q, v = arm.run(6.1)
    assert (np.abs(np.diff(np.vstack([before, v]), axis=0)) <= 2.0 * DT * (1.0 + 1e-9)).all()
    assert q[-1, 0] == pytest.approx(0.0, abs=1e-9)
    assert arm.following.progress().is_over and not v[-1].any()


def message(names, position, velocity, effort=()):
    return SimpleNamespace(name=names, position=position, velocity=velocity, effort=effort)


def test_joint_states_are_read_by_name_whatever_their_order_and_whoever_else_is_there():
    names = ["gripper", "w2", "w1", "e2", "e1", "s3", "s2", "s1"]
    q, v, effort = JointStateReader(MODEL).read(message(names, list(range(8)), [-k for k in range(8)], [9.0] * 8))
    assert q.tolist() == [7, 6, 5, 4, 3, 2, 1] and v.tolist() == [-7, -6, -5, -4, -3, -2, -1]
    assert effort.tolist() == [9.0] * 7


@pytest.mark.parametrize(
    ("names", "velocities", "efforts", "facts"),
    [
        (JOINTS[:5], 5, 0, ("name", "w1")),
        (JOINTS, 0, 7, ("velocity", None)),
        (JOINTS, 7, 3, ("effort", None)),
        (["s1", *JOINTS[:6]], 7, 7, ("name", None)),
    ],
)
def test_joint_states_that_do_not_say_all_are_refused(names, velocities, efforts, facts):
    with pytest.raises(InputError) as refusal:
        JointStateReader(MODEL).read(message(names, [0.0] * len(names), [0.0] * velocities, [0.0] * efforts))
    assert (refusal.value.field, refusal.value.joint) == facts
    with refused(InputError, joint="root_joint"):
        JointStateReader(ada.load("floating_rod"))


def test_ball_joints_and_platforms_in_loops_follow_from_joint_states():
    model, reader = ada.load("stewart"), JointStateReader(ada.load("stewart"), ManualClock())
    names = [name for name in model.joint_names if model.joints[name].nq == 1]
    q, rows = ada.close_loops(model), [model.q_index(name).start for name in names]
    v = ada.Dynamics(model).constraints.tangent_map(q, model.actuated) @ np.arange(6.0)
    speeds = [v[model.v_index(name).start] for name in names]
    found = reader.read(message(names, q[rows], speeds, np.ones(len(names))))
    assert found[0] == pytest.approx(q, abs=1e-9) and found[1] == pytest.approx(v, abs=1e-8)
    assert found[2].sum() == 6.0, "efforts of the motors only"
    with refused(InputError, field="velocity"):
        reader.read(message(names, q[rows], []))


def tolerance(name, position=0.0, velocity=0.0):
    return SimpleNamespace(name=name, position=position, velocity=velocity)


def test_tolerances_mean_what_they_mean_to_ros2_control():
    found = tolerances_of([tolerance("a", 0.5), tolerance("b", -1.0, 0.2)], ("a", "b", "c"), 0.1)
    assert found == [Tolerance(0.5), Tolerance(math.inf, 0.2), Tolerance(0.1)]
    assert tolerances_of([], ("a",), 0.0) == [Tolerance()], "0: any"
    for name, value, field in (("elbow", 0.1, "name"), ("a", math.nan, "tolerance")):
        with refused(ReferenceRefused, field=field, joint=name):
            tolerances_of([tolerance(name, value)], ("a",), 0.1)
