# SPDX-License-Identifier: Apache-2.0
"""What a simulation's recording has no time for, or cannot write: it is counted, said, and holds nobody up."""

from __future__ import annotations

import threading

import pytest
from simulated_world import plant

from ada_dynamics.simulation.log import Log
from ada_robot.node import plant_recording
from ada_robot.node.plant_recording import PlantRecording
from ada_robot.ros.status import Level

pytest.importorskip("mcap")


@pytest.fixture
def slow(tmp_path, monkeypatch):
    """A recording of a swing whose disk does nothing until it is let go; both, and the plant."""
    monkeypatch.setattr(plant_recording, "MOST_WAITING", 5)
    rod = plant(robot="four_bar", idle="release")
    recording = PlantRecording(str(tmp_path / "run.mcap"), rod)
    begun, go, append = threading.Event(), threading.Event(), recording._recorder.append

    def held(*row):
        begun.set()
        assert go.wait(30.0)
        append(*row)

    monkeypatch.setattr(recording._recorder, "append", held)
    recording.take(rod.snapshot())
    assert begun.wait(30.0)
    yield rod, recording, go
    go.set()


def test_states_that_found_no_room_are_counted_and_the_file_says_how_many(slow, tmp_path):
    rod, recording, go = slow
    for _ in range(12):
        rod.advance(1)
        recording.take(rod.snapshot())
    status = recording.status()
    assert (status.level, recording.lost) == (Level.WARN, 7) and status.message.startswith("7 states are not in")
    go.set()
    recording.close()
    log = Log.load(tmp_path / "run.mcap")
    assert (len(log), log.info["lost"], log.info["complete"]) == (6, 7, False)


def test_a_recording_that_fails_in_any_way_says_so_and_ends_at_once_however_many_states_wait(slow, monkeypatch):
    rod, recording, go = slow
    for _ in range(12):
        rod.advance(1)
        recording.take(rod.snapshot())

    def broken(*row):
        raise ZeroDivisionError("nobody foresaw it")

    monkeypatch.setattr(recording._recorder, "append", broken)
    go.set()
    ending = threading.Thread(target=recording.close, daemon=True)
    ending.start()
    ending.join(10.0)
    assert not ending.is_alive()
    assert recording.status().level is Level.ERROR and "nobody foresaw it" in recording.status().message


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
