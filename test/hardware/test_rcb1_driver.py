# SPDX-License-Identifier: Apache-2.0
"""The driver of the KHR-1 against its emulator: no jumps, no motion that was not asked for, retries, refusals."""

import math

import numpy as np
import pytest

from ada_dynamics import resources
from ada_dynamics.errors import InputError
from ada_dynamics.settings import checked
from ada_hardware.emulation.in_process import FakeClock, InProcessStream
from ada_hardware.emulation.process import EmulatorProcess
from ada_hardware.kondo.angle_map import AngleMap
from ada_hardware.kondo.errors import MotionError
from ada_hardware.kondo.rcb1.bus import Rcb1Bus
from ada_hardware.kondo.rcb1.commands import LOW, SLEEP, Code
from ada_hardware.kondo.rcb1.driver import Rcb1Driver
from ada_hardware.kondo.rcb1.emulator import Rcb1Emulator, Rcb1EmulatorSettings
from ada_hardware.kondo.rcb1.settings import Rcb1Settings
from ada_robot.contract import Demand, Mode
from ada_robot.errors import DeviceAlarm, NoAnswer, Refused, TransportError

MAP = resources.find("config", "khr1_angle_map.yaml")
HOME = AngleMap.read(MAP).home()


class World:
    """A driver and an emulator on a fake clock."""

    def __init__(self, faults=None, emulator=None, **settings):
        self.clock = FakeClock()
        self.device = Rcb1Emulator(checked(Rcb1EmulatorSettings, emulator or {}))
        self.wire = InProcessStream(self.device, clock=self.clock.now, sleep=self.clock.sleep, faults=faults)
        self.driver = Rcb1Driver(checked(Rcb1Settings, settings), wire=self.wire, clock=self.clock.now)

    def run(self, positions, cycles):
        """The same command again and again; the last feedback."""
        for _ in range(cycles):
            begin = self.clock.now()
            feedback = self.driver.cycle(Demand(Mode.POSITION, np.asarray(positions)))
            self.clock.sleep(self.driver.period - (self.clock.now() - begin))
        self.wire.run()
        return feedback

    @property
    def angles(self):
        self.wire.run()
        return self.device.state()["angles"]


def started(**options):
    world = World(**options)
    world.driver.open()
    world.driver.start()
    return world


# --- what it is -------------------------------------------------------------------------------------------------------
def test_its_joints_and_limits_are_those_of_the_map_and_the_servo():
    driver = World().driver
    assert set(driver.joints) == set(HOME)
    knee = next(limit for limit in driver.limits if limit.name == "left_knee")
    assert (knee.lower, knee.upper) == pytest.approx((-math.pi / 2, math.pi / 2))
    assert knee.velocity == pytest.approx(6.16, abs=2e-3)  # 0.17 s per 60 deg
    assert driver.modes == {Mode.POSITION}
    assert driver.device_timeout == math.inf


def test_a_fixed_speed_limits_the_velocity():
    limits = World(speed=7).driver.limits
    assert [limit.velocity for limit in limits] == pytest.approx([math.radians(1 / 0.0178)] * 17)


@pytest.mark.parametrize(
    ("settings", "period"),
    [
        ({}, 0.05),  # 6.1 ms of bytes and four times 8 ms of the port
        ({"latency": 0.0}, 0.025),  # 40 Hz is the most that is planned with
        ({"latency": 0.001}, 0.025),
        ({"latency": 0.016}, 0.09),
        ({"feedback": "commanded"}, 0.025),
        ({"period": 0.2}, 0.2),
    ],
)
def test_the_period_is_what_the_line_needs(settings, period):
    assert World(**settings).driver.period == pytest.approx(period)


# --- open, start, stop ------------------------------------------------------------------------------------------------
def test_nothing_moves_until_it_is_commanded():
    world = World()
    world.driver.open()
    before = world.device.state()["targets"]
    feedback = world.driver.idle()
    assert feedback.is_fresh
    assert not feedback.is_driven
    assert dict(zip(world.driver.joints, feedback.position, strict=True)) == pytest.approx(HOME)
    assert np.isnan(feedback.velocity).all()
    assert np.isnan(feedback.effort).all()
    world.driver.start()
    assert world.driver.idle().is_driven
    assert world.device.state()["targets"] == before
    assert world.device.violations == []


def test_commands_turn_the_servos_through_the_map():
    world = started()
    q = np.array([HOME[joint] for joint in world.driver.joints])
    names = list(world.driver.joints)
    q[names.index("neck_yaw")] += math.radians(10)
    q[names.index("left_knee")] += math.radians(12)
    q[names.index("right_knee")] += math.radians(12)
    feedback = world.run(q, 10)
    assert world.angles["neck_yaw"] == pytest.approx(80)  # sign -1, zero 90
    assert world.angles["left_knee"] == pytest.approx(127)  # sign 1, from home 115
    assert world.angles["right_knee"] == pytest.approx(53)  # mirrored, from home 65
    np.testing.assert_allclose(feedback.position, q, atol=math.radians(0.5) + 1e-9)  # whole degrees
    assert feedback.is_driven
    assert feedback.is_fresh
    assert world.device.violations == []


def test_servos_turn_evenly_at_a_steady_velocity():
    world = started()
    q = np.array([HOME[joint] for joint in world.driver.joints])
    at, seen = list(world.driver.joints).index("neck_yaw"), []
    for _ in range(20):
        q[at] += math.radians(2.0)
        world.run(q, 1)
        seen.append(world.angles["neck_yaw"])
    steps = np.diff(seen)[2:]
    np.testing.assert_allclose(steps, -2.0, atol=0.3)  # of two degrees each; the board turns them into one motion
    assert world.device.violations == []


def test_stop_holds_where_servos_are_while_they_still_turn():
    world = started(speed=7)
    q = np.array([HOME[joint] for joint in world.driver.joints])
    at = list(world.driver.joints).index("neck_yaw")
    q[at] += math.radians(60)
    world.run(q, 2)
    world.driver.stop()
    held = world.angles["neck_yaw"]
    assert 60 < held < 88  # on its way from 90 to 30
    world.clock.sleep(3.0)
    assert world.angles["neck_yaw"] == pytest.approx(held, abs=1.5)
    assert world.device.violations == []


def test_stop_sends_nothing_before_it_was_started_and_never_raises():
    world = World()
    world.driver.stop()
    world.driver.open()
    sent = world.driver.counts.sent
    world.driver.stop()
    assert world.driver.counts.sent == sent
    world.driver.start()
    world.wire.fault("disconnect", 1)
    world.driver.stop()


def test_what_servos_give_way_under_load_does_not_add_up_over_restarts():
    world = started()
    servo = world.device.boards[1].servos[2]
    target = servo.target
    for _ in range(20):
        servo.at = lambda now: target - 3.0  # it stands 3 deg off its target
        world.driver.stop()
        world.driver.start()
    assert servo.target == target


def test_a_servo_outside_of_its_limits_stops_the_start():
    world = World()
    world.device.boards[1].servos[10].go(60.0, 0.0, 0.0)  # right_ankle_roll: 70 to 180
    world.driver.open()
    with pytest.raises(DeviceAlarm, match=r"right_ankle_roll \(channel 23\) stands at 60 deg .* 70 to 180"):
        world.driver.start()


def test_a_board_that_sleeps_is_not_woken_by_itself():
    world = World()
    world.device.boards[0].switches |= SLEEP
    world.driver.open()
    with pytest.raises(DeviceAlarm, match=r"board 0 sleeps .*wake"):
        world.driver.start()
    with pytest.raises(Refused, match="hold the robot"):
        world.driver.wake()
    world.driver.wake(confirm=True)
    world.driver.start()
    assert world.device.violations == []


def test_channels_that_the_map_leaves_out_keep_what_the_board_has(tmp_path):
    lines = [line for line in MAP.read_text().splitlines() if "neck_yaw" not in line]
    path = tmp_path / "map.yaml"
    path.write_text("\n".join(lines))
    world = World(angle_map=str(path), robot="")
    world.driver.open()
    world.driver.start()
    assert world.device.boards[0].servos[5].target == 90.0
    assert world.device.boards[0].home[3] == LOW
    assert world.device.violations == []


# --- the wire ---------------------------------------------------------------------------------------------------------
def test_dtr_is_low(monkeypatch):
    opened = []

    def remember(device, url, serial, **_):
        opened.append((device, url, serial))
        raise TransportError("enough")

    monkeypatch.setattr("ada_hardware.kondo.servo_driver.open_device_stream", remember)
    with pytest.raises(TransportError):
        Rcb1Driver(Rcb1Settings(url="/dev/ttyUSB0")).open()
    device, url, serial = opened[0]
    assert (device, url, serial.baud, serial.parity, serial.dtr) == ("khr1", "/dev/ttyUSB0", 115200, "N", False)


def test_a_late_answer_is_not_taken_for_that_of_the_next_question():
    world = World()
    bus = Rcb1Bus(world.wire, retries=0, clock=world.clock.now)
    world.device.fault("late", 0.045)  # after its time-out, and into the next question
    with pytest.raises(NoAnswer):
        bus.ask(Code.GET_HOME, 0)
    world.clock.sleep(0.1)
    world.device.fault("late", 0)
    assert bus.ask(Code.GET_POSITIONS, 0).code is Code.GET_POSITIONS
    world.device.fault("late", 0.045)
    with pytest.raises(NoAnswer):
        bus.ask(Code.GET_FRAME_COUNT, 0, (0,))
    world.device.fault("late", 0)
    answer = bus.ask(Code.GET_HOME, 1)  # while the late one of board 0 is still to come
    assert answer.values == world.device.boards[1].home


def test_the_boards_on_a_line_are_found():
    world = World(emulator={"first_id": 7, "second_id": 30})
    assert Rcb1Bus(world.wire, clock=world.clock.now).boards() == [7, 30]
    assert world.device.violations == []


def test_questions_are_asked_again_and_counted():
    world = World()
    world.driver.open()
    sent = world.driver.counts.sent
    world.device.fault("bad_checksum", 2)
    for _ in range(10):
        world.driver.home_position()
    counts = world.driver.counts
    assert counts.retries > 0
    assert counts.sent - sent == 20 + counts.retries
    assert counts.refused == counts.retries


def test_a_cycle_asks_once_and_tells_that_nothing_came():
    world = started()
    q = world.driver.idle().position
    world.wire.fault("silence", 1)
    sent, begin = world.driver.counts.sent, world.clock.now()
    feedback = world.driver.cycle(Demand(Mode.POSITION, q))
    assert not feedback.is_fresh
    np.testing.assert_array_equal(feedback.position, q)
    assert world.driver.counts.sent - sent == 2  # who is silent is not asked where its servos are
    assert world.clock.now() - begin < 0.07
    assert not world.driver.idle().is_fresh
    world.wire.fault("silence", 0)
    assert world.run(q, 2).is_fresh


def test_a_reading_that_no_servo_can_have_reached_is_put_aside():
    world = started()
    servo = world.device.boards[1].servos[1]  # left_hip_pitch
    q = world.driver.idle().position
    servo.at = lambda now: 20.0  # from 115: 95 deg in one cycle
    feedback = world.run(q, 1)
    assert not feedback.is_fresh
    np.testing.assert_array_equal(feedback.position, q)
    assert "servos cannot be there" in world.driver.counts.last_problem
    assert world.run(q, 1).is_fresh  # told twice in a row, it is believed


# Of what reaches the boards, damage is left out: seven bits of checksum let through one of 128 damaged commands, and no
# host can do anything about that.
@pytest.mark.parametrize(
    ("fault", "value"),
    [
        ("drop", 0.1),
        ("corrupt_answers", 0.01),
        ("half", 0.2),
        ("noise_answers", 2000),
        ("duplicate_answers", 0.3),
        ("reorder_answers", 0.2),
        ("jitter", 0.015),
    ],
)
def test_on_a_disturbed_line_a_fresh_position_is_where_the_servo_is_and_nothing_else_moves(fault, value):
    world = started()
    q = np.array([HOME[joint] for joint in world.driver.joints])
    at = list(world.driver.joints).index("neck_yaw")
    world.wire.fault(fault, value)
    fresh = 0
    for i in range(200):
        q[at] = 0.5 * math.sin(0.05 * i)
        feedback = world.driver.cycle(Demand(Mode.POSITION, q))
        if feedback.is_fresh:
            fresh += 1
            servos = world.angles
            there = [servos[joint] for joint in world.driver.joints]
            # whole degrees, and what a servo turns in the 60 ms that an answer may take
            np.testing.assert_allclose(world.driver.map.angles(feedback.position), there, atol=0.5 + 4.0)
        world.clock.sleep(0.02)
    world.driver.stop()
    assert fresh > 20
    assert world.device.violations == []


def test_positions_as_commanded_need_no_readings():
    world = started(feedback="commanded")
    assert world.driver.period == 0.025
    q = world.driver.idle().position
    q[3] += 0.1
    sent = world.driver.counts.sent
    feedback = world.run(q, 1)
    assert world.driver.counts.sent - sent == 2
    np.testing.assert_allclose(feedback.position, q)
    assert feedback.is_fresh


# --- beside cycles ----------------------------------------------------------------------------------------------------
def test_home_is_what_the_boards_store():
    world = started()
    home = dict(zip(world.driver.joints, world.driver.home_position(), strict=True))
    assert home == pytest.approx(HOME)


def test_servos_are_let_go_only_where_that_is_confirmed_and_nothing_follows_commands():
    world = World(emulator={"free_is_allowed": True})
    world.driver.open()
    with pytest.raises(Refused, match=r"release\(confirm=True\)"):
        world.driver.release()
    world.driver.start()
    with pytest.raises(Refused, match=r"stop\(\) first"):
        world.driver.release(confirm=True)
    world.driver.stop()
    assert world.device.state()["free"] == []
    world.driver.release(confirm=True)
    assert len(world.device.state()["free"]) == 17


def test_an_id_is_set_only_with_one_board_on_the_line():
    world = World(emulator={"first_id": 5, "second_id": 5}, first_id=5)
    world.driver._bus = Rcb1Bus(world.wire, clock=world.clock.now)
    with pytest.raises(Refused, match="alone=True"):
        world.driver.set_id(3)
    world.driver.set_id(3, alone=True)
    assert world.device.boards[0].id == 3
    assert world.device.violations == []


# --- refusals ---------------------------------------------------------------------------------------------------------
def test_a_silent_robot_is_told_with_what_to_look_at():
    world = World(faults={"silence": 1})
    with pytest.raises(NoAnswer, match=r"GET_HOME .0xfa. of board 0 in 5 tries of 30 ms \(silence\).* cable in"):
        world.driver.open()
    with pytest.raises(Refused, match="not open"):
        world.driver.idle()


def test_a_board_with_another_id_is_found():
    with pytest.raises(NoAnswer, match=r"A board with ID [34] does answer: set first_id"):
        World(faults={"wrong_id": 3}).driver.open()
    with pytest.raises(NoAnswer, match=r"board 1 .*The board with ID 0 does answer"):
        World(faults={"silent_board": 2}).driver.open()


def test_settings_that_cannot_be_are_refused():
    with pytest.raises(InputError, match="both 1; boards on one line need different IDs"):
        Rcb1Settings(first_id=1)
    with pytest.raises(InputError, match="period"):
        checked(Rcb1Settings, {"period": -1.0})
    with pytest.raises(TransportError, match=r"url is not set.*/dev/ttyUSB0"):
        Rcb1Driver(Rcb1Settings()).open()
    with pytest.raises(InputError, match="nobody"):
        Rcb1Driver(Rcb1Settings(robot="nobody"))


def test_only_positions_are_taken():
    world = started()
    with pytest.raises(Refused, match="positions only, not velocity"):
        world.driver.cycle(Demand(Mode.VELOCITY, np.zeros(17)))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("max: 180", "max: 181", r"line 19: map.servos.0.max: it is 181; servos of an RCB-1 go from 0 to 180 deg"),
        ("left_knee", "left_nee", r"robot has no joint 'left_nee'. Did you mean 'left_knee'"),
        ("  - {channel: 15, joint: left_knee", "  # - {channel: 15, joint: left_knee", "no servo turns 'left_knee'"),
        (
            "channel: 2,",
            "channel: 1,",
            "line 20: .*channel 1 is there twice, for left_shoulder_pitch and left",
        ),
        ("channel: 2, ", "", "line 20: map.servos.1.channel: it is missing"),
        ("channel: 2,", "channel: 2.5,", "it is 2.5; it must be a whole number from 1 to 24"),
    ],
)
def test_a_map_that_does_not_fit_the_robot_is_refused_by_line_and_key(tmp_path, old, new, message):
    text = MAP.read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "map.yaml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(MotionError, match=message):
        Rcb1Driver(Rcb1Settings(angle_map=str(path)))


# --- real wires -------------------------------------------------------------------------------------------------------
def test_a_dry_run_goes_through_all_bytes_and_opens_no_port():
    driver = Rcb1Driver(Rcb1Settings(url="dry:"))
    driver.open()
    driver.start()
    feedback = driver.cycle(Demand(Mode.POSITION, driver.idle().position))
    assert feedback.is_fresh
    driver.stop()
    driver.close()
    driver.close()


def test_it_drives_an_emulator_behind_a_pseudo_terminal():
    with EmulatorProcess("khr1") as device:
        driver = Rcb1Driver(Rcb1Settings(url=device.url))
        driver.open()
        driver.start()
        q = driver.idle().position
        q[list(driver.joints).index("neck_yaw")] += math.radians(10)
        fresh = sum(driver.cycle(Demand(Mode.POSITION, q)).is_fresh for _ in range(20))
        driver.stop()
        state, violations = device.state(), device.violations()
        assert fresh >= 15  # the machine may be busy
        assert state["targets"]["neck_yaw"] == 80
        assert violations == []
        device.fault("disconnect", 1)
        with pytest.raises(TransportError):
            for _ in range(100):
                driver.idle()
        driver.close()
