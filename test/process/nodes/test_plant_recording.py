# SPDX-License-Identifier: Apache-2.0
"""What a simulation's recording has no time for, or cannot write: it is counted, said, and holds nobody up."""

from __future__ import annotations

import errno
import threading

import pytest
import waiting
from simulated_world import plant

from ada_dynamics.simulation.log import Log
from ada_dynamics.simulation.record.recorder import McapRecorder
from ada_robot.node.plant_recording import PlantRecording
from ada_robot.ros.status import Level

pytest.importorskip("mcap")


LIMIT = 60.0  # [s] after which a test has failed


class Disk:
    """What the recorder of a recording does: nothing until it is let go, and then it may fail."""

    def __init__(self):
        self.begun, self.go, self.is_broken = threading.Event(), threading.Event(), False
        self.failures = []

    def recorder(self):
        disk = self

        class Recorder(McapRecorder):
            def append(self, *row):
                disk.begun.set()
                assert disk.go.wait(LIMIT)
                if disk.is_broken:
                    raise OSError(errno.ENOSPC, "no space left")
                super().append(*row)

        return Recorder


@pytest.fixture
def slow(tmp_path):
    """A recording of a swing that has room for five states, one of which it is writing; the plant, it, and its disk."""
    disk, rod = Disk(), plant(robot="four_bar", idle="release")
    recording = PlantRecording(
        str(tmp_path / "run.mcap"), rod, most=5, recorder=disk.recorder(), on_failure=disk.failures.append
    )
    recording.take(rod.snapshot())
    assert disk.begun.wait(LIMIT)
    for _ in range(12):
        rod.advance(1)
        recording.take(rod.snapshot())
    yield recording, disk
    disk.go.set()


def test_states_that_found_no_room_are_counted_and_the_file_says_how_many(slow, tmp_path):
    recording, disk = slow
    status = recording.status()
    assert (status.level, recording.lost) == (Level.WARN, 7) and status.message.startswith("7 states are missing in")
    disk.go.set()
    recording.close()
    log = Log.load(tmp_path / "run.mcap")
    assert (len(log), log.info["lost"], log.info["complete"]) == (6, 7, False)


def test_a_recording_that_fails_in_any_way_says_so_and_ends_at_once_however_many_states_wait(slow):
    recording, disk = slow
    disk.is_broken = True
    disk.go.set()
    assert waiting.until(lambda: disk.failures, "word of it at once") == [recording.failure]
    ending = threading.Thread(target=recording.close, daemon=True)
    ending.start()
    ending.join(LIMIT)
    assert not ending.is_alive()
    assert recording.status().level is Level.ERROR and "no space left" in recording.status().message


def test_a_whole_recording_is_complete_and_says_nothing_of_losses(tmp_path):
    rod = plant(robot="four_bar", idle="release")
    recording = PlantRecording(str(tmp_path / "run.mcap"), rod)
    for _ in range(50):
        rod.advance(1)
        recording.take(rod.snapshot())
    recording.close()
    log = Log.load(tmp_path / "run.mcap")
    assert (len(log), log.info["complete"], "lost" in log.info) == (50, True, False)
    assert recording.status().level is Level.OK
