# SPDX-License-Identifier: Apache-2.0
"""Drivers of KHR-1 and KHR-3HV with their emulators: no jumps, only motion that was asked for, refusals."""

import math
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kondo_world import DEGREE, QUICK, KondoWorld
from refused import refused

from ada_dynamics import resources
from ada_hardware.kondo.angle_map import AngleMap, MotionError
from ada_hardware.kondo.rcb1.codec import SLEEP, Rcb1Code, Rcb1Command
from ada_hardware.kondo.rcb1.driver import Rcb1Bus
from ada_hardware.kondo.rcb4.codec import Config
from ada_hardware.plausibility import PlausibilityCheck
from ada_hardware.registry import find
from ada_robot.contract import Demand, Mode
from ada_robot.driver import LinkCounts
from ada_robot.errors import DeviceAlarm, NoAnswer, Refused
from ada_robot.settings import checked

MAPS = {name: resources.find("config", f"{name}_angle_map.yaml") for name in ("khr1", "khr3")}
HOME = {one.joint: one.position(one.home) for one in AngleMap.read(MAPS["khr1"]).servos.values()}
BOTH = pytest.mark.parametrize("name", list(MAPS))


def quick(name, **options):
    return KondoWorld(name, **{**QUICK[name], **options})


def made(name, **settings):
    make = find(name).driver_class()
    return make(checked(make.SETTINGS, settings))


@pytest.mark.parametrize(("name", "device"), [("khr1", {}), ("khr3", {"trim": 123})])
def test_nothing_moves_until_it_is_commanded_even_with_trims(name, device):
    world = KondoWorld(name, device=device)
    world.driver.open()
    before = world.device.state()["targets"]
    feedback = world.driver.idle()
    assert (feedback.is_fresh, feedback.is_driven) == (True, False)
    home = HOME if name == "khr1" else dict.fromkeys(HOME, 0.0)  # a trim is none of the joint's business
    assert dict(zip(world.driver.joints, feedback.position, strict=True)) == pytest.approx(home, abs=1e-12)
    assert np.isnan([feedback.velocity, feedback.effort]).all()
    world.driver.start()
    assert world.driver.idle().is_driven
    assert world.device.state()["targets"] == before
    assert world.device.violations == []


@BOTH
def test_commands_turn_the_servos_through_the_map(name):
    world = quick(name).started()
    before = world.angles
    q = world.turned(neck_yaw=10, left_knee=12, right_knee=12)
    feedback = world.run(q, 30)
    ways = {joint: world.angles[joint] - before[joint] for joint in ("neck_yaw", "left_knee", "right_knee")}
    neck = -10 if name == "khr1" else 10
    assert ways == pytest.approx({"neck_yaw": neck, "left_knee": 12, "right_knee": -12}, abs=0.02)  # one is mirrored
    np.testing.assert_allclose(feedback.position, q, atol=math.radians(0.5 / DEGREE[name]) + 1e-9)
    assert feedback.is_fresh and feedback.is_driven
    if name == "khr3":
        assert feedback.values["battery [V]"] == pytest.approx(11.1, abs=5 / 1024 * 4.9)
    assert world.device.violations == []


@pytest.mark.parametrize(("name", "stopped", "started"), [("khr1", 1.5, 1.5), ("khr3", 1e-6, 1 / DEGREE["khr3"])])
def test_stop_holds_where_servos_are_while_they_still_turn(name, stopped, started):
    world = quick(name, device={"max_step": 0}).started()
    if name == "khr1":
        world.wire.fault("battery_low", 0.8)  # its servos turn at a fifth of their speed
    before = world.angles["neck_yaw"]
    world.driver.cycle(Demand(Mode.POSITION, world.turned(neck_yaw=60)))
    world.clock.sleep(0.05)
    world.driver.stop()
    held = world.angles["neck_yaw"]
    assert 2 < abs(held - before) < 59
    world.clock.sleep(3.0)
    assert world.angles["neck_yaw"] == pytest.approx(held, abs=stopped)
    world.driver.start()
    world.clock.sleep(3.0)
    assert world.angles["neck_yaw"] == pytest.approx(held, abs=started)
    assert world.device.violations == []


@BOTH
def test_stop_sends_nothing_before_it_was_started_and_never_raises(name):
    world = KondoWorld(name)
    world.driver.stop()
    world.driver.open()
    sent = world.driver.counts.sent
    world.driver.stop()
    assert world.driver.counts.sent == sent
    world.driver.start()
    world.wire.fault("disconnect", 1)
    world.driver.stop()


@BOTH
def test_what_servos_give_way_under_load_does_not_add_up_over_restarts(name):
    world = KondoWorld(name).started()
    target = world.knee.target
    for _ in range(20):
        world.knee.at = lambda now: target - 2.7 * DEGREE[name]
        world.driver.stop()
        world.driver.start()
    assert world.knee.target == target


def test_a_servo_outside_of_its_limits_stops_the_start():
    khr1, khr3 = KondoWorld("khr1"), KondoWorld("khr3")
    khr1.device.boards[1].servos[10].go(60.0, 0.0, 0.0)
    khr3.device.servos[12].go(7500 - 40 * DEGREE["khr3"], 0.0, 0.0)
    for world, joint, angle, allowed in (
        (khr1, "right_ankle_roll", 60.0, (70.0, 180.0)),
        (khr3, "left_hip_roll", -40.0, (-30.0, 60.0)),
    ):
        world.driver.open()
        with refused(DeviceAlarm, joint=joint, allowed=allowed) as caught:
            world.driver.start()
        assert caught.value.value == pytest.approx(angle, abs=0.02)


def test_a_board_that_sleeps_is_not_woken_by_itself():
    world = KondoWorld("khr1")
    world.device.boards[0].switches |= SLEEP
    world.driver.open()
    with refused(DeviceAlarm, field="board", value=0):
        world.driver.start()
    with refused(Refused, field="confirm"):
        world.driver.wake()
    world.driver.wake(confirm=True)
    world.driver.start()
    assert world.device.violations == []


def test_the_program_of_an_rcb4_is_stopped_while_the_host_commands_and_stays_stopped():
    world = KondoWorld("khr3")

    def runs():
        config = world.device.state()["config"]
        assert config & Config.ICS
        return bool(config & Config.RUN_PROGRAM)

    world.driver.open()
    assert runs()
    world.driver.start()
    assert not runs()
    world.driver.stop()
    assert not runs()


def test_a_low_supply_is_an_alarm_and_stops_the_start_and_a_single_low_reading_is_none():
    world = KondoWorld("khr3", battery_interval=0.1).started()
    for _ in range(2):
        world.device.fault("battery_low", 2.5)
        world.clock.sleep(0.1)
        assert world.driver.idle().alarms == ()
        world.device.fault("battery_low", 0.0)
        world.clock.sleep(0.1)
        assert world.driver.idle().alarms == ()
    world.device.fault("battery_low", 2.5)
    feedback = world.run(np.zeros(17), 6)
    assert feedback.values["battery [V]"] == pytest.approx(8.6, abs=0.03)
    assert len(feedback.alarms) == 1
    world.driver.stop()
    for call in (world.driver.start, world.driver.reset):
        with refused(DeviceAlarm, field="battery [V]", allowed=9.0):
            call()
    world.device.fault("battery_low", 0)
    world.driver.reset()
    assert world.driver.idle().alarms == ()
    assert KondoWorld("khr3", battery_low=0.0, device={"battery": 5.0}).started().driver.idle().alarms == ()


def test_a_late_answer_is_not_taken_for_that_of_the_next_question():
    world, code = KondoWorld("khr1"), Rcb1Code
    ask = partial(Rcb1Bus(world.wire, 0.03, LinkCounts(), world.clock.now).ask, retries=0)
    world.device.fault("late", 0.045)  # after its time-out, and into the next question
    with pytest.raises(NoAnswer):
        ask(Rcb1Command(code.GET_HOME, 0))
    world.clock.sleep(0.1)
    world.device.fault("late", 0)
    assert ask(Rcb1Command(code.GET_POSITIONS, 0)).code is code.GET_POSITIONS
    world.device.fault("late", 0.045)
    with pytest.raises(NoAnswer):
        ask(Rcb1Command(code.GET_SWITCHES, 0))
    world.device.fault("late", 0)
    answer = ask(Rcb1Command(code.GET_HOME, 1))  # while the late one of board 0 is still to come
    assert answer.values == world.device.boards[1].home


@BOTH
def test_a_reading_that_no_servo_can_have_reached_is_put_aside(name):
    world = quick(name).started()
    q, target = world.turned(), world.knee.target
    world.knee.at = lambda now: target - 90 * DEGREE[name]
    feedback = world.run(q)
    assert not feedback.is_fresh
    np.testing.assert_allclose(feedback.position, q, atol=1e-12)
    assert "implausible servo angles" in world.driver.counts.last_problem
    assert world.run(q).is_fresh  # told twice in a row, it is believed


@BOTH
def test_exchanges_with_long_gaps_are_reported_as_such_and_not_as_jumps(name):
    world = quick(name).started()
    q = world.turned()
    for _ in range(4):
        world.clock.sleep(0.3)
        feedback = world.run(q)
    assert not feedback.is_fresh
    (alarm,) = feedback.alarms
    assert "s after the last accepted ones; 0.25 s are allowed" in alarm.text


# Of what reaches the boards of the KHR-1, damage is left out: seven bits of checksum let through one of 128 damaged
# commands, and no host can do anything about that.
@pytest.mark.parametrize(("name", "faults"), [
    ("khr1", {"drop": 0.1, "corrupt_answers": 0.01, "half": 0.2, "duplicate_answers": 0.3,
              "reorder_answers": 0.2, "jitter": 0.015}),
    ("khr3", {"drop": 0.1, "corrupt": 0.0003, "half": 0.1, "duplicate": 0.3, "reorder_answers": 0.2,
              "jitter": 0.01}),
])  # fmt: skip
def test_on_a_disturbed_line_a_fresh_position_is_where_the_servo_is_and_nothing_else_moves(name, faults):
    for fault, value in faults.items():
        world = quick(name).started()
        q, fresh = world.turned(), 0
        at = world.driver.joints.index("neck_yaw")
        world.wire.fault(fault, value)
        for i in range(100):
            q[at] = 0.5 * math.sin(0.05 * i)
            feedback = world.driver.cycle(Demand(Mode.POSITION, q))
            if feedback.is_fresh:
                fresh += 1
                servos = world.angles
                there = [servos[joint] for joint in world.driver.joints]
                # half a count, and what a servo turns in the 60 ms that an answer may take
                atol = 0.5 / DEGREE[name] + 4.0
                np.testing.assert_allclose(world.driver.map.angles(feedback.position), there, atol=atol)
            world.clock.sleep(0.02)
        world.driver.stop()
        assert fresh > 20 and world.device.violations == [], fault


def test_a_refusal_of_the_board_is_an_alarm_and_its_restart_leaves_the_robot_undriven():
    world = KondoWorld("khr3")
    world.driver.open()
    world.device.fault("nack", 1)
    with refused(DeviceAlarm, field="command", value="ACK_CHECK"):
        world.driver.reset()
    world.device.fault("nack", 0)
    world.driver.start()
    world.device.fault("nack", 1)
    assert not world.run(np.zeros(17)).is_fresh
    world.device.fault("nack", 0)
    assert world.run(np.zeros(17), 2).is_fresh
    world.device.fault("reboot", 0.2)
    assert not world.run(np.zeros(17)).is_fresh
    world.clock.sleep(0.5)
    world.driver.idle()
    feedback = world.driver.idle()
    assert (feedback.is_fresh, feedback.is_driven) == (True, False)


@BOTH
def test_servos_are_let_go_only_where_that_is_confirmed_and_nothing_follows_commands(name):
    world = KondoWorld(name, device={"free_is_allowed": True}).started()
    for options, field in (({}, "confirm"), ({"confirm": True}, "state")):
        with refused(Refused, field=field):
            world.driver.release(**options)
    world.driver.stop()
    assert world.device.state()["free"] == []
    world.driver.release(confirm=True)
    assert len(world.device.state()["free"]) == 17
    world.driver.start()
    assert world.device.state()["free"] == []
    assert world.device.violations == []


@pytest.mark.parametrize(
    ("name", "faults", "field", "value", "answers"),
    [
        ("khr1", {"silence": 1}, "board", 0, (None,)),
        ("khr1", {"silent_board": 2}, "board", 1, (0,)),
        ("khr1", {"wrong_id": 3}, "board", 0, (3, 4)),
        ("khr3", {"silence": 1}, "command", "ACK_CHECK (0xfe)", (None,)),
        ("khr3", {"wrong_speed": 1}, "command", "ACK_CHECK (0xfe)", (None,)),
    ],
)
def test_the_error_of_a_silent_robot_names_the_board_or_the_command_and_an_id_that_answers(
    name, faults, field, value, answers
):
    world = KondoWorld(name, faults=faults)
    with refused(NoAnswer, field=field, value=value) as caught:
        world.driver.open()
    assert caught.value.allowed in answers
    with refused(Refused, field="state", value="closed"):
        world.driver.idle()


def test_a_map_that_does_not_fit_the_robot_is_refused_by_line_and_key(tmp_path):
    for name, old, new, facts in (
        ("khr1", "max: 180", "max: 181", {"line": 19, "field": "map.servos.0.max"}),
        ("khr1", "left_knee", "left_nee", {"field": "map.servos.9.joint"}),
        ("khr1", "  - {channel: 15, joint: left_knee", "  # - {channel: 15", {"joint": "left_knee"}),
        ("khr1", "channel: 2,", "channel: 1,", {"line": 20, "field": "map.servos.1.channel"}),
        ("khr1", "channel: 2, ", "", {"line": 20, "field": "map.servos.1.channel"}),
        ("khr1", "channel: 2,", "channel: 2.5,", {"field": "map.servos.1.channel"}),
        ("khr3", "id: 0,", "id: 18,", {"field": "map.servos.0.id"}),
        ("khr3", "sio: 1,", "sio: 3,", {"field": "map.servos.0.sio"}),
        ("khr3", "id: 2, sio: 1", "id: 1, sio: 1", {"field": "map.servos.2.id"}),
        ("khr3", "min: -90", "min: -136", {"field": "map.servos.0.min"}),
        ("khr3", "id: 0,", "channel: 1,", {"field": "map.servos.0", "value": "channel"}),
        ("khr3", "  - {id: 8, sio: 2", "  # - {id: 8", {"joint": "right_knee"}),
    ):
        text = MAPS[name].read_text(encoding="utf-8")
        assert old in text
        path = tmp_path / "map.yaml"
        path.write_text(text.replace(old, new, 1), encoding="utf-8")
        with refused(MotionError, file=str(path), **facts):
            made(name, angle_map=str(path), robot="khr1")


def test_the_first_reading_and_one_after_a_pause_are_believed_when_a_second_one_agrees():
    readings = PlausibilityCheck(speed=100.0, slack=5.0, longest=0.25)
    assert not readings.take(np.array([90.0, 10.0]), 0.0)
    assert readings.accepted is None
    assert not readings.take(np.array([90.0, 138.0]), 0.05)  # 128: a flipped bit
    assert not readings.take(np.array([90.0, 10.0]), 0.10)  # which of the two was wrong is not known
    assert readings.take(np.array([91.0, 9.0]), 0.15)
    np.testing.assert_array_equal(readings.accepted, [91.0, 9.0])
    assert not readings.take(np.array([91.0, 9.0]), 1.0)
    assert readings.take(np.array([91.0, 9.0]), 1.05)
    readings.forget()
    assert not readings.take(np.array([91.0, 9.0]), 1.1)


@given(st.lists(st.floats(-300.0, 300.0), min_size=2, max_size=50), st.integers(0, 1 << 50))
def test_flips_that_come_one_at_a_time_are_never_believed(speeds, where):
    readings, angle, was_flipped = PlausibilityCheck(speed=300.0, slack=5.0, longest=0.25), 90.0, True
    for i, speed in enumerate([0.0, 0.0, *speeds]):
        angle += speed * 0.05
        is_reversed = not was_flipped and i > 1 and bool(where >> (i % 50) & 1)
        told = angle + (128.0 if is_reversed else 0.0)
        is_believed = readings.take(np.array([told]), 0.05 * i)
        assert not (is_reversed and is_believed)
        was_flipped = is_reversed
    if readings.accepted is not None:
        assert abs(readings.accepted[0] - angle) <= 300.0 * 0.05 + 1e-9


@pytest.mark.parametrize("com_speed", [115_200, 1_250_000])
def test_no_new_position_is_sent_later_than_a_quarter_of_a_second_after_the_first_missing_answer(com_speed):
    world = KondoWorld("khr3", com_speed=com_speed).started()
    q, sent, alarms = world.turned(), [], ()
    world.tap.on_send = lambda data: sent.append((world.clock.now(), data))
    world.wire.fault("silence", 1)
    while not alarms and world.clock.now() < 10.0:
        q[0] += 0.01
        feedback = world.run(q)
        alarms = feedback.alarms
    assert not feedback.is_fresh
    assert len(alarms) == 1
    moves = [(at, frame[8:]) for at, frame in sent if frame[1] == 0x10]  # length, command, five of mask, frames
    changes = [at for (_, before), (at, after) in pairwise(moves) if before[:-1] != after[:-1]]
    assert len(changes) > 1
    assert max(changes) - sent[0][0] <= 0.25
    before = world.clock.now()
    world.driver.stop()
    assert world.clock.now() - before < 0.1  # who is silent is not asked again and again
