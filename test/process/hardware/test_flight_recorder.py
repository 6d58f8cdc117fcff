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
from lock_step import LockStep
from waiting import LIMIT

from ada_dynamics.errors import RecordingError
from ada_dynamics.simulation.record.mcap_files import TopicWriter
from ada_robot.contract import Demand, Mode
from ada_robot.driver import Alarm, Feedback
from ada_robot.safety import flight_file
from ada_robot.safety.flight_file import FlightRecord, columns_of
from ada_robot.safety.flight_recorder import (
    EVENT_SIZE,
    EVENTS,
    Event,
    Flight,
    FlightMemory,
    FlightRecorder,
    new_memory,
    record_folder,
    sibling_environment,
)
from ada_robot.safety.phases import Phase
from ada_robot.safety.settings import SafetySettings

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
    assert rows.shape == (5, len(columns_of(memory.flight)))
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
    memory = FlightMemory(descriptor)
    for i in range(EVENTS + 10):
        memory.event(float(i), f"{i}: " + "ü" * EVENT_SIZE)
    events = FlightMemory(descriptor).events()
    assert [event.time for event in events] == list(range(10, EVENTS + 10))
    assert events[0].text.startswith("10: üüü")


def record(rows=2000):
    flight = Flight("arm", JOINTS, 0.002, rows)
    table = np.random.default_rng(1).normal(size=(rows, flight.columns))
    table[:, 0] = 1000.0 + 0.002 * np.arange(rows)
    table[:, 1:3] = 1.0
    events = [Event(1000.5, "active: activated"), Event(1001.0, "stopped: alarm")]
    return FlightRecord(flight, "alarm: é", table, events, 1_700_000_000_000_000_000)


def written_record(record, path):
    flight_file.write(record, path)
    return path


def test_a_file_holds_every_row_and_event(tmp_path):
    wanted = record(5000)
    path = written_record(wanted, tmp_path / "flight_arm.mcap")
    found = flight_file.read(path)
    np.testing.assert_array_equal(found.rows, wanted.rows)
    assert (found.why, found.flight) == (wanted.why, wanted.flight)
    assert [event.text for event in found.events] == [event.text for event in wanted.events]
    np.testing.assert_allclose([event.time for event in found.events], [1000.5, 1001.0], atol=1e-6)
    assert list(tmp_path.iterdir()) == [path], "nothing unfinished is left"


def test_viewers_get_joint_states_and_commands(tmp_path):
    reader = pytest.importorskip("mcap.reader")
    decoder = pytest.importorskip("mcap_ros2.decoder")
    path = written_record(record(10_000), tmp_path / "flight_arm.mcap")
    with path.open("rb") as file:
        made = reader.make_reader(file, decoder_factories=[decoder.DecoderFactory()])
        messages = {}
        for _, channel, _, message in made.iter_decoded_messages():
            messages.setdefault(channel.topic, []).append(message)
    assert set(messages) == {"/flight/rows", "/flight/events", "/joint_states", "/commanded"}
    # 20 s of 500 Hz: the last ten all, the others 100 per second
    assert len(messages["/joint_states"]) == pytest.approx(5000 + 1000, abs=3)
    last = messages["/joint_states"][-1]
    rows = record(10_000).rows
    assert list(last.name) == ["a", "b"]
    np.testing.assert_array_equal(last.position, rows[-1, 8:10])
    np.testing.assert_array_equal(last.effort, rows[-1, 12:14])
    commanded = messages["/commanded"][-1]
    np.testing.assert_array_equal(commanded.velocity, rows[-1, 6:8])
    assert np.isnan(commanded.position).all()
    stamp = last.header.stamp
    assert stamp.sec + 1e-9 * stamp.nanosec == pytest.approx(1_700_000_000 + rows[-1, 0], abs=1e-6)


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
    found = flight_file.read(path)
    assert found.why == "alarm" and found.flight.joints == JOINTS
    assert began <= found.times[-1] <= time.time_ns()  # of the second row, by the wall clock


def test_a_file_that_is_no_record_is_refused(tmp_path):
    for name in ("damaged.mcap", "others.mcap", "missing.mcap"):
        path = tmp_path / name
        if name == "damaged.mcap":
            path.write_bytes(b"\x89MCAP0\r\nnonsense")
        elif name == "others.mcap":
            with TopicWriter(path) as out:
                out.metadata("plan", {"to": "Tokyo"})
        with pytest.raises(RecordingError):
            flight_file.read(path)


def written(folder, name, seconds, device="arm"):
    small = record(5)
    flight = Flight(device, small.flight.joints, small.flight.period, 5)
    path = written_record(small._replace(flight=flight), folder / name)
    os.utime(path, (seconds, seconds))
    return path


def test_the_oldest_records_beyond_a_number_are_deleted(tmp_path):
    paths = [written(tmp_path, f"flight_arm_20260101_12000{i}_000.mcap", i) for i in range(6)]
    for keep in (2, 3):
        flight_file.prune(tmp_path, keep, "arm")
        assert sorted(tmp_path.iterdir()) == paths[4:]


def test_pruning_deletes_nothing_that_this_recorder_did_not_write(tmp_path, monkeypatch):
    ours = [written(tmp_path, f"flight_arm_20260101_12000{i}_000.mcap", 100 + i) for i in range(3)]
    foreign = [
        written(tmp_path, "flight_pa10_20260101_120000_000.mcap", 1, device="pa10"),  # of another device
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
    assert flight_file.read(Path(recorder.newest)).rows[-1, 0] == 29.0


def test_a_flight_holds_every_demand_and_event(descriptor, tmp_path):
    recorder = FlightRecorder(descriptor, tmp_path, 5)
    world = LockStep(SafetySettings(), recorder=recorder, joint_count=len(JOINTS))
    world.active()
    world.seconds(0.05, Mode.VELOCITY, 0.5)
    world.arm.alarms = (Alarm(0x60, "velocity deviation", "j2"),)
    world.step()
    assert recorder.save(world.cycle.latched).wait(LIMIT) == 0
    found = flight_file.read(Path(recorder.newest))
    commanded = np.array([demand.values for demand in world.arm.demands])
    driven = np.isfinite(found.vector(0)[:, 0])
    np.testing.assert_array_equal(found.vector(0)[driven], commanded[: driven.sum()])
    assert found.phases[-1] == "stopped" and "j2" in found.events[-1].text
    assert found.why == world.cycle.latched
