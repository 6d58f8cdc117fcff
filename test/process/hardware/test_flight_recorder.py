# SPDX-License-Identifier: Apache-2.0
"""The flight recorder: bounded memory, exact rows, files that viewers open, and not too many of them."""

import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from flight_records import flight_record
from lock_step import LockStep
from waiting import LIMIT

from ada_robot.contract import Demand, Mode
from ada_robot.driver import Alarm, Feedback
from ada_robot.safety import flight_file
from ada_robot.safety.flight_recorder import (
    EVENT_SIZE,
    EVENTS,
    Flight,
    FlightMemory,
    FlightRecorder,
    new_memory,
    record_folder,
    sibling_environment,
)
from ada_robot.safety.phases import Phase
from ada_robot.safety.settings import SafetySettings
from ada_tools.commands.record import topics_of

JOINTS = ("a", "b")


@pytest.fixture
def descriptor():
    made = new_memory(Flight("arm", JOINTS, 0.002, 50))
    yield made
    os.close(made)


def fed(recorder, count, first=0):
    for i in range(first, first + count):
        numbers = np.array([i, -i], dtype=float)
        feedback = Feedback(1.0 + i, numbers, 2 * numbers, 3 * numbers, is_fresh=i % 2 == 0, is_driven=True)
        demand = Demand(Mode.VELOCITY, 4 * numbers) if i % 3 else None
        recorder.cycle(2.0 + 0.002 * i, Phase.ACTIVE, demand, feedback)


def test_rows_are_kept_bit_for_bit_and_the_oldest_overwritten(descriptor, tmp_path):
    recorder, memory = FlightRecorder(descriptor, tmp_path, 5), FlightMemory(descriptor)
    fed(recorder, 5)
    rows = memory.rows()
    assert rows.shape == (5, 14)
    np.testing.assert_array_equal(rows[:, 0], 2.0 + 0.002 * np.arange(5))
    np.testing.assert_array_equal(rows[4, 6:], [16.0, -16.0, 4.0, -4.0, 8.0, -8.0, 12.0, -12.0])
    assert np.isnan(rows[3, 6:8]).all()
    assert rows[:, 2].tolist() == [-1, 1, 1, -1, 1]
    assert rows[:, 3].tolist() == [3, 2, 3, 2, 3]
    fed(recorder, 118, 5)
    # the row that would be written next is not trusted: its writer may be at it
    np.testing.assert_array_equal(memory.rows()[:, 8], np.arange(74.0, 123.0))
    none = np.full(2, math.nan)
    recorder.cycle(1.0, Phase.STOPPED, None, Feedback(1.0, none, none, none, alarms=(Alarm(0x60, "x"),)))
    assert memory.rows()[-1, 4] == 0x60
    assert Flight("pa10", tuple("abcdefg"), 0.002, 60_000).size < 20e6


def test_the_oldest_events_are_overwritten_and_long_ones_cut(descriptor):
    memory = FlightRecorder(descriptor, None, 5)
    for i in range(EVENTS + 10):
        memory.event(float(i), f"{i}: " + "ü" * EVENT_SIZE)
    events = FlightMemory(descriptor).events()
    assert [event.time for event in events] == list(range(10, EVENTS + 10))
    assert events[0].text.startswith("10: üüü")


def test_a_file_holds_every_cycle_and_event_for_viewers(descriptor, tmp_path):
    recorder, memory = FlightRecorder(descriptor, tmp_path, 5), FlightMemory(descriptor)
    fed(recorder, 45)
    recorder.event(2.05, "stopped: alarm")
    path = tmp_path / "flight_arm.mcap"
    flight_file.write(memory, path, "alarm: é")
    found, rows = flight_record(path), memory.rows()
    offset = int(found.texts["wall_offset"])
    assert [at - offset for at in found.times] == np.round(1e9 * rows[:, 0]).astype(int).tolist()
    np.testing.assert_array_equal(found.numbers["/flight/cycle", "data"], rows[:, 1:6])
    for i, field in enumerate(("position", "velocity", "effort")):
        np.testing.assert_array_equal(found.numbers["/joint_states", field], rows[:, 8 + 2 * i : 10 + 2 * i])
    np.testing.assert_array_equal(found.numbers["/commanded", "velocity"], rows[:, 6:8])
    assert np.isnan(found.numbers["/commanded", "position"]).all()
    assert (found.texts["why"], found.texts["device"]) == ("alarm: é", "arm")
    assert found.events == ["stopped: alarm"] and set(found.phases) == {"active"}
    assert list(tmp_path.iterdir()) == [path], "nothing unfinished is left"
    shown = topics_of(path)
    assert shown["topics"]["/joint_states"] == ["sensor_msgs/msg/JointState", len(rows)]
    assert shown["reason"] == "alarm: é" and [text for _, text in shown["events"]] == found.events


def test_a_memory_is_written_by_a_process_of_low_priority_with_times_of_the_wall_clock(
    descriptor, tmp_path, monkeypatch
):
    slower = []
    monkeypatch.setattr(os, "nice", slower.append)
    recorder = FlightRecorder(descriptor, tmp_path, 5)
    none = np.zeros(2)
    began = time.time_ns()
    for now in (time.monotonic() - 1.0, time.monotonic()):
        recorder.cycle(now, Phase.ACTIVE, None, Feedback(now, none, none, none))
    old = [written(tmp_path, f"flight_arm_20260101_12000{i}_000.mcap", i) for i in range(3)]
    path = tmp_path / "flight_arm_20260101_130000_000.mcap"
    flight_file.main(descriptor, path, 2, "alarm")
    assert slower == [10]
    assert sorted(tmp_path.iterdir()) == [old[-1], path]
    found = flight_record(path)
    assert found.texts["why"] == "alarm"
    assert began <= found.times[-1] <= time.time_ns()  # of the second row, by the wall clock


def written(folder, name, seconds):
    path = folder / name
    path.touch()
    os.utime(path, (seconds, seconds))
    return path


def test_pruning_deletes_nothing_that_this_recorder_did_not_write(tmp_path, monkeypatch):
    ours = [written(tmp_path, f"flight_arm_20260101_12000{i}_000.mcap", 100 + i) for i in range(3)]
    foreign = [
        written(tmp_path, "flight_pa10_20260101_120000_000.mcap", 1),  # of another device
        written(tmp_path, "flight_arm_20260101_120008_000_best.mcap", 3),  # renamed, to be kept
    ]
    for name in ("flight_plan.txt", "flight_log"):
        (tmp_path / name).write_bytes(b"Tokyo")
        foreign.append(tmp_path / name)
    (tmp_path / "flight_arm_20250101_120003_000.mcap").mkdir()
    (tmp_path / "flight_arm_20250101_120004_000.mcap").symlink_to(ours[-1])
    foreign += [tmp_path / f"flight_arm_20250101_12000{i}_000.mcap" for i in (3, 4)]
    for path in foreign[2:-2]:
        os.utime(path, (4, 4))
    flight_file.prune(tmp_path, 1, "arm")
    assert sorted(tmp_path.iterdir()) == sorted([*foreign, ours[-1]])
    other_user = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: other_user)
    flight_file.prune(tmp_path, 0, "arm")
    assert ours[-1].exists()


def test_the_default_folder_is_the_users_own_and_one_that_cannot_be_written_is_reported(
    descriptor, tmp_path, monkeypatch, capfd
):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert record_folder("") == tmp_path / "ada_dynamics" / "flights"
    (tmp_path / "file").write_text("in the way")
    recorder = FlightRecorder(descriptor, tmp_path / "file" / "flights", 5)
    assert recorder.save("alarm").wait(LIMIT) == 1
    assert "cannot be written" in capfd.readouterr().err


def test_the_record_survives_the_death_of_the_process_that_filled_it(descriptor, tmp_path):
    program = f"""
import os, signal
import numpy as np
from ada_robot.driver import Feedback
from ada_robot.safety.flight_recorder import FlightRecorder
from ada_robot.safety.phases import Phase
recorder, x = FlightRecorder({descriptor}, None, 1), np.ones(2)
for i in range(30): recorder.cycle(float(i), Phase.ACTIVE, None, Feedback(float(i), x, x, x))
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", program], pass_fds=[descriptor], env=sibling_environment())
    assert done.returncode == -signal.SIGKILL
    recorder = FlightRecorder(descriptor, tmp_path, 5)
    assert recorder.save("killed").wait(LIMIT) == 0
    found = flight_record(Path(recorder.newest))
    assert found.times[-1] - int(found.texts["wall_offset"]) == 29 * 10**9


def test_a_flight_holds_every_demand_and_event(descriptor, tmp_path):
    recorder = FlightRecorder(descriptor, tmp_path, 5)
    world = LockStep(SafetySettings(), recorder=recorder, joint_count=len(JOINTS))
    world.active()
    world.seconds(0.05, Mode.VELOCITY, 0.5)
    world.arm.alarms = (Alarm(0x60, "velocity deviation", "j2"),)
    world.step()
    assert recorder.save(world.cycle.latched).wait(LIMIT) == 0
    found = flight_record(Path(recorder.newest))
    commanded = np.array([demand.values for demand in world.arm.demands])
    recorded = found.numbers["/commanded", "velocity"]
    driven = np.isfinite(recorded[:, 0])
    np.testing.assert_array_equal(recorded[driven], commanded[: driven.sum()])
    assert found.phases[-1] == "stopped" and "j2" in found.events[-1]
    assert found.texts["why"] == world.cycle.latched
