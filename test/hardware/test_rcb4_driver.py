# SPDX-License-Identifier: Apache-2.0
"""The driver of a KHR-3HV against its emulator: no jumps, no motion that was not asked for, retries, refusals."""

import math
from itertools import pairwise

import numpy as np
import pytest

from ada_dynamics import resources
from ada_dynamics.errors import InputError
from ada_dynamics.settings import checked
from ada_hardware.emulation.in_process import FakeClock, InProcessStream
from ada_hardware.emulation.process import EmulatorProcess
from ada_hardware.kondo.angle_map import AngleMap, Board
from ada_hardware.kondo.errors import MotionError
from ada_hardware.kondo.rcb4 import messages as m
from ada_hardware.kondo.rcb4.codec import encode_command
from ada_hardware.kondo.rcb4.commands import COUNTS_PER_DEGREE, FREE, HOLD, Config, Move
from ada_hardware.kondo.rcb4.driver import Rcb4Driver
from ada_hardware.kondo.rcb4.emulator import Rcb4Emulator, Rcb4EmulatorSettings
from ada_hardware.kondo.rcb4.servo_memory import blocks
from ada_hardware.kondo.rcb4.settings import Rcb4Settings
from ada_robot.contract import Demand, Mode
from ada_robot.errors import DeviceAlarm, NoAnswer, Refused, TransportError

MAP = resources.find("config", "khr3_angle_map.yaml")
ONE_COUNT = math.radians(1 / COUNTS_PER_DEGREE)


class World:
    """A driver and an emulator on a fake clock."""

    def __init__(self, faults=None, emulator=None, **settings):
        self.clock = FakeClock()
        speed = {"com_speed": settings["com_speed"]} if "com_speed" in settings else {}
        self.device = Rcb4Emulator(checked(Rcb4EmulatorSettings, {**speed, **(emulator or {})}))
        self.wire = InProcessStream(self.device, clock=self.clock.now, sleep=self.clock.sleep, faults=faults)
        self.driver = Rcb4Driver(checked(Rcb4Settings, settings), wire=self.wire, clock=self.clock.now)

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


def told(emulator, command, now=0.0):
    replies = emulator.receive(encode_command(command), now)
    return replies[0].data if replies else None


# --- the map ----------------------------------------------------------------------------------------------------------
def test_the_map_has_the_servos_of_a_position_of_heart_to_heart_4():
    servos = AngleMap.read(MAP, Board.RCB4).servos
    mask = bytes.fromhex("3D F3 3F 00 00")  # of the maker's own program, see test_rcb4_codec
    assert set(servos) == {i for i in range(40) if int.from_bytes(mask, "little") >> i & 1}


def test_both_robots_have_joints_of_the_same_names():
    khr1 = AngleMap.read(resources.find("config", "khr1_angle_map.yaml"))
    assert set(AngleMap.read(MAP, Board.RCB4).joints) == set(khr1.joints)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("id: 0,", "id: 18,", r"line \d+: map.servos.0.id: it is 18; it must be a whole number from 0 to 17"),
        ("sio: 1,", "sio: 3,", "map.servos.0.sio: it is 3; it must be a whole number from 1 to 2"),
        (
            "id: 2, sio: 1",
            "id: 1, sio: 1",
            "id 1 on sio 1 is there twice, for left_shoulder_pitch and left_shoulder_roll",
        ),
        ("min: -90", "min: -136", "min: it is -136; servos of an RCB-4 go from -135 to 135 deg"),
        ("id: 0,", "channel: 1,", "no key 'channel'"),
        ("left_knee", "left_nee", "the robot has no joint 'left_nee'. Did you mean 'left_knee'"),
        (
            "  - {id: 8, sio: 2",
            "  # - {id: 8, sio: 2",
            "no servo turns 'right_knee'.*add {id, sio: ..., joint: right_knee",
        ),
    ],
)
def test_a_map_that_does_not_fit_is_refused_by_line_and_key(tmp_path, old, new, message):
    text = MAP.read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "map.yaml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(MotionError, match=message):
        Rcb4Driver(Rcb4Settings(angle_map=str(path), robot="khr1"))


# --- the emulator -----------------------------------------------------------------------------------------------------
def test_the_emulator_answers_with_the_frames_of_the_documents():
    device = Rcb4Emulator(Rcb4EmulatorSettings())
    assert told(device, m.AckCheck()) == bytes.fromhex("04 FE 06 08")
    assert told(device, m.ReadRam(0, 2))[:2] == bytes((5, 0))
    assert len(told(device, m.Version())) > 4
    assert device.receive(bytes.fromhex("04 FE 06 09"), 0.0) == []  # wrong checksum
    refusing = Rcb4Emulator(Rcb4EmulatorSettings(nacks=True))
    assert refusing.receive(bytes.fromhex("04 FE 06 09"), 0.0)[-1].data[2] == 0x15


def test_the_emulator_s_servos_turn_within_their_frames_and_no_faster_than_they_can():
    device = Rcb4Emulator(Rcb4EmulatorSettings(max_step=0))
    told(device, m.MoveServos(100, (Move(0, 8500), Move(2, 7000))), 1.0)
    device.advance(1.75)  # half of 100 frames of 15 ms
    angles = device.state()["angles"]
    assert angles["neck_yaw"] == pytest.approx(500 / COUNTS_PER_DEGREE, abs=1e-3)
    assert angles["left_shoulder_pitch"] == pytest.approx(-250 / COUNTS_PER_DEGREE, abs=1e-3)
    told(device, m.MoveServo(0, 1, 7500), 3.0)
    device.advance(3.02)
    assert device.state()["angles"]["neck_yaw"] == pytest.approx(1000 / COUNTS_PER_DEGREE - 60 / 0.14 * 0.02, abs=1e-3)


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (m.MoveServos(1, (Move(0, FREE),)), "neck_yaw: let go"),
        (m.MoveServos(10, (Move(12, 7500 - 900),)), "left_hip_roll: 6600 is outside of 6611 to 9278"),
        (m.MoveServo(0, 1, 7500 + 1000), "neck_yaw: a step of 34 deg in 0.015 s; at most 30"),
    ],
)
def test_what_must_never_come_is_a_violation(command, text):
    device = Rcb4Emulator(Rcb4EmulatorSettings())
    told(device, command)
    assert [text in violation.text for violation in device.violations][:1] == [True]


def test_a_position_that_no_servo_has_is_refused_and_a_violation():
    device = Rcb4Emulator(Rcb4EmulatorSettings())
    frame = bytearray(encode_command(m.MoveServo(0, 1, 11500)))
    frame[4:6] = (11501).to_bytes(2, "little")
    frame[6] = sum(frame[:6]) & 0xFF
    assert device.receive(bytes(frame), 0.0)[0].data[2] == 0x15
    assert "position 11501" in device.violations[0].text
    assert device.state()["angles"]["neck_yaw"] == 0.0


# --- what it is -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("settings", "period"),
    [
        ({}, 0.09),  # 485 bytes of 11 bits are 46 ms; and three times 8 ms of the port
        ({"latency": 0.001}, 0.065),
        ({"com_speed": 1_250_000, "latency": 0.001}, 0.015),
        ({"com_speed": 1_250_000}, 0.04),
        ({"com_speed": 625_000, "feedback": "commanded"}, 0.015),
        ({"period": 0.02}, 0.02),
    ],
)
def test_the_period_is_what_the_line_needs(settings, period):
    assert World(**settings).driver.period == pytest.approx(period)


def test_all_servos_are_read_with_as_few_questions_as_fit():
    found = blocks([0, 2, 3, 4, 5, 8, 9, *range(12, 22)])
    assert [block.servos for block in found] == [(0, 2, 3, 4, 5, 8, 9, 12), tuple(range(13, 22))]
    assert all(block.command.size <= 252 for block in found)
    assert [block.servos for block in blocks(range(35))] == [
        tuple(range(0, 13)),
        tuple(range(13, 26)),
        tuple(range(26, 35)),
    ]


# --- open, start, stop ------------------------------------------------------------------------------------------------
def test_nothing_moves_until_it_is_commanded_even_with_trims():
    world = World(emulator={"trim": 123})
    world.driver.open()
    assert world.driver.version == "emulated RCB-4"
    before = world.device.state()["targets"]
    feedback = world.driver.idle()
    assert feedback.is_fresh
    assert not feedback.is_driven
    np.testing.assert_allclose(feedback.position, 0.0, atol=1e-12)  # the trim is none of the joint's business
    world.driver.start()
    assert world.driver.idle().is_driven
    assert world.device.state()["targets"] == before
    assert world.device.violations == []


def test_the_board_s_program_is_stopped_while_the_host_commands_and_stays_stopped():
    world = World()
    world.driver.open()
    assert world.device.state()["config"] & Config.RUN_PROGRAM
    world.driver.start()
    assert not world.device.state()["config"] & Config.RUN_PROGRAM
    assert world.device.state()["config"] & Config.ICS
    with pytest.raises(Refused, match=r"stop\(\) first"):
        world.driver.run_program(True)
    world.driver.stop()
    assert not world.device.state()["config"] & Config.RUN_PROGRAM
    world.driver.run_program(True)
    assert world.device.state()["config"] & Config.RUN_PROGRAM


def test_commands_turn_the_servos_through_the_map():
    world = started(com_speed=1_250_000, latency=0.001)
    names = list(world.driver.joints)
    q = np.zeros(17)
    q[names.index("left_knee")], q[names.index("right_knee")] = 0.3, 0.3
    feedback = world.run(q, 30)
    assert world.angles["left_knee"] == pytest.approx(math.degrees(0.3), abs=0.02)
    assert world.angles["right_knee"] == pytest.approx(-math.degrees(0.3), abs=0.02)  # mirrored
    np.testing.assert_allclose(feedback.position, q, atol=ONE_COUNT)
    assert feedback.is_fresh
    assert feedback.is_driven
    assert feedback.values["battery [V]"] == pytest.approx(11.1, abs=5 / 1024 * 4.9)
    assert world.device.violations == []


def test_stop_holds_where_servos_are_while_they_still_turn():
    world = started(emulator={"max_step": 0})
    q = np.zeros(17)
    q[0] = math.radians(80)
    world.driver.cycle(Demand(Mode.POSITION, q))
    world.driver.stop()
    held = world.angles["neck_yaw"]
    assert 5 < held < 79
    world.clock.sleep(2.0)
    assert world.angles["neck_yaw"] == pytest.approx(held, abs=1e-6)
    world.driver.start()
    world.clock.sleep(2.0)
    assert world.angles["neck_yaw"] == pytest.approx(held, abs=1 / COUNTS_PER_DEGREE)
    assert world.device.violations == []


def test_what_servos_give_way_under_load_does_not_add_up_over_restarts():
    world = started()
    servo = world.device.servos[16]
    target = servo.target
    for _ in range(20):
        servo.at = lambda now: target - 80  # 2.7 deg off its target
        world.driver.stop()
        world.driver.start()
    assert servo.target == target


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


def test_parameters_are_set_at_the_start_where_they_are_given():
    assert started().device.parameters == {}
    world = started(stretch=60, servo_speed=100, current_limit=30, temperature_limit=70)
    assert {world.device.parameters[p, 0] for p in (1, 2, 3, 4)} == {60, 100, 30, 70}
    assert len(world.device.parameters) == 4 * 17


def test_a_servo_outside_of_its_limits_stops_the_start():
    world = World()
    world.device.servos[12].go(7500 - 40 * COUNTS_PER_DEGREE, 0.0, 0.0)
    world.driver.open()
    with pytest.raises(DeviceAlarm, match=r"left_hip_roll \(id 6, sio 1\) stands at -40 deg .* -30 to 60"):
        world.driver.start()


# --- supply -----------------------------------------------------------------------------------------------------------
def test_a_low_supply_is_an_alarm_and_stops_the_start():
    world = started(battery_interval=0.1)
    world.device.fault("battery_low", 2.5)
    feedback = world.run(np.zeros(17), 6)
    assert feedback.values["battery [V]"] == pytest.approx(8.6, abs=0.03)
    assert feedback.alarms[0].text.startswith("the supply has 8.6 V, less than 9 V")
    world.driver.stop()
    with pytest.raises(DeviceAlarm, match="charge the battery"):
        world.driver.start()
    with pytest.raises(DeviceAlarm, match="charge the battery"):
        world.driver.reset()
    world.device.fault("battery_low", 0)
    world.driver.reset()
    assert world.driver.idle().alarms == ()
    assert started(battery_low=0.0, emulator={"battery": 5.0}).driver.idle().alarms == ()


def test_one_low_reading_is_none():
    world = started(battery_interval=0.5)
    world.device.fault("battery_low", 2.5)
    world.clock.sleep(1.0)
    assert world.driver.idle().alarms == ()
    world.device.fault("battery_low", 0)
    world.clock.sleep(1.0)
    assert world.driver.idle().alarms == ()


# --- the wire ---------------------------------------------------------------------------------------------------------
def test_the_line_has_even_parity_and_the_speed_that_is_set(monkeypatch):
    opened = []

    def remember(device, url, serial, **_):
        opened.append((device, url, serial.baud, serial.parity))
        raise TransportError("enough")

    monkeypatch.setattr("ada_hardware.kondo.servo_driver.open_device_stream", remember)
    with pytest.raises(TransportError):
        Rcb4Driver(Rcb4Settings(url="/dev/ttyUSB0", com_speed=625_000)).open()
    assert opened == [("khr3", "/dev/ttyUSB0", 625_000, "E")]


def test_a_silent_board_is_told_with_what_to_look_at():
    with pytest.raises(
        NoAnswer, match=r"no answer to ACK_CHECK \(0xfe\) in 5 tries of 50 ms .*115200 baud with even parity"
    ):
        World(faults={"silence": 1}).driver.open()
    with pytest.raises(NoAnswer, match="bytes came that are no answer"):
        World(faults={"wrong_speed": 1}).driver.open()


def test_a_refusal_of_the_board_is_an_alarm():
    world = World()
    world.driver.open()
    world.device.fault("nack", 1)
    with pytest.raises(DeviceAlarm, match="the board refuses ACK_CHECK"):
        world.driver.reset()
    world.device.fault("nack", 0)
    world.driver.start()
    world.device.fault("nack", 1)
    assert not world.run(np.zeros(17), 1).is_fresh
    world.device.fault("nack", 0)
    assert world.run(np.zeros(17), 2).is_fresh


@pytest.mark.parametrize(
    ("fault", "value"),
    [
        ("drop", 0.1),
        ("corrupt", 0.0003),
        ("half", 0.1),
        ("noise", 500),
        ("duplicate", 0.3),
        ("reorder_answers", 0.2),
        ("jitter", 0.01),
    ],
)
def test_on_a_disturbed_line_a_fresh_position_is_where_the_servo_is_and_nothing_else_moves(fault, value):
    world = started(com_speed=1_250_000, latency=0.001)
    world.wire.fault(fault, value)
    q, fresh = np.zeros(17), 0
    for i in range(150):
        q[0] = 0.5 * math.sin(0.05 * i)
        feedback = world.driver.cycle(Demand(Mode.POSITION, q))
        if feedback.is_fresh:
            fresh += 1
            servos = world.angles
            there = [servos[joint] for joint in world.driver.joints]
            # what a servo turns in the 50 ms that an answer may take
            np.testing.assert_allclose(world.driver.map.angles(feedback.position), there, atol=4.0)
        world.clock.sleep(0.02)
    world.driver.stop()
    assert fresh > 25
    assert world.device.violations == []


def test_a_reading_that_no_servo_can_have_reached_is_put_aside():
    world = started(com_speed=1_250_000, latency=0.001)
    servo = world.device.servos[14]
    servo.at = lambda now: 7500 + 80 * COUNTS_PER_DEGREE
    feedback = world.run(np.zeros(17), 1)
    assert not feedback.is_fresh
    np.testing.assert_allclose(feedback.position, 0.0, atol=1e-12)
    assert world.run(np.zeros(17), 1).is_fresh  # told twice in a row, it is believed


def test_a_board_that_restarts_leaves_the_robot_undriven():
    world = started()
    world.device.fault("reboot", 0.2)
    assert not world.run(np.zeros(17), 1).is_fresh
    world.clock.sleep(0.5)
    feedback = world.driver.idle()
    feedback = world.driver.idle()
    assert feedback.is_fresh
    assert not feedback.is_driven


# --- beside cycles ----------------------------------------------------------------------------------------------------
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
    world.driver.start()
    assert world.device.state()["free"] == []
    assert world.device.violations == []


def test_a_motion_of_the_board_is_played_to_its_end():
    world = World()
    world.driver.open()
    world.device.rom[5] = [
        encode_command(m.MoveServos(20, (Move(0, 7500 + 600),))),
        encode_command(m.MoveServos(20, (Move(0, 7500 - 600),))),
        encode_command(m.Return()),
    ]
    assert world.driver.playing() == 0
    world.driver.play_motion(5)
    assert world.driver.playing() == 5
    world.clock.sleep(0.3)
    assert world.angles["neck_yaw"] == pytest.approx(600 / COUNTS_PER_DEGREE, abs=2.0)
    world.clock.sleep(0.4)
    assert world.angles["neck_yaw"] == pytest.approx(-600 / COUNTS_PER_DEGREE, abs=1e-3)
    assert world.driver.playing() == 0
    assert world.device.violations == []


def test_a_motion_of_the_board_can_be_stopped_and_does_not_mix_with_commands():
    world = World()
    world.driver.open()
    world.device.rom[1] = [encode_command(m.MoveServos(20, (Move(0, 7500 + i),))) for i in (100, 200, 300, 400, 500)]
    world.driver.play_motion(1)
    world.clock.sleep(0.4)
    world.driver.run_program(False)
    world.clock.sleep(5.0)
    assert 0 < world.angles["neck_yaw"] <= 200 / COUNTS_PER_DEGREE + 1e-6
    world.driver.start()
    with pytest.raises(Refused, match="would fight them"):
        world.driver.play_motion(1)
    with pytest.raises(Refused, match="motion 121; the board has 1 to 120"):
        world.driver.play_motion(121)
    assert world.device.violations == []


def test_servos_commanded_while_a_motion_plays_are_a_violation():
    device = Rcb4Emulator(Rcb4EmulatorSettings())
    device.rom[1] = [encode_command(m.MoveServos(200, (Move(0, 7600),)))]
    told(device, m.Call(0x0B80))
    device.advance(0.0)
    told(device, m.MoveServos(10, (Move(0, HOLD),)), 0.1)
    assert "while the board plays motion 1" in device.violations[0].text


# --- refusals ---------------------------------------------------------------------------------------------------------
def test_settings_and_commands_that_cannot_be_are_refused():
    with pytest.raises(InputError, match="com_speed is 9600; it must be one of 115200, 625000, 1250000"):
        checked(Rcb4Settings, {"com_speed": 9600})
    with pytest.raises(TransportError, match="url is not set"):
        Rcb4Driver(Rcb4Settings()).open()
    with pytest.raises(Refused, match="not open"):
        World().driver.idle()
    with pytest.raises(Refused, match="positions only, not effort"):
        started().driver.cycle(Demand(Mode.EFFORT, np.zeros(17)))


# --- real wires -------------------------------------------------------------------------------------------------------
def test_a_dry_run_goes_through_all_bytes_and_opens_no_port():
    driver = Rcb4Driver(Rcb4Settings(url="dry:", com_speed=1_250_000))
    driver.open()
    driver.start()
    assert driver.cycle(Demand(Mode.POSITION, driver.idle().position)).is_fresh
    driver.stop()
    driver.close()
    driver.close()


def test_it_drives_an_emulator_behind_a_pseudo_terminal():
    with EmulatorProcess("khr3") as device:
        driver = Rcb4Driver(Rcb4Settings(url=device.url))
        driver.open()
        driver.start()
        q = driver.idle().position
        q[0] = 0.2
        fresh = sum(driver.cycle(Demand(Mode.POSITION, q)).is_fresh for _ in range(20))
        driver.stop()
        state, violations = device.state(), device.violations()
        assert fresh >= 15  # the machine may be busy
        assert state["targets"]["neck_yaw"] == pytest.approx(math.degrees(0.2), abs=0.02)
        assert violations == []
        device.fault("disconnect", 1)
        with pytest.raises(TransportError):
            for _ in range(100):
                driver.idle()
        driver.close()


@pytest.mark.parametrize("com_speed", [115_200, 1_250_000])
def test_no_new_position_is_sent_later_than_a_quarter_of_a_second_after_the_first_missing_answer(com_speed):
    world = World(emulator={"com_speed": com_speed}, com_speed=com_speed)
    world.driver.open()
    world.driver.start()
    q, sent, alarms = world.driver.idle().position.copy(), [], ()
    write = world.wire.write

    def listening(data):
        sent.append((world.clock.now(), bytes(data)))
        write(data)

    world.wire.write = listening
    world.wire.fault("silence", 1)
    while not alarms and world.clock.now() < 10.0:
        q[0] += 0.01
        begin = world.clock.now()
        feedback = world.driver.cycle(Demand(Mode.POSITION, q))
        alarms = feedback.alarms
        world.clock.sleep(world.driver.period - (world.clock.now() - begin))
    assert not feedback.is_fresh
    assert "blind_time is 0.25 s" in alarms[0].text
    moves = [(at, frame[8:]) for at, frame in sent if frame[1] == 0x10]  # length, command, five of mask, frames
    changes = [at for (_, before), (at, after) in pairwise(moves) if before[:-1] != after[:-1]]
    assert len(changes) > 1
    assert max(changes) - sent[0][0] <= 0.25
    before = world.clock.now()
    world.driver.stop()
    assert world.clock.now() - before < 0.1  # who is silent is not asked again and again
