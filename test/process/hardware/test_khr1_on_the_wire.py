# SPDX-License-Identifier: Apache-2.0
"""A KHR-1 judged on the bytes that reach its boards.

The two boards are this file's own and share no code with driver and emulator; the safety cycle runs in lock step with
them. Bytes as in the reference: FD id speed 12*angle sum&0x7F -> id 06; FC id sum -> id 12*angle sum; FA, F0 likewise.
"""

from itertools import pairwise

import pytest
from refused import refused

from ada_dynamics import resources
from ada_dynamics.settings import checked
from ada_hardware.kondo.rcb1.driver import Rcb1Driver
from ada_hardware.kondo.rcb1.settings import Rcb1Settings
from ada_hardware.transport.wires import ByteStream
from ada_robot.contract import Demand, Mode
from ada_robot.errors import NoAnswer, Refused
from ada_robot.safety.phases import Phase
from ada_robot.safety.safe_cycle import SafeCycle
from ada_robot.safety.settings import SafetySettings

MAP = resources.find("config", "khr1_angle_map.yaml")
LENGTHS = {0xFD: 16, 0xFC: 3, 0xFA: 3, 0xF1: 4, 0xF0: 3, 0xFE: 2}
HOME = {1: 5, 2: 0, 3: 90, 6: 90, 7: 175, 8: 180, 9: 90, 13: 88, 14: 115, 15: 115, 16: 90, 17: 92}
HOME |= {19: 92, 20: 65, 21: 65, 22: 90, 23: 88}
NECK = 6


class Boards(ByteStream):
    """Two RCB-1 as bytes: servos stand where they were told last.

    Attributes:
        now: time [s]; it passes while the host waits and while bytes travel.
        servo: angle of each channel, 1 to 24, or what a channel without a servo tells.
        pushed: degrees by which a load pushes a channel's servo off what it was told.
        frames: positions that arrived: time, board, speed, twelve angles.
        switched: switches that arrived: board, bits.
        mute: boards that hear, and do not answer.
    """

    url = "two boards"

    def __init__(self):
        self.now = 0.0
        self.servo = {channel: HOME.get(channel, 0xE1) for channel in range(1, 25)}
        self.pushed, self.frames, self.switched, self.mute = {}, [], [], set()
        self._heard, self._said = b"", b""

    def write(self, data):
        self._heard += data
        self.now += 10 * len(data) / 115200
        while self._heard and len(self._heard) >= LENGTHS[self._heard[0]]:
            size = LENGTHS[self._heard[0]]
            frame, self._heard = self._heard[:size], self._heard[size:]
            assert sum(frame[:-1]) & 0x7F == frame[-1], f"a wrong checksum came: {frame.hex(' ')}"
            self._obey(frame[0], frame[1], frame[2:-1])

    def _obey(self, code, board, body):
        channels = range(12 * board + 1, 12 * board + 13)
        told = None
        if code == 0xFD:
            self.frames.append((self.now, board, body[0], tuple(body[1:])))
            self.servo.update((i, v) for i, v in zip(channels, body[1:], strict=True) if v <= 180)
        elif code == 0xF1:
            self.switched.append((board, body[0]))
        else:
            told = {0xFC: [self.servo[i] + self.pushed.get(i, 0) for i in channels], 0xF0: [2]}.get(
                code, [HOME.get(i, 90) for i in channels]
            )
        if board not in self.mute:
            answer = bytes([board, 0x06]) if told is None else bytes([board, *told])
            self._said += answer if told is None else answer + bytes([sum(answer) & 0x7F])

    def read(self, limit, timeout):
        if not self._said:
            self.now += max(timeout, 1e-5)
        found, self._said = self._said[:limit], self._said[limit:]
        self.now += 10 * len(found) / 115200
        return found

    def discard_input(self):
        self._said = b""

    def close(self):
        pass


class World:
    """A robot on these boards, and its cycle."""

    def __init__(self, safety=None, **settings):
        self.boards = Boards()
        self.driver = Rcb1Driver(checked(Rcb1Settings, settings), wire=self.boards, clock=lambda: self.boards.now)
        self.cycle = SafeCycle(self.driver, safety or SafetySettings(record_seconds=0.0))
        self._due = 0.0

    def step(self, commands=()):
        self._due = max(self._due + self.driver.period, self.boards.now)
        self.boards.now = self._due
        return self.cycle.step(self._due, commands)

    def active(self):
        self.cycle.open(self.boards.now)
        for _ in range(10):
            self.step()
        self.cycle.activate(self.boards.now)
        self.step()
        assert self.cycle.phase is Phase.ACTIVE
        return self

    def go(self, joint, speed, steps):
        """Demand a joint to go on at a speed [rad/s], from the newest demand."""
        at = self.driver.joints.index(joint)
        target = self.cycle.demand.values.copy()
        for _ in range(steps):
            target = target.copy()
            target[at] += speed * self.driver.period
            self.step([Demand(Mode.POSITION, target, self.boards.now)])

    def told(self, channel):
        """All that a channel was told."""
        board, place = divmod(channel - 1, 12)
        return [frame[3][place] for frame in self.boards.frames if frame[1] == board]


def without(tmp_path, *joints):
    lines = [line for line in MAP.read_text().splitlines() if not any(joint in line for joint in joints)]
    path = tmp_path / "map.yaml"
    path.write_text("\n".join(lines))
    return {"angle_map": str(path), "robot": ""}


# --- servos that the map leaves out -----------------------------------------------------------------------------------
def test_a_servo_that_the_map_leaves_out_is_told_where_it_stands_through_activation_motion_and_stop(tmp_path):
    world = World(**without(tmp_path, "neck_yaw", "left_elbow"))
    world.boards.servo |= {NECK: 20, 3: 160}  # their stored home is 90
    world.active().go("left_knee", 0.3, 20)
    world.cycle.stop(world.boards.now, "enough")
    for _ in range(20):
        world.step()
    assert world.cycle.phase is Phase.STOPPED
    assert set(world.told(NECK)) == {20}
    assert set(world.told(3)) == {160}
    assert len(set(world.told(15))) > 3  # the knee did move


def test_letting_go_leaves_a_servo_outside_of_the_map_where_it_stands(tmp_path):
    world = World(**without(tmp_path, "neck_yaw"))
    world.boards.servo[NECK] = 20
    world.driver.open()
    world.driver.release(confirm=True)
    assert world.told(NECK) == [20]
    assert world.told(1) == [0xDD]


def test_what_such_a_servo_gives_way_under_load_does_not_add_up_over_restarts(tmp_path):
    world = World(**without(tmp_path, "neck_yaw"))
    world.boards.servo[NECK] = 40
    world.driver.open()
    for _ in range(10):
        world.driver.start()
        world.boards.servo[NECK] -= 2  # it stands a little off what it was told
        world.driver.stop()
    assert set(world.told(NECK)) == {40}
    world.boards.servo[NECK] = 70  # turned by hand
    world.driver.start()
    assert world.told(NECK)[-1] == 70


@pytest.mark.parametrize(("reads", "is_told"), [(0xE1, 0xE1), (0xDD, 0xDD), (0xE2, 0xE2), (0xDE, 0xE1), (0xFF, 0xE1)])
def test_a_channel_without_an_angle_is_told_nothing_that_turns_a_servo(reads, is_told):
    world = World()
    world.boards.servo[4] = reads
    world.active()
    assert set(world.told(4)) == {is_told}  # never the 90 that the board has stored as its home


def test_a_servo_of_which_two_readings_differ_is_not_driven(tmp_path):
    world = World(**without(tmp_path, "neck_yaw"))

    class Falling(dict):
        def __getitem__(self, channel):
            if channel == NECK:
                self[NECK] = (self.get(NECK) + 37) % 180
            return super().__getitem__(channel)

    world.boards.servo = Falling(world.boards.servo)
    world.active()
    assert set(world.told(NECK)) == {0xE1}  # Heart To Heart's value for a channel without a servo


# --- blind ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("mute", [{0}, {1}, {0, 1}])
@pytest.mark.parametrize("latency", [0.0, 0.008, 0.016])
def test_no_new_position_is_sent_later_than_a_quarter_of_a_second_after_the_first_missing_answer(mute, latency):
    world = World(latency=latency).active()
    world.go("neck_yaw", 0.5, 20)
    world.go("left_knee", 0.5, 5)
    assert world.cycle.phase is Phase.ACTIVE
    world.boards.mute = mute
    seen = len(world.boards.frames)
    world.go("left_knee", 0.5, 40)
    assert world.cycle.phase is Phase.STOPPED
    assert "blind_time is 0.25 s" in world.cycle.latched
    sent = world.boards.frames[seen:]
    first_unanswered = min(frame[0] for frame in sent if frame[1] in mute)
    for board in (0, 1):
        told = [frame for frame in sent if frame[1] == board]
        changes = [after[0] for before, after in pairwise(told) if before[3] != after[3]]
        assert all(at - first_unanswered <= 0.25 for at in changes)  # what comes later is the hold
        assert told[-1][2] == 7  # told as slowly as can be


def test_single_lost_answers_stop_nothing():
    world = World().active()
    for i in range(60):
        world.boards.mute = {i % 2} if i % 3 == 0 else set()
        world.go("left_knee", 0.2, 1)
    assert world.cycle.phase is Phase.ACTIVE


# --- free on request --------------------------------------------------------------------------------------------------
def test_sleeping_frees_all_servos_by_the_software_switch_and_only_on_request():
    world = World()
    world.driver.open()
    with refused(Refused, field="confirm"):
        world.driver.sleep()
    world.driver.start()
    with refused(Refused, field="state", value="started"):
        world.driver.sleep(confirm=True)
    world.driver.stop()
    assert world.boards.switched == []
    world.driver.sleep(confirm=True)
    assert world.boards.switched == [(0, 0x03), (1, 0x03)]  # sleep, beside motions that were on
    world.boards.mute = {0}
    with refused(NoAnswer, field="command") as caught:
        world.driver.sleep(confirm=True)
    assert "board 0" in caught.value.value
    assert world.boards.switched[-1] == (1, 0x03)  # the board that answers sleeps all the same


# --- beyond a limit ---------------------------------------------------------------------------------------------------
# channel, joint, and a limit of the map that the servo itself can pass
@pytest.mark.parametrize(
    ("channel", "joint", "limit", "outwards"),
    [(13, "left_hip_roll", 100, 1), (14, "left_hip_pitch", 20, -1), (23, "right_ankle_roll", 70, -1)],
)
@pytest.mark.parametrize("counts", [1, 2, 3])
def test_a_servo_some_counts_beyond_a_limit_is_led_back_and_never_farther_out(channel, joint, limit, outwards, counts):
    world = World()
    world.boards.servo[channel] = limit + outwards * counts
    world.active()
    servo = world.driver.map.servos[channel]
    inside = world.cycle.demand.values.copy()
    for i in range(40):
        inside[world.driver.joints.index(joint)] = servo.position(limit - outwards * min(0.5 * i, 10.0))
        world.step([Demand(Mode.POSITION, inside, world.boards.now)])
    assert world.cycle.phase is Phase.ACTIVE, world.cycle.latched
    assert all((told - limit) * outwards <= 0 for told in world.told(channel))
    assert world.told(channel)[-1] == limit - 10 * outwards


def test_what_gives_way_beyond_a_limit_in_motion_stops_nothing_up_to_three_counts_and_stops_at_four():
    for counts, phase in ((3, Phase.ACTIVE), (4, Phase.STOPPED)):
        world = World()
        world.boards.servo[13] = 100  # the map's limit
        world.active().boards.pushed[13] = counts
        for _ in range(8):
            world.step()
        assert world.cycle.phase is phase, world.cycle.reason
