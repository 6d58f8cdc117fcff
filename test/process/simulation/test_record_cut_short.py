# SPDX-License-Identifier: Apache-2.0
"""Recordings that have no end: killed runs, full disks, damage; and files that are no recordings."""

from __future__ import annotations

import signal
import subprocess
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from flight_records import recording
from log_examples import ROWS, motion, robot
from paths import SUPPORT

import ada_dynamics as ada
from ada_dynamics.clock import ManualClock
from ada_dynamics.errors import RecordingCutShortWarning, RecordingError
from ada_dynamics.simulation.log import Log
from ada_dynamics.simulation.record.recorder import CHUNK_BYTES, McapRecorder

reader, writer = pytest.importorskip("mcap.reader"), pytest.importorskip("mcap.writer")

ROW_BYTES = 8 * 13  # t, q, v, a, tau of three joints
CHILD = """
import resource, sys
sys.path.insert(0, {tests!r})
import numpy as np
from log_examples import robot
import ada_dynamics as ada
from ada_dynamics.errors import RecordingError
from ada_dynamics.simulation.record.recorder import McapRecorder
limit = {limit}
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
model = robot("arm")
rng = np.random.default_rng(0)
rows = 0
try:
    with McapRecorder({path!r}, model) as recorder:
        while True:
            x = rng.normal(size=(1000, 3))
            recorder.append(ada.Log(model, (rows + np.arange(1000)) * 1e-3, x, x, x, x))
            rows += 1000
            print(rows, flush=True)
except RecordingError as problem:
    print("refused:", problem, flush=True)
"""


def child(path: Path, limit: int = 0) -> subprocess.Popen:
    tests = str(SUPPORT)
    code = CHILD.format(tests=tests, path=str(path), limit=limit)
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)


def cut_short(path: Path) -> Log:
    with pytest.warns(RecordingCutShortWarning):
        log = Log.load(path)
    assert log.info["complete"] is False
    return log


def test_a_killed_run_loses_no_more_than_its_last_chunk(tmp_path):
    path = tmp_path / "run.mcap"
    with child(path) as run:
        rows = 0
        while rows < 60_000:
            rows = int(run.stdout.readline())
        run.kill()
        rows = max([rows, *(int(line) for line in run.stdout.read().split())])
        assert run.wait() == -signal.SIGKILL
    log = cut_short(path)
    assert np.array_equal(log.t, np.arange(len(log)) * 1e-3)
    assert np.array_equal(log.q[:1000], np.random.default_rng(0).normal(size=(1000, 3)))
    assert rows - len(log) <= CHUNK_BYTES // ROW_BYTES + 1000


def test_a_full_disk_ends_a_recording_with_what_is_there_readable(tmp_path):
    path, limit = tmp_path / "run.mcap", 2_000_000
    with child(path, limit) as run:
        *_, last = run.stdout.read().splitlines()
    assert last.startswith(f"refused: the recording {path} cannot be written: File too large.")
    assert "is readable" in last
    assert path.stat().st_size <= limit
    assert recording(path).is_whole, "with the end that other readers need"
    with path.open("rb") as stream:
        assert sum(1 for _ in reader.make_reader(stream).iter_messages()) == len(recording(path).messages)
    log = cut_short(path)
    assert len(log) * ROW_BYTES > limit - 2 * CHUNK_BYTES
    assert np.array_equal(log.t, np.arange(len(log)) * 1e-3)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_disk_that_is_full_from_the_beginning_is_refused():
    with pytest.raises(RecordingError):
        McapRecorder("/dev/full", robot("arm"))


@pytest.fixture
def filling(monkeypatch):
    """A disk with room for the beginning of the file and for what is said of the robot."""
    room = iter([2**40] * 2)
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=next(room, 0)))


def test_after_a_failure_a_recorder_says_so_again_and_closes(tmp_path, filling):
    log = motion("arm")
    recorder = McapRecorder(tmp_path / "run.mcap", log.model, clock=ManualClock())  # which writes when it is told to
    recorder.append(Log(log.model, *(getattr(log, name) for name in ROWS)))
    for _ in range(2):
        with pytest.raises(RecordingError):
            recorder.flush()
    recorder.close()
    assert len(cut_short(tmp_path / "run.mcap")) == 0


def test_a_simulation_that_fills_the_disk_has_all_of_its_motion_in_the_error(tmp_path, filling):
    with pytest.raises(RecordingError) as caught:
        ada.Simulation(robot("arm"), q=[0.3, 0.2, -0.5], step=1e-3).run(1e9, record=tmp_path / "run.mcap")
    log = caught.value.log
    assert len(log) > 1000
    assert np.allclose(np.diff(log.t), 1e-3, atol=1e-12)
    assert np.isfinite(log.q).all()


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> tuple[bytes, Log]:
    log = motion("arm")
    path = tmp_path_factory.mktemp("whole") / "run.mcap"
    with McapRecorder(path, log.model) as recorder:
        for i in range(0, 60, 10):
            recorder.append(Log(log.model, *(getattr(log, name)[i : i + 10] for name in ROWS)))
            recorder.flush()
    return path.read_bytes(), log


def test_a_file_cut_anywhere_gives_its_first_rows(whole, tmp_path):
    data, log = whole
    path = tmp_path / "cut.mcap"
    counts = []
    for size in np.linspace(8, len(data), 60, endpoint=False).astype(int).tolist():
        path.write_bytes(data[:size])
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RecordingCutShortWarning)
                found = Log.load(path)
        except RecordingError as problem:
            assert not counts  # only before it is said what the file holds
            assert "no metadata 'ada_dynamics'" in str(problem)
            continue
        assert len(found) % 10 == 0
        for name in ROWS:
            assert np.array_equal(getattr(found, name), getattr(log, name)[: len(found)])
        counts.append(len(found))
    assert counts == sorted(counts)
    assert set(counts) == {0, 10, 20, 30, 40, 50, 60}


def test_damage_is_reported_and_never_read_as_numbers(whole, tmp_path):
    data, log = whole
    path = tmp_path / "damaged.mcap"
    first_chunk = data.index(b"\x06", data.index(b"ada_dynamics_end") // 4)
    for at in np.linspace(first_chunk, len(data) - 1, 80).astype(int).tolist():
        path.write_bytes(data[:at] + bytes([data[at] ^ 0x40]) + data[at + 1 :])
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RecordingCutShortWarning)
                found = Log.load(path)
        except RecordingError:
            continue
        assert np.array_equal(found.q, log.q[: len(found)])
        assert len(found) == 60 or not found.info["complete"]


def test_a_recording_cut_short_can_be_written_again_with_an_end(whole, tmp_path):
    data, log = whole
    path = tmp_path / "cut.mcap"
    path.write_bytes(data[: len(data) // 2])
    found = cut_short(path)
    again = Log.load(found.to_mcap(tmp_path / "again.mcap"))  # no warning: the file is whole
    assert np.array_equal(again.q, log.q[: len(found)])
    assert again.info["complete"] is False  # but not the motion


def test_other_files_are_refused_by_name(tmp_path):
    (tmp_path / "empty.mcap").touch()
    (tmp_path / "some.csv").write_text("t,q\n")
    (tmp_path / "beginning.mcap").write_bytes(b"\x89MCAP0\r\n")
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    with (tmp_path / "foreign.mcap").open("wb") as file:
        foreign = writer.Writer(file)
        foreign.start()
        foreign.finish()
    names = [file.name for file in tmp_path.iterdir()]
    for name in ("missing.npz", ".", *names):
        with pytest.raises(RecordingError) as caught:
            Log.load(tmp_path / name)
        assert str(tmp_path) in str(caught.value)


def test_a_recording_of_a_later_format_is_refused(tmp_path):
    with (tmp_path / "new.mcap").open("wb") as file:
        later = writer.Writer(file)
        later.start()
        later.add_metadata(
            "ada_dynamics",
            dict.fromkeys(("model", "external", "contacts", "contact_frames", "info"), "{}") | {"format": "99"},
        )
        later.finish()
    with pytest.raises(RecordingError):
        Log.load(tmp_path / "new.mcap")
