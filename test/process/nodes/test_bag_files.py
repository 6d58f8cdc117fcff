# SPDX-License-Identifier: Apache-2.0
"""Recordings of messages by threads and processes that are killed or have no room, and players; no ROS needed."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import pytest
import waiting

pytest.importorskip("mcap")

from mcap.reader import make_reader

from ada_dynamics.clock import ManualClock
from ada_dynamics.simulation.record import messages
from ada_dynamics.simulation.record.mcap_writing import Topic, TopicWriter
from ada_tools.nodes.bag import message_types
from ada_tools.nodes.bag.playing import Player
from ada_tools.nodes.bag.reading import RecordedMessage, TopicFile
from ada_tools.nodes.bag.recording import Recording

A = Topic("/a", "std_msgs/msg/Float64", "float64 data\n", "", "RIHS01_x")


def raw(i: int) -> bytes:
    return b"\x00\x01\x00\x00" + bytes([i % 256]) * (i % 50)


@pytest.mark.ros
@pytest.mark.parametrize("kind", list(messages.DEFINITIONS))
def test_installed_definitions_have_the_layout_of_those_in_simulations_recordings(kind):
    pytest.importorskip("rclpy")
    if kind == messages.TRANSFORMS:
        pytest.importorskip("tf2_msgs")
    installed = message_types.definition(kind)
    assert message_types.layout(kind, installed) == message_types.layout(kind, messages.DEFINITIONS[kind])


FULL = """
import resource, sys
from ada_dynamics.errors import RecordingError
from ada_dynamics.simulation.record.mcap_writing import Topic, TopicWriter
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
writer = TopicWriter({path!r})
import random
source = random.Random(0)
topic = Topic("/a", "std_msgs/msg/String", "string data")
try:
    for i in range(10**6):
        writer.add(topic, i, i, source.randbytes(2000))
        if i % 10 == 9:
            writer.flush()
except RecordingError as problem:
    print(i - i % 10, problem)
"""


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="no limit of file sizes here")
def test_a_full_disk_leaves_a_whole_file_that_others_read(tmp_path):
    path = tmp_path / "x.mcap"
    code = FULL.format(limit=100_000, path=str(path))
    told_by = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    count, _, text = told_by.partition(" ")
    assert "cannot be written: File too large" in text
    file = TopicFile(path)
    assert not file.problem
    assert len(file) == int(count) > 10
    with path.open("rb") as stream:
        assert sum(1 for _ in make_reader(stream).iter_messages()) == len(file)


KILLED = """
import os, signal, time
from ada_tools.nodes.bag.recording import Recording
from ada_dynamics.simulation.record.mcap_writing import Topic, TopicWriter
recording = Recording(TopicWriter({path!r}))
topic = Topic("/a", "std_msgs/msg/String", "string data")
i = 0
while recording.messages < 200:
    recording.take(topic, i, i, b"0123456789")
    i += 1
    time.sleep(1e-4)
print(recording.messages, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_process_leaves_all_that_was_counted_as_written(tmp_path):
    path = tmp_path / "x.mcap"
    ended = subprocess.run(
        [sys.executable, "-c", KILLED.format(path=str(path))], capture_output=True, text=True, check=False
    )
    assert ended.returncode == -signal.SIGKILL
    file = TopicFile(path)
    assert "no end" in file.problem
    assert len(file) >= int(ended.stdout) >= 200
    assert [m.at for m in file.messages(file.channels)] == list(range(len(file)))


def test_a_recording_from_many_threads_has_all_messages(tmp_path):
    recording = Recording(TopicWriter(tmp_path / "x.mcap"), period=0.01)
    threads = [
        threading.Thread(target=lambda k=k: [recording.take(A, 1000 * k + i, 0, raw(i)) for i in range(500)])
        for k in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    recording.close()
    recording.close()
    assert (recording.messages, recording.dropped) == (2000, 0)
    assert len(TopicFile(tmp_path / "x.mcap")) == 2000
    recording.take(A, 1, 1, raw(1))
    assert recording.dropped == 1


def test_a_recording_that_fails_says_so_once_and_counts_what_is_not_in_it(tmp_path):
    failures = []
    failed = threading.Event()
    recording = Recording(
        TopicWriter(tmp_path / "x.mcap"), on_failure=lambda text: (failures.append(text), failed.set())
    )
    recording.take(A, -1, 0, raw(1))  # a time that MCAP does not have
    assert failed.wait(waiting.LIMIT)
    recording.take(A, 1, 1, raw(1))
    recording.close()
    assert len(failures) == 1 and "failed" in failures[0]
    assert recording.dropped == 2


class Played:
    """A player, what it publishes and the times of its clock, until its end."""

    def __init__(self, recorded: Callable[[], Iterator[RecordedMessage]] = lambda: iter(RECORDED), **options) -> None:
        self.heard: list[RecordedMessage] = []
        self.log: list[object] = []  # times, and messages
        self.failures: list[Exception] = []
        self.ended = threading.Event()
        self.player = Player(
            recorded, self._take, tick=self.log.append, on_end=self.ended.set, on_failure=self._fail, **options
        )

    def _take(self, message: RecordedMessage) -> None:
        self.heard.append(message)
        self.log.append(message)

    def _fail(self, problem: Exception) -> None:
        self.failures.append(problem)
        self.ended.set()

    def __enter__(self) -> Played:
        self.player.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.player.stop()
        self.player.stop()  # idempotent

    def has(self, count: int) -> None:
        waiting.until(lambda: len(self.heard) >= count, f"{count} messages")

    def is_over(self) -> bool:
        over = self.ended.wait(waiting.LIMIT)
        self.ended.clear()
        return over


MILLI = 10**6
RECORDED = [RecordedMessage(1, 10**9 + 2 * MILLI * i, raw(i)) for i in range(20)]


@pytest.mark.parametrize("rate", [0.5, 4.0])
def test_messages_are_played_in_order_when_they_are_due_and_each_behind_its_time(rate):
    clock = ManualClock(5.0)
    with Played(rate=rate, clock=clock) as played:
        for count in (1, 4, 20):
            clock.advance(5.0 + 2e-3 * (count - 1) / rate - clock.now() + 1e-5)
            played.has(count)
            assert len(played.heard) == count, "none before its time"
        assert played.is_over()
    assert played.heard == RECORDED and played.player.position == RECORDED[-1].at
    times = [at for at in played.log if isinstance(at, int)]
    assert times == sorted(times)
    assert all(played.log[played.log.index(message) - 1] == message.at for message in RECORDED)


def test_a_player_pauses_loops_restarts_from_the_end_and_changes_its_rate_at_once():
    with Played(paused=True, loop=True) as played:
        played.player.set_rate(0.0)
        assert not played.log, "a paused player plays nothing"
        played.player.pause(False)
        played.has(45)
        played.player.set_loop(False)
        assert played.is_over()
        count = len(played.heard)
        assert count % 20 == 0 and played.heard[:60] == RECORDED * 3
        played.player.restart()
        assert played.is_over()
        assert played.heard[count:] == RECORDED
    far = [RecordedMessage(1, 0, b""), RecordedMessage(1, 3600 * 10**9, b"")]  # an hour apart
    with Played(lambda: iter(far)) as played:
        played.has(1)
        assert not played.ended.is_set()
        played.player.set_rate(0.0)
        assert played.is_over()
