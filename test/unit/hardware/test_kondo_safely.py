# SPDX-License-Identifier: Apache-2.0
"""KHR-1 and KHR-3HV under all rules of safety, in lock step."""

import random
from itertools import pairwise

import pytest
from kondo_world import QUICK, KondoWorld
from peers.khr1_scene import KhrScene

from ada_dynamics import resources
from ada_robot.contract import Demand, Mode
from ada_robot.errors import HardwareError
from ada_robot.safety.phases import Phase
from ada_robot.safety.safe_cycle import SafeCycle
from ada_robot.safety.settings import SafetySettings

MAP = resources.find("config", "khr1_angle_map.yaml")
NECK = 6
UNUSED = 0xE1  # Heart To Heart's value for a channel without a servo
FREE = 0xDD
BOTH = pytest.mark.parametrize("name", list(QUICK))


class Boards(KhrScene):
    """A KHR-1 by the bytes that it gets."""

    def __init__(self, servo=None, **settings):
        """Open the robot with servos of channels, 1 to 24, at these angles, and a driver with these settings."""

        def prepared(peer):
            for channel, angle in (servo or {}).items():
                board, place = divmod(channel - 1, 12)
                peer.boards[board].angle[place] = peer.boards[board].target[place] = angle

        self.frames = []
        super().__init__(prepared, **settings)
        self.peer.witness = self

    def heard(self, now, board, frame, peer):
        if frame[0] == 0xFD:
            self.frames.append((now, board, frame[2], tuple(frame[3:15])))

    def go(self, joint, speed, steps):
        """Command a joint to move at a speed [rad/s], from the newest demand."""
        target = self.cycle.demand.values.copy()
        for _ in range(steps):
            target[self.driver.joints.index(joint)] += speed * self.driver.period
            self.step(Mode.POSITION, target.copy())

    def told(self, channel):
        board, place = divmod(channel - 1, 12)
        return [frame[3][place] for frame in self.frames if frame[1] == board]

    def reads(self, channel, change):
        board, place = divmod(channel - 1, 12)

        def says(angle):
            angle = angle.copy()
            angle[place] = change(angle[place])
            return angle

        self.peer.boards[board].says = says


def without(tmp_path, *joints):
    lines = [line for line in MAP.read_text().splitlines() if not any(joint in line for joint in joints)]
    path = tmp_path / "map.yaml"
    path.write_text("\n".join(lines))
    return {"angle_map": str(path), "robot": ""}


def test_a_servo_that_the_map_leaves_out_is_held_through_activation_motion_stop_and_release(tmp_path):
    world = Boards({NECK: 20, 3: 160}, **without(tmp_path, "neck_yaw", "left_elbow"))  # their stored home is 90
    world.activate()
    world.go("left_knee", 0.3, 20)
    world.cycle.stop(world.now, "enough")
    world.run(1.0)
    assert world.phase is Phase.STOPPED
    assert len(set(world.told(15))) > 3  # the knee did move
    world.driver.release(confirm=True)
    assert (set(world.told(NECK)), set(world.told(3))) == ({20}, {160})
    assert world.told(1)[-1] == FREE


@pytest.mark.parametrize(
    ("read", "is_told"), [(UNUSED, UNUSED), (FREE, FREE), (0xE2, 0xE2), (0xDE, UNUSED), (0xFF, UNUSED)]
)
def test_a_channel_without_an_angle_is_told_nothing_that_turns_a_servo(read, is_told):
    world = Boards()
    world.reads(4, lambda _: read)
    world.activate()
    assert set(world.told(4)) == {is_told}  # never the 90 that the board has stored as its home


def test_a_servo_of_which_two_readings_differ_is_not_driven(tmp_path):
    world, chance = Boards(**without(tmp_path, "neck_yaw")), random.Random(1)
    world.reads(NECK, lambda _: chance.randrange(180))
    world.activate()
    assert set(world.told(NECK)) == {UNUSED}


@pytest.mark.parametrize("mute", [{0}, {1}, {0, 1}])
def test_no_new_position_is_sent_later_than_a_quarter_of_a_second_after_the_first_missing_answer(mute):
    world = Boards()
    world.activate()
    world.go("neck_yaw", 0.5, 20)
    world.go("left_knee", 0.5, 5)
    assert world.phase is Phase.ACTIVE
    for number in mute:
        world.peer.boards[number].is_silent = True
    seen = len(world.frames)
    world.go("left_knee", 0.5, 40)
    assert world.phase is Phase.STOPPED
    sent = world.frames[seen:]
    first_unanswered = min(frame[0] for frame in sent if frame[1] in mute)
    for board in (0, 1):
        told = [frame for frame in sent if frame[1] == board]
        changes = [after[0] for before, after in pairwise(told) if before[3] != after[3]]
        assert all(at - first_unanswered <= 0.25 for at in changes)  # what comes later is the hold
        assert told[-1][2] == 7  # told as slowly as can be


@pytest.mark.parametrize("counts", [3, 4])
def test_a_servo_beyond_a_limit_is_never_commanded_farther_out_and_stops_the_robot_from_four_counts_on(counts):
    limit = 100  # of the map, for channel 13; the servo itself can pass it
    world = Boards({13: limit + 2})
    world.activate()
    world.go("left_hip_roll", 0.0, 5)
    assert world.phase is Phase.ACTIVE and max(world.told(13)) <= limit
    world.reads(13, lambda angle: limit + counts)
    world.run(0.4)
    assert (world.phase is Phase.ACTIVE) is (counts == 3), world.cycle.reason
    assert max(world.told(13)) <= limit


class Robot(KondoWorld):
    """A robot and its cycle."""

    def __init__(self, name):
        super().__init__(name, **QUICK[name])
        self.cycle = SafeCycle(self.driver, SafetySettings(record_seconds=0.0), clock=self.clock)
        self.device.advance(0.0)
        self.do("open")
        self.steps(10)

    def steps(self, count, position=None):
        """Cycles, with a command in each where there is a position."""
        for _ in range(count):
            self.clock.sleep(self.driver.period - self.clock.now() % self.driver.period)
            now = self.clock.now()
            self.cycle.step(now, [] if position is None else [Demand(Mode.POSITION, position, now)])
        self.wire.run()

    def do(self, call, *arguments):
        getattr(self.cycle, call)(self.clock.now(), *arguments)
        if self.cycle.phase is not Phase.CLOSED:
            self.steps(2)


@BOTH
def test_a_device_that_falls_silent_stops_it_until_it_is_reset(name):
    robot = Robot(name)
    robot.do("activate")
    robot.wire.fault("silence", 1)
    robot.steps(100)
    assert robot.cycle.phase is Phase.STOPPED
    with pytest.raises(HardwareError):
        robot.do("activate")
    robot.wire.fault("silence", 0)
    robot.steps(5)
    robot.do("reset")
    robot.do("activate")
    assert robot.cycle.phase is Phase.ACTIVE
    assert robot.device.violations == []


@BOTH
def test_no_restart_in_any_order_makes_a_servo_jump(name):
    robot, rng = Robot(name), random.Random(4)
    targets = robot.device.state()["targets"]
    for _ in range(12):
        for step in rng.sample(("activate", "stop", "reset", "deactivate", "command"), k=5):
            try:
                if step == "command":
                    robot.steps(1, robot.cycle.feedback.position)
                else:
                    robot.do(step, *(["enough"] if step == "stop" else []))
            except HardwareError:
                pass  # a step that its phase does not allow is refused; that is the rule, and no motion
        robot.do("close")
        robot.do("open")
    if robot.cycle.phase is Phase.STOPPED:
        robot.do("reset")
    robot.do("activate")
    assert robot.cycle.phase is Phase.ACTIVE
    assert robot.device.violations == []
    assert robot.device.state()["targets"] == pytest.approx(targets, abs=0.51)  # whole degrees of the KHR-1
