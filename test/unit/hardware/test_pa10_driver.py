# SPDX-License-Identifier: Apache-2.0
"""The driver of the PA-10 against its emulator, in lock step: sequences on the wire, modes, troubles, refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from pa10_in_lock_step import LockStep
from refused import refused
from tiers import nightly

from ada_dynamics.errors import InputError
from ada_hardware.pa10.cyclic import (
    ANGLE_COUNT,
    SPEED_COUNT,
    AxisResponse,
    CyclicResponse,
    decode_command,
    encode_response,
)
from ada_hardware.pa10.driver import Pa10Driver
from ada_hardware.pa10.packets import HOST, Packet, PacketParser, PacketType
from ada_hardware.pa10.settings import Pa10Settings
from ada_hardware.pa10.translation import Translation
from ada_hardware.pa10.variants import arm as describe_arm
from ada_hardware.pa10.variants import variant
from ada_robot.contract import Demand, Mode
from ada_robot.errors import DeviceAlarm, NoAnswer, Refused, TransportError
from ada_robot.settings import checked

VARIANTS = pytest.mark.parametrize("name", ["ce", "7c"])
STILL = np.zeros(7)
# docs/pa10_hardware.md: servo on, stop together; the dead-man switch is in the modes of a 7c, in the last word of a ce
SERVO_ON = {"ce": 0x12, "7c": 0x1A}


def arm(name: str = "ce", faults=None, axes: int = 7, **values: object) -> LockStep:
    return LockStep(faults=faults, device=values, variant=name, axes=axes)


def packets(step: LockStep, name: str = "ce") -> list[Packet]:
    parser = PacketParser(variant(name), HOST)
    found = [packet for data in step.tap.sent for packet in parser.feed(data)]
    assert len(found) == len(step.tap.sent)
    return found


def types(step: LockStep, name: str = "ce") -> str:
    return "".join(chr(packet.type) for packet in packets(step, name))


@VARIANTS
def test_opening_looks_for_the_arm_and_moves_nothing(name):
    step = arm(name)
    sent = packets(step, name)
    assert types(step, name) == "ESCE" + "SC"  # the first idle begins the control again
    for packet in sent:
        if packet.type is PacketType.CYCLE:
            command = decode_command(packet.payload, variant(name))
            assert set(command.axes) == {(0x01, 0, 0)}
    assert step.violations == []


@VARIANTS
def test_the_start_is_a_for_each_axis_s_brakes_servos(name):
    step = arm(name)
    step.idle(3)
    step.tap.sent.clear()
    step.driver.start()
    assert types(step, name).startswith("C" + "A" * 7 + "S" + "CCC" + "C")
    sent = packets(step, name)
    assert [packet.payload for packet in sent[1:8]] == [bytes((0, axis)) for axis in range(1, 8)]
    modes = [
        {axis.mode for axis in decode_command(packet.payload, variant(name)).axes}
        for packet in sent
        if packet.type is PacketType.CYCLE
    ]
    assert modes[:4] == [{0x01}] * 4
    assert modes[4:] == [{SERVO_ON[name]}] * (len(modes) - 4)
    told = {axis[1:] for packet in sent[9:] for axis in decode_command(packet.payload, variant(name)).axes}
    assert told == {(0, 0)}
    assert step.violations == []


@VARIANTS
def test_the_stop_is_speed_0_brakes_e(name):
    step = arm(name)
    step.start()
    for speed in np.arange(0.0, 0.21, 0.02):
        step.cycle(Mode.VELOCITY, STILL + speed)
    for speed in np.arange(0.2, -0.01, -0.02):
        step.cycle(Mode.VELOCITY, STILL + speed)
    step.tap.sent.clear()
    step.driver.stop()
    assert types(step, name).endswith("CCE")
    modes = [decode_command(packet.payload, variant(name)).axes[0].mode for packet in packets(step, name)[:-1]]
    assert modes == [SERVO_ON[name]] * (len(modes) - 1) + [0x01]
    assert step.violations == []
    assert step.device.state()["mode"] == "stopped"


@VARIANTS
def test_feedback_is_what_the_arm_does_in_si_units(name):
    start = [0.1, 0.2, -0.3, 0.4, -0.5, 0.6, -0.7]
    step = arm(name, start=start, speed_time_constant=0.0)
    feedback = step.idle()
    assert feedback.position == pytest.approx(start, abs=0.51 * ANGLE_COUNT)
    assert feedback.is_fresh
    assert not feedback.is_driven
    assert feedback.alarms == ()
    assert feedback.values["emergency stop released"] == 1.0
    step.start()
    speeds = np.array([0.02, -0.02, 0.04, -0.04, 0.04, 0.1, -0.1])
    feedback = step.cycle(Mode.VELOCITY, speeds, cycles=10)
    assert feedback.is_driven
    # an old 7C does not tell speeds: they come from angles, a count at each end of 8 ms
    assert feedback.velocity == pytest.approx(speeds, abs=SPEED_COUNT if name == "ce" else 2 * ANGLE_COUNT / 0.008)


def test_an_answer_that_is_read_late_makes_a_speed_wrong_by_half_of_that():
    speed, period, late = 1.0, 0.006, 0.005
    settings = Pa10Settings(variant="7c")
    translation = Translation(settings, describe_arm("7c", settings.axes))
    found = []
    for k in range(12):
        angle = round(speed * k * period / ANGLE_COUNT)
        axes = tuple(AxisResponse(status=0, angle=angle) for _ in range(7))
        took = late if k % 5 == 0 else 0.0
        payload = encode_response(CyclicResponse(axes), variant("7c"))
        found.append(translation.state_of(payload, k * period + took, took).velocity[0])
    of_a_window = [abs(velocity - speed) for velocity in found[4:]]
    bound = speed * 0.5 * late / (4 * period - 0.5 * late) + 2 * ANGLE_COUNT / (4 * period)
    assert 0.5 * bound < max(of_a_window) < bound


@pytest.mark.parametrize("every", [1, nightly(5), 10])
def test_moving_positions_are_followed_whatever_the_pace_at_which_they_come(every):
    step = arm()
    step.start()
    begin = step.feedback.position.copy()
    speed, errors = 0.2, []
    for k in range(1000):
        t = (k // every) * every * 0.002
        # begins and goes on smoothly: the speed is reached within 0.2 s
        way = speed * (t - 0.1 * (1.0 - math.exp(-t / 0.1)))
        step.cycle(Mode.POSITION, begin + way)
        if k > 500:
            errors.append(np.abs(step.feedback.position - begin - way).max())
    assert max(errors) < speed * (0.004 + 0.005 + 1.5 * every * 0.002)
    assert step.violations == []


def test_a_6ce_has_six_joints_and_leaves_slot_three_empty():
    step = arm(axes=6)
    assert list(step.driver.joints) == ["s1", "s2", "e1", "e2", "w1", "w2"]
    step.start()
    step.cycle(Mode.VELOCITY, np.full(6, 0.01), cycles=20)
    command = decode_command(packets(step)[-1].payload, variant("ce"))
    assert command.axes[2] == (0, 0, 0)
    assert [axis.speed for axis in command.axes] == [50, 50, 0, 50, 50, 50, 50]
    cleared = [packet.payload[1] for packet in packets(step) if packet.type is PacketType.CLEAR_ALARM]
    assert cleared == [1, 2, 4, 5, 6, 7]
    assert step.feedback.position.shape == (6,)
    assert step.violations == []


def test_what_the_controller_is_to_watch_is_asked_for_in_each_variants_own_place():
    for name, is_on, mode, word in (
        ("ce", True, 0x12, 0x08),
        ("7c", True, 0x1A, 0),
        ("ce", False, 0x02, 0),
        ("7c", False, 0x02, 0),
    ):
        step = LockStep(variant=name, **({} if is_on else {"dead_man": False, "stop_together": False}))
        braked = decode_command(packets(step, name)[-1].payload, variant(name))
        assert {*braked.axes} == {(0x01, 0, 0)} and braked.controller == 0  # nothing to watch while brakes are on
        step.start()
        command = decode_command(packets(step, name)[-1].payload, variant(name))
        assert command.axes[0].mode == mode
        assert command.controller == word


def test_limits_are_those_of_the_arm():
    driver = Pa10Driver(Pa10Settings())
    assert [round(math.degrees(limit.upper)) for limit in driver.limits] == [177, 94, 174, 137, 255, 165, 255]
    assert [round(math.degrees(limit.lower)) for limit in driver.limits] == [-177, -94, -174, -137, -255, -165, -255]
    assert [limit.velocity for limit in driver.limits] == pytest.approx([1, 1, 2, 2, 2, 2 * math.pi, 2 * math.pi])
    assert [limit.effort for limit in driver.limits] == pytest.approx([232, 232, 100, 100, 14.5, 14.5, 14.5])
    six = Pa10Driver(Pa10Settings(axes=6)).limits
    assert [round(math.degrees(one.lower)) for one in six] == [-177, -64, -107, -255, -165, -255]
    assert [round(math.degrees(one.upper)) for one in six] == [177, 124, 158, 255, 165, 255]
    assert all(limit.velocity / SPEED_COUNT < 0x7FFF for limit in driver.limits)


def test_answers_with_another_number_or_type_are_left_and_counted():
    step = arm()
    step.start()
    step.wire.fault("sequence", 3)
    feedback = step.cycle(Mode.VELOCITY, STILL)
    assert not feedback.is_fresh
    assert step.driver.counts.refused == 1
    assert "number" in step.driver.counts.last_problem
    step.wire.fault("sequence", 0)
    assert step.cycle(Mode.VELOCITY, STILL).is_fresh


def test_late_answers_are_thrown_away_and_never_taken_for_the_next():
    step = arm()
    step.start()
    step.wire.fault("slow", 0.0025)  # later than the next packet
    for _ in range(3):
        assert not step.cycle(Mode.VELOCITY, STILL).is_fresh
    assert step.driver.counts.refused >= 2
    step.wire.fault("slow", 0.0)
    step.cycle(Mode.VELOCITY, STILL)
    assert step.cycle(Mode.VELOCITY, STILL).is_fresh


def test_answers_with_angles_to_which_no_arm_can_have_come_are_refused_and_believed_once_they_stay():
    step = arm()
    step.start()
    step.device.arm.q[0] += 0.5
    for _ in range(2):
        feedback = step.cycle(Mode.VELOCITY, STILL)
        assert not feedback.is_fresh
        assert feedback.position[0] == pytest.approx(0.0, abs=1e-5)
    assert "angles" in step.driver.counts.last_problem
    feedback = step.cycle(Mode.VELOCITY, STILL)
    assert feedback.is_fresh
    assert feedback.position[0] == pytest.approx(0.5, abs=1e-5)


def test_a_bad_wire_never_makes_the_driver_raise_anything_but_a_broken_line():
    step = LockStep()
    for name, value in (("half", 0.2), ("reorder", 0.2), ("duplicate", 0.2), ("jitter", 0.003)):
        step.wire.fault(name, value)
    for _ in range(300):
        step.driver.idle()
        step.clock.sleep(0.002)
    assert step.driver.counts.refused > 0


def test_a_broken_line_is_an_error_of_each_cycle_and_none_of_the_stop():
    step = arm()
    step.start()
    step.wire.fault("disconnect", 1)
    with pytest.raises(TransportError):
        step.cycle(Mode.VELOCITY, STILL)
    step.driver.stop()
    with pytest.raises(TransportError):
        step.idle()
    step.driver.close()


def test_silence_while_the_arm_was_driven_is_an_alarm_until_a_reset():
    step = arm()
    step.start()
    step.cycle(Mode.VELOCITY, STILL + 0.01, cycles=5)
    step.clock.sleep(0.05)
    feedback = step.cycle(Mode.VELOCITY, STILL)
    assert [alarm.code for alarm in feedback.alarms] == [0xFF0]
    step.driver.stop()
    assert [alarm.code for alarm in step.idle(5).alarms] == [0xFF0]
    with refused(DeviceAlarm, field="alarm", value=0xFF0):
        step.driver.start()
    step.driver.reset()
    step.start()
    assert step.violations == []


def test_silence_while_the_brakes_were_on_is_made_up_for_and_counted():
    step = arm()
    step.idle(5)
    step.clock.sleep(0.5)
    feedback = step.idle()
    assert feedback.alarms == ()
    assert feedback.is_fresh
    assert step.device.timeouts == 1
    assert "timed out without packets" in step.driver.counts.last_problem
    step.clock.sleep(0.5)
    step.start()
    assert step.feedback.is_driven


def test_an_arm_that_was_switched_off_and_on_is_taken_up_again():
    step = arm()
    step.idle(5)
    step.wire.fault("off", 1)
    assert not step.idle(20).is_fresh
    step.wire.fault("off", 0)
    step.idle(10)
    assert step.feedback.is_fresh
    assert step.device.state()["mode"] == "control"
    step.start()
    assert step.violations == []


def test_servos_that_do_not_come_on_are_told_and_the_brakes_stay_on():
    step = arm(servo_on_time=10.0)
    with refused(NoAnswer, field="servos", value="off"):
        step.driver.start()
    assert step.device.state()["ways"] == ["braked"] * 7
    assert step.device.state()["mode"] == "stopped"


def test_an_arm_that_is_off_or_of_another_variant_is_refused_with_the_packet_that_is_not_answered():
    with refused(NoAnswer, field="packet", value="E"):
        LockStep(faults={"off": 1})
    for mine, its in (("7c", "ce"), ("ce", "7c")):
        with refused(NoAnswer, field="variant", value=mine):
            LockStep(variant=mine, device={"variant": its})


def test_commands_before_the_start_are_refused_and_not_sent():
    step = arm()
    step.idle(2)
    sent = len(step.tap.sent)
    with refused(Refused, field="state", value="not started"):
        step.driver.cycle(Demand(Mode.VELOCITY, STILL))
    assert len(step.tap.sent) == sent


@pytest.mark.parametrize(
    ("mode", "values", "field"),
    [
        (Mode.VELOCITY, [7.0, 0, 0, 0, 0, 0, 0], "speed"),  # 35000 counts
        (Mode.EFFORT, [0, 0, 0, 0, 0, 200.0, 0], "torque"),
        (Mode.VELOCITY, [0, 0, 0, math.nan, 0, 0, 0], "command"),
        (Mode.EFFORT, [0, math.inf, 0, 0, 0, 0, 0], "command"),
        (Mode.POSITION, [math.nan, 0, 0, 0, 0, 0, 0], "command"),
    ],
)
def test_what_does_not_fit_into_a_packet_is_refused_and_not_sent(mode, values, field):
    step = arm()
    step.start()
    sent = len(step.tap.sent)
    with refused(Refused, field=field):
        step.driver.cycle(Demand(mode, np.array(values, dtype=float)))
    assert len(step.tap.sent) == sent
    assert step.cycle(Mode.VELOCITY, STILL).is_fresh


def test_brakes_are_released_by_hand_only_where_the_arm_is_held_and_not_driven():
    step = arm()
    with refused(Refused, field="arm_is_held"):
        step.driver.release_brakes(arm_is_held=False)
    step.start()
    with refused(Refused, field="state", value="driven"):
        step.driver.release_brakes(arm_is_held=True)
    step.driver.stop()
    step.driver.release_brakes(arm_is_held=True)
    assert step.device.state()["mode"] == "teaching"
    before = step.idle().position
    after = step.idle(50).position
    assert np.abs(after - before).max() > 1e-3  # nobody holds the emulated one
    with refused(Refused, field="state", value="teaching"):
        step.driver.start()
    step.driver.end_teaching()
    assert step.device.state()["ways"] == ["braked"] * 7
    assert step.violations == []
    step.start()


def test_closing_in_teach_mode_closes_the_brakes():
    step = arm()
    step.driver.release_brakes(arm_is_held=True)
    step.driver.close()
    assert step.device.state()["ways"] == ["braked"] * 7


@VARIANTS
def test_what_the_controller_has_stored_can_be_read_while_the_arm_is_inactive(name):
    step = arm(name)
    for limit in step.driver.limits:
        data = step.driver.read_axis_data(limit.name)
        assert data.upper == pytest.approx(limit.upper, abs=ANGLE_COUNT)
        assert data.lower == pytest.approx(limit.lower, abs=ANGLE_COUNT)
    with refused(Refused, joint="elbow"):
        step.driver.read_axis_data("elbow")
    step.start()
    with refused(Refused, field="state", value="driven"):
        step.driver.read_axis_data("s1")


@pytest.mark.parametrize(
    ("values", "field", "allowed"),
    [
        ({"reply_timeout": 0.003}, "reply_timeout", 0.002),
        ({"device_timeout": 0.1}, "device_timeout", 0.01),
        ({"period": 0.006, "reply_timeout": 0.001}, "period", 0.005),
    ],
)
def test_times_that_do_not_go_together_are_refused(values, field, allowed):
    with refused(InputError, field=field, allowed=allowed):
        checked(Pa10Settings, values)
