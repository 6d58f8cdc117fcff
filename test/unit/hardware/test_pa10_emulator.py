# SPDX-License-Identifier: Apache-2.0
"""The emulated PA-10 does what is documented of the real one, and sees what must never be sent to it. No driver."""

from __future__ import annotations

import math

import numpy as np
import pytest

import ada_dynamics as ada
from ada_dynamics.resources import find
from ada_experiments.mujoco_twin import MujocoModel
from ada_hardware.pa10.cyclic import (
    ANGLE_COUNT,
    SPEED_COUNT,
    AxisCommand,
    CyclicCommand,
    CyclicResponse,
    decode_response,
    encode_command,
)
from ada_hardware.pa10.emulator import Pa10Emulator
from ada_hardware.pa10.packets import CONTROLLER, Packet, PacketParser, PacketType, alarm_clear_payload, encode_packet
from ada_hardware.pa10.settings import Pa10EmulatorSettings
from ada_hardware.pa10.variants import variant
from ada_robot.settings import checked

BRAKED, SERVO, TORQUE = AxisCommand(0x01), AxisCommand(0x02), AxisCommand(0x06)
LOCKED, OFF = 0x4000, 0x8000


class Host:
    """Sends packets to an emulator, one every 2 ms, and reads the answers."""

    def __init__(self, **values: object) -> None:
        self.emulator = Pa10Emulator(checked(Pa10EmulatorSettings, values))
        self.variant = variant(self.emulator.settings.variant)
        self.parser = PacketParser(self.variant, CONTROLLER)
        self.now, self.sequence = 100.0, 0

    def send(self, kind: PacketType, payload: bytes = b"", wait: float = 0.002) -> Packet | None:
        self.sequence = (self.sequence + 1) % 128
        replies = self.emulator.receive(encode_packet(Packet(kind, self.sequence, payload)), self.now)
        self.now += wait
        assert len(replies) <= 1
        if not replies:
            return None
        self.delay = replies[0].delay
        (answer,) = self.parser.feed(replies[0].data)
        assert (answer.type, answer.sequence) == (kind, self.sequence)
        return answer

    def cycle(self, *axes: AxisCommand, controller: int = 0, times: int = 1, wait: float = 0.002) -> CyclicResponse:
        told = axes if len(axes) == 7 else axes * 7
        for _ in range(times):
            answer = self.send(PacketType.CYCLE, encode_command(CyclicCommand(told, controller), self.variant), wait)
            assert answer is not None
        return decode_response(answer.payload, self.variant)

    def wait(self, duration: float) -> None:
        self.now += duration
        self.emulator.advance(self.now)

    def servos_on(self, *, still: AxisCommand = SERVO) -> CyclicResponse:
        assert self.send(PacketType.START) is not None
        self.cycle(BRAKED)
        return self.cycle(still, times=12)

    @property
    def violations(self) -> list[str]:
        return [one.text for one in self.emulator.violations]


def words(response: CyclicResponse) -> list[int]:
    return [axis.status for axis in response.axes]


def test_servos_come_on_after_their_time_and_the_brakes_open():
    host = Host(servo_on_time=0.02)
    host.send(PacketType.START)
    host.cycle(BRAKED)
    assert words(host.cycle(SERVO, times=10)) == [OFF] * 7  # 18 ms later
    assert words(host.cycle(SERVO, times=2)) == [0] * 7


@pytest.mark.parametrize("name", ["ce", "7c"])
def test_angles_integrate_counts_of_speed(name):
    host = Host(variant=name, speed_time_constant=0.0, start=[0.0] * 7)
    host.servos_on()
    counts = 100  # 0.02 rad/s, as much as the speed of s1 may change in a cycle
    response = host.cycle(AxisCommand(0x02, 0, counts), times=501)
    for axis in response.axes:
        assert axis.angle * ANGLE_COUNT == pytest.approx(counts * SPEED_COUNT * 1.0, abs=ANGLE_COUNT)
        assert axis.speed == (counts if name == "ce" else 0)
    assert host.violations == []


def test_the_torque_that_gravity_needs_is_told_at_speed_0():
    pin = pytest.importorskip("pinocchio")
    if not hasattr(pin, "buildModelFromUrdf"):
        pytest.skip("this pinocchio is not the one for rigid bodies")
    start = np.array([0.2, 0.5, -0.3, 1.1, 0.4, 0.7, -0.6])
    host = Host(start=start.tolist())
    response = host.servos_on()
    model = pin.buildModelFromUrdf(str(find("urdf", "pa10.urdf")))
    needed = pin.computeGeneralizedGravity(model, model.createData(), start)
    rated = np.array([4.64, 4.64, 2.0, 2.0, 0.29, 0.29, 0.29])
    told = np.array([axis.torque for axis in response.axes])
    assert told == pytest.approx(needed / 50.0 / rated * 4096.0, abs=0.51)


def test_under_torques_the_arm_moves_as_its_rigid_bodies_do():
    mujoco = pytest.importorskip("mujoco")
    start = np.array([0.2, 0.5, -0.3, 1.1, 0.4, 0.7, -0.6])
    host = Host(start=start.tolist(), speed_time_constant=0.0)
    host.servos_on(still=TORQUE)
    assert host.emulator.state()["ways"] == ["torque"] * 7
    host.emulator.advance(host.now)
    host.emulator.arm.q, host.emulator.arm.v = start.copy(), np.zeros(7)
    counts = [0, -1200, 50, -500, 100, -80, 30]
    axes = [AxisCommand(0x06, count, 0) for count in counts]
    host.cycle(*axes, times=150)
    rated = np.array([4.64, 4.64, 2.0, 2.0, 0.29, 0.29, 0.29])
    efforts = np.array(counts) / 4096.0 * rated * 50.0
    twin = MujocoModel(ada.load("pa10"))
    twin.model.opt.timestep, twin.model.opt.integrator = 1e-3, mujoco.mjtIntegrator.mjINT_RK4
    twin.set_state(start, np.zeros(7))
    twin.set_efforts(efforts)
    for _ in range(298):  # the last command has not acted yet
        mujoco.mj_step(twin.model, twin.data)
    q, v = twin.state()
    assert np.abs(q - start).max() > 0.3
    assert host.emulator.arm.q == pytest.approx(q, abs=1e-8)
    assert host.emulator.arm.v == pytest.approx(v, abs=1e-7)


def test_an_axis_at_its_limit_says_so_and_goes_no_farther():
    model = ada.load("pa10")
    upper = float(model.joints["w1"].limits.upper)
    start = [0.0, 0.0, 0.0, 0.0, 0.0, upper - 0.01, 0.0]
    host = Host(start=start)
    host.servos_on()
    axes = [SERVO] * 7
    axes[5] = AxisCommand(0x02, 0, 500)  # 0.1 rad/s
    response = host.cycle(*axes, times=200)
    assert response.axes[5].status == 0x0001
    assert response.axes[5].angle * ANGLE_COUNT - upper < math.radians(1.0)
    axes[5] = AxisCommand(0x02, 0, -500)
    assert host.cycle(*axes, times=100).axes[5].status == 0


@pytest.mark.parametrize(("name", "silence"), [("ce", 0.010), ("7c", 0.400)])
def test_silence_stops_all_axes_exactly_after_the_documented_time(name, silence):
    host = Host(variant=name, start=[0.0] * 7, speed_time_constant=0.0)
    host.servos_on()
    before = host.cycle(AxisCommand(0x02, 0, 100), wait=0.0)
    host.wait(silence - 1e-6)
    assert host.emulator.state()["mode"] == "control"
    host.wait(0.05)
    response = host.cycle(SERVO)
    assert words(response) == [0xFF0 | LOCKED | OFF] * 7
    assert response.controller & 0x4FF0 == 0x4050
    # it went on at the last speed until then, and stands since
    way = (response.axes[0].angle - before.axes[0].angle) * ANGLE_COUNT
    assert way == pytest.approx(0.02 * silence, abs=2 * ANGLE_COUNT)
    assert host.emulator.timeouts == 1


def test_after_silence_a_and_s_are_needed():
    host = Host()
    host.servos_on()
    host.wait(0.02)
    host.send(PacketType.START)
    assert words(host.cycle(BRAKED)) == [0xFF0 | LOCKED | OFF] * 7  # S alone does not help
    for axis in range(1, 8):
        assert host.send(PacketType.CLEAR_ALARM, alarm_clear_payload(axis)) is not None
    host.send(PacketType.START)
    assert words(host.cycle(BRAKED)) == [OFF] * 7
    assert words(host.cycle(SERVO, times=12)) == [0] * 7


def test_any_packet_keeps_the_watchdog_content_and_none_is_needed_outside_the_control():
    host = Host()
    host.wait(10.0)
    assert host.emulator.timeouts == 0
    host.servos_on()
    for _ in range(20):
        host.send(PacketType.CLEAR_ALARM, alarm_clear_payload(1), wait=0.009)
    assert host.emulator.timeouts == 0


@pytest.mark.parametrize(("fault", "code", "bit"), [("emergency_stop", 0x110, 0x0008), ("limit_switch", 0x130, 0x2000)])
def test_a_switch_stops_all_axes_and_its_alarm_lasts_until_it_is_released_and_reset(fault, code, bit):
    host = Host()
    assert host.servos_on().controller & bit
    host.emulator.fault(fault, 1)
    response = host.cycle(SERVO)
    assert words(response) == [code | LOCKED | OFF] * 7
    assert response.controller & 0x0FF0 == code
    assert not response.controller & bit
    host.send(PacketType.CLEAR_ALARM, alarm_clear_payload(1))
    assert words(host.cycle(BRAKED)) == [code | LOCKED | OFF] * 7  # still pressed
    host.emulator.fault(fault, 0)
    assert words(host.cycle(BRAKED)) == [code | LOCKED | OFF] * 7  # not reset
    for axis in range(1, 8):
        host.send(PacketType.CLEAR_ALARM, alarm_clear_payload(axis))
    host.send(PacketType.START)
    assert words(host.cycle(BRAKED)) == [OFF] * 7


@pytest.mark.parametrize("name", ["ce", "7c"])
def test_the_dead_man_switch_matters_where_it_is_watched(name):
    host = Host(variant=name)
    host.servos_on()
    host.emulator.fault("dead_man", 1)
    response = host.cycle(SERVO)
    assert words(response) == [0] * 7
    assert not response.controller & 0x0001
    watched = AxisCommand(0x02 | 0x08) if name == "7c" else SERVO
    response = host.cycle(watched, controller=0x08 if name == "ce" else 0)
    assert words(response) == [0x120 | LOCKED | OFF] * 7


def test_an_alarm_of_one_axis_stops_it_alone_or_all_that_were_told_to_stop_together():
    host = Host()
    host.servos_on()
    host.emulator.fault("axis_alarm", 4 + 0x0E0 / 4096)
    assert words(host.cycle(SERVO)) == [0, 0, 0, 0x0E0 | LOCKED | OFF, 0, 0, 0]
    host = Host()
    host.servos_on(still=AxisCommand(0x12))
    host.emulator.fault("axis_alarm", 4 + 0x0E0 / 4096)
    assert words(host.cycle(AxisCommand(0x12))) == [LOCKED | OFF] * 3 + [0x0E0 | LOCKED | OFF] + [LOCKED | OFF] * 3


@pytest.mark.parametrize(("fault", "bit", "well"), [("motor_power", 0x0004, True), ("no_control", 0x4000, False)])
def test_missing_power_and_control_close_the_brakes_and_keep_servos_off(fault, bit, well):
    host = Host()
    host.servos_on()
    host.emulator.fault(fault, 1)
    response = host.cycle(AxisCommand(0x02, 0, 100), times=20)
    assert bool(response.controller & bit) is not well
    assert all(word & OFF for word in words(response))
    assert host.emulator.arm.v.tolist() == [0.0] * 7
    host.emulator.fault(fault, 0)
    assert words(host.servos_on()) == [0] * 7


def test_a_6ce_has_no_third_axis_but_its_slot():
    host = Host(axes=6)
    axes = [SERVO] * 7
    axes[2] = AxisCommand(0)
    host.send(PacketType.START)
    response = host.cycle(*axes, times=14)
    assert response.axes[2] == (0, 0, 0, 0)
    assert host.send(PacketType.CLEAR_ALARM, alarm_clear_payload(3)) is None
    assert host.violations == []
    host.cycle(SERVO)
    assert any("slot 3 has no axis" in text for text in host.violations)


def test_the_judge_says_nothing_about_a_proper_start_motion_and_stop():
    host = Host()
    for axis in range(1, 8):
        host.send(PacketType.CLEAR_ALARM, alarm_clear_payload(axis))
    host.servos_on()
    for counts in [*range(0, 1000, 100), *range(1000, -1, -100)]:
        host.cycle(AxisCommand(0x02, 0, counts))
    host.cycle(SERVO, times=20)
    host.cycle(BRAKED, times=3)
    host.send(PacketType.END)
    assert host.violations == []


def fast(host: Host) -> Host:
    for counts in range(0, 1000, 100):
        host.cycle(AxisCommand(0x02, 0, counts))
    return host


def told(mode: int, torque: int = 0, speed: int = 0, *others: AxisCommand):
    return lambda host: host.cycle(AxisCommand(mode, torque, speed), *others, times=1 if others else 10)


@pytest.mark.parametrize(("begin", "act", "text"), [
    ("", told(0x02, 0, 10), "is commanded to move before control is started (S)"),
    ("S", lambda host: host.cycle(AxisCommand(0x02, 0, 10)), "s1 is commanded to move before its servo is on"),
    ("on", told(0x03, 0, 10), "s1 is commanded to move with its brake on"),
    ("on", told(0x02, 0, 5001, *[SERVO] * 6), "s1: commanded speed of 5001 counts exceeds its limit"),
    ("torque", told(0x06, 4097, 0, *[SERVO] * 6), "s1: commanded torque of 4097 counts"),
    ("on", told(0x02, 0, 110, *[SERVO] * 6), "s1: commanded speed changes too fast"),
    ("on", lambda host: fast(host).cycle(AxisCommand(0x02, 0, -900)), "s1: commanded speed changes too fast"),
    ("on", lambda host: fast(host).cycle(BRAKED), "s1 is braked while it moves"),
    ("on", lambda host: fast(host).send(PacketType.END), ""),
    *(("", lambda host, kind=kind, payload=payload: host.send(kind, payload), "would change the zero or the memory")
      for kind, payload in ((PacketType.MEASURE_ZERO, b"\1\0"), (PacketType.STORE, b""), (PacketType.CHANGE, b""))),
])  # fmt: skip
def test_the_judge_notes_what_must_never_be_sent(begin, act, text):
    host = Host(start=[0.0] * 7)
    if begin == "S":
        host.send(PacketType.START)
    elif begin:
        host.servos_on(still=TORQUE if begin == "torque" else SERVO)
    assert host.violations == []
    answer = act(host)
    assert any(text in one for one in host.violations), host.violations
    if begin == "":
        assert host.emulator.arm.q[0] == 0.0
        assert answer is None or isinstance(answer, CyclicResponse)


def test_motion_in_spite_of_an_alarm_is_a_violation_once_the_host_must_know():
    host = Host(alarm_grace=0.01)
    host.servos_on()
    host.cycle(AxisCommand(0x02, 0, 10))
    host.emulator.fault("emergency_stop", 1)
    host.cycle(AxisCommand(0x02, 0, 10), times=5)
    assert not any("alarm" in text for text in host.violations)
    host.cycle(AxisCommand(0x02, 0, 10), times=2)
    assert "s1 is commanded to move during an alarm" in host.violations


def test_in_teach_mode_the_arm_is_free_and_commands_do_not_move_it():
    host = Host(start=[0.0, 0.3, 0.0, 0.0, 0.0, 0.0, 0.0])
    host.send(PacketType.TEACH)
    host.cycle(AxisCommand(0), times=50)
    assert host.emulator.arm.q[1] > 0.31  # falls
    assert host.violations == []
    host.cycle(AxisCommand(0x02, 0, 10))
    assert host.violations
    host.send(PacketType.END)
    assert host.emulator.state()["ways"] == ["braked"] * 7
