# SPDX-License-Identifier: Apache-2.0
"""The programs of the three machines: how the table follows, and all of them over real UDP."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from refused import refused
from waiting import LIMIT, ended, until

from ada_dynamics.spatial.orientation import pose_of
from ada_experiments.motion_simulation import __main__ as command
from ada_experiments.motion_simulation.frames import Mounting, to_seven
from ada_experiments.motion_simulation.motion_table import ImpedanceTable, MotionTable, Reading, TableSettings
from ada_experiments.motion_simulation.packets import Flags, ForcePacket, PicturePacket, PosePacket, decode, encode
from ada_experiments.motion_simulation.programs import (
    DynamicsProgram,
    FollowSettings,
    LoopSettings,
    Phase,
    TableProgram,
)
from ada_experiments.motion_simulation.real_time import DynamicsClient, TableServer
from ada_experiments.motion_simulation.robots import PairSettings, RobotPair
from ada_hardware.transport import open_packets
from ada_robot.errors import NoAnswer, Refused

Array = NDArray[np.float64]

STEP = 2e-3
SILENCE = LIMIT  # [s] that a loaded machine may stand still for


class Plate(MotionTable):
    """Notes what it is told; its force is a count of its exchanges."""

    NAME = "plate"

    def __init__(self, periods_to_start: int = 1) -> None:
        self.asked: list[tuple[Array, Array]] = []
        self.prepared = self.idled = self.stopped = 0
        self.takes = periods_to_start
        self.problem = ""

    @property
    def period(self) -> float:
        return STEP

    @property
    def exchanges_to_force(self) -> int:
        return 2

    def open(self) -> None:
        pass

    def idle(self) -> None:
        self.idled += 1

    def prepare(self, pose: Array) -> Reading:
        self.prepared += 1
        return Reading(np.zeros(6), pose, is_ready=self.prepared % self.takes == 0)

    def exchange(self, pose: Array, twist: Array) -> Reading:
        self.asked.append((pose, twist))
        return Reading(np.full(6, float(len(self.asked))), pose, problem=self.problem)

    def stop(self) -> None:
        self.stopped += 1

    def close(self) -> None:
        pass


def pose_packet(sequence: int, time: float, x: float, flags: Flags = Flags.RUN) -> bytes:
    twist = np.array([0.5, 0.0, 0.0, 0.0, 0.0, 0.0])
    return encode(PosePacket(sequence, time, round(1e9 * time), to_seven(pose_of((x, 0.0, 0.0))), twist, flags))


def answer(data: bytes | None) -> ForcePacket:
    assert data is not None
    packet = decode(data)
    assert isinstance(packet, ForcePacket)
    return packet


def running(plate: Plate) -> TableProgram:
    """After the start, with the first pose of the motion."""
    program = TableProgram(plate)
    program.received(pose_packet(1, 0.0, 0.0, Flags(0)), 0.0)
    for i in range(10):
        program.cycle(i * STEP)
    program.received(pose_packet(2, 0.0, 0.0), 0.02)
    program.cycle(0.02)
    plate.asked.clear()
    return program


def test_without_a_new_pose_the_plate_goes_on_and_the_answer_says_where() -> None:
    plate = Plate()
    program = running(plate)
    program.received(pose_packet(3, STEP, 0.01), 0.022)
    for i in range(4):
        packet = answer(program.cycle(0.022 + i * STEP))
    places = [pose[0, 3] for pose, _ in plate.asked]
    assert places == pytest.approx([0.01 + 0.5 * STEP * i for i in range(4)])
    assert packet.pose_time == pytest.approx(2.0 * STEP)  # of two exchanges before: coasted by one step
    assert program.coasted == 3


def test_after_a_while_without_a_pose_the_plate_holds_and_then_the_motion_ends() -> None:
    plate = Plate()
    program = TableProgram(plate, FollowSettings(coasts=0.01, silence=0.03))
    program.received(pose_packet(1, 0.0, 0.0, Flags(0)), 0.0)
    program.cycle(0.0)
    program.received(pose_packet(2, 0.0, 0.0), STEP)
    told = [answer(program.cycle((1 + i) * STEP)) for i in range(20)]
    places = [pose[0, 3] for pose, _ in plate.asked]
    assert max(places) == pytest.approx(0.5 * 0.01)
    assert not plate.asked[10][1].any()  # it is not sent on
    assert told[-1].flags & Flags.REFUSED
    assert plate.stopped > 0


def test_a_problem_of_the_table_is_told_and_stays() -> None:
    plate = Plate()
    program = running(plate)
    plate.problem = "the belt is off"
    for i in range(3):
        program.received(pose_packet(3 + i, 0.0, 0.0), 0.022)
        packet = answer(program.cycle(0.022 + i * STEP))
        assert packet.flags & Flags.REFUSED
        assert packet.text == "the belt is off"
    assert len(plate.asked) == 1
    assert plate.stopped == 3


def force_packet(sequence: int, time: float, flags: Flags = Flags.READY, **more: Any) -> bytes:
    nowhere = to_seven(Mounting().plate_pose(np.diag([1.0, -1.0, -1.0, 1.0])))
    return encode(ForcePacket(sequence, time, more.pop("sent_ns", 0), 0, np.zeros(6), nowhere, flags, **more))


@pytest.fixture(scope="module")
def pair() -> RobotPair:
    return RobotPair(PairSettings())


def test_time_stands_still_until_the_table_is_ready(pair: RobotPair) -> None:
    pair.reset()
    program = DynamicsProgram(pair)
    for i in range(5):
        packet = decode(program.cycle(i * STEP)[0])
        assert isinstance(packet, PosePacket)
        assert not packet.flags & Flags.RUN
        assert not packet.twist.any()
        program.received(force_packet(i, 0.0, Flags(0)), i * STEP)
    assert pair.time == 0.0
    program.received(force_packet(9, 0.0), 5 * STEP)
    packet = decode(program.cycle(5 * STEP)[0])
    assert isinstance(packet, PosePacket)
    assert packet.flags & Flags.RUN
    assert program.phase is Phase.RUNNING
    assert pair.time == pytest.approx(STEP)


class Served:
    """A table in a thread of its own."""

    def __init__(self, table: MotionTable, **more: Any) -> None:
        self.server = TableServer(table, FollowSettings(silence=SILENCE), **more)
        self.figures: dict[str, Any] = {}
        self.thread = threading.Thread(target=lambda: self.figures.update(self.server.run()), daemon=True)

    def __enter__(self) -> Served:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.stop()
        self.thread.join(LIMIT)
        assert not self.thread.is_alive()


def test_two_touches_over_udp() -> None:
    pair = RobotPair(PairSettings(gap=0.5e-3))
    table = ImpedanceTable(TableSettings(kp=800.0), pair.mounting)
    with Served(table, faults={"drop": 0.02}, seed=1) as served:
        client = DynamicsClient(pair, LoopSettings(silence=SILENCE), served.server.url, touches=2, longest=1.5)
        figures = client.run()
        served.thread.join(LIMIT)  # the dynamics' end is the table's
        assert not served.thread.is_alive()
    assert len(figures["touches"]) == 2
    assert all(one["peak"] > 1.0 for one in figures["touches"])
    # whether a busy machine makes the loop active is not asked; that both words agree is
    assert all(one["is_passive"] is (one["energy_made"] <= 0.02) for one in figures["touches"])
    assert figures["delays"]["answers"] > 0.5 * figures["periods"]["count"]
    assert figures["delays"]["delay_p50"] > STEP
    assert served.figures["problem"] == ""
    json.dumps([figures, served.figures])  # as the programs print them


def test_what_the_table_refuses_ends_the_dynamics_with_its_words() -> None:
    pair = RobotPair(PairSettings(gap=0.19))  # farther than one impedance holds
    with Served(ImpedanceTable(TableSettings(), pair.mounting)) as served:
        client = DynamicsClient(pair, LoopSettings(silence=SILENCE), served.server.url)
        with refused(Refused, field="table"):
            client.run()


def test_without_a_table_the_dynamics_ends() -> None:
    client = DynamicsClient(RobotPair(PairSettings()), LoopSettings(), "udp://127.0.0.1:9", ready_within=0.2)
    with refused(NoAnswer, field="ready"):
        client.run()


def test_graphics_show_the_newest_picture_and_count_the_lost() -> None:
    pytest.importorskip("viser", reason="viser is not installed: pip install '.[view]'")
    from ada_experiments.motion_simulation.graphics import Graphics

    pair = RobotPair(PairSettings())
    graphics = Graphics(pair.settings, port=0)
    try:
        port = open_packets(graphics.url)
        plate = to_seven(pose_of((0.0, 0.0, -0.5)))
        for sequence, time in ((1, 0.0), (2, 0.02), (5, 0.08), (4, 0.06)):
            force, place = np.array([-3.0, 0, 0, 0, 0, 0]), np.array([3.6, 0.7, 0.0])
            flags = Flags.TOUCHING
            picture = PicturePacket(sequence, time, force, place, plate, 0.005, pair.q, flags)
            port.send(encode(picture))
        port.send(b"no picture")
        until(lambda: (graphics.tick(), graphics.pictures)[1] == 3, "three pictures")
        assert graphics.lost == 2
        port.close()
    finally:
        graphics.run(0.0)


@pytest.mark.parametrize(
    "arguments",
    [
        ["dynamics"],
        ["dynamics", "--table-url", "udp://127.0.0.1:9", "--touches", "0"],
        ["table", "--table", "impedance", "--table-set", "kq=3"],
        ["table", "--table-set", "kp"],
        ["table", "--hexa-url", "udp://127.0.0.1:9"],
        ["table", "--hexa-url", "dry:", "--sensor-url", "dry:", "--table-set", "kp=3"],
        ["table", "--hexa-url", "dry:", "--sensor-url", "dry:", "--sensor", "jr3"],
        ["table", "--table-set", "kp=-1"],
        ["table", "--table", "impedance", "--fault", "drops=1"],
    ],
)
def test_wrong_arguments_are_refused(arguments: list[str]) -> None:
    assert command.main(arguments) == 2


def test_all_programs_on_this_machine() -> None:
    arguments = ["all", "--table", "impedance", "--pair-set=gap=0.0005", "--loop-set=silence=10.0"]
    arguments += ["--follow-set=silence=10.0", "--longest=1.5"]
    process = subprocess.Popen(
        [sys.executable, "-m", "ada_experiments.motion_simulation", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    output, errors = ended(process, 2 * LIMIT)
    assert process.returncode == 0, errors
    figures = json.loads(output)
    assert figures["dynamics"]["touches"][0]["peak"] > 1.0
    assert figures["table"]["problem"] == ""
