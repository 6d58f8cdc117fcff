# SPDX-License-Identifier: Apache-2.0
"""Files of messages: what is written is read, whoever wrote it and however it ended; no ROS needed."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from waiting import until

pytest.importorskip("mcap")

from mcap import writer as mcap_writer
from mcap.reader import make_reader

from ada_dynamics.errors import InputError, RecordingError
from ada_dynamics.simulation.record import messages
from ada_dynamics.simulation.record.mcap_writing import Topic, TopicWriter
from ada_tools.nodes.bag import definitions, offered_qos, selection
from ada_tools.nodes.bag.offered_qos import Offer
from ada_tools.nodes.bag.playing import Player, latched_first
from ada_tools.nodes.bag.reading import Recorded, TopicFile
from ada_tools.nodes.bag.recording import OBJECT, Recording

A = Topic("/a", "std_msgs/msg/Float64", "float64 data\n", "", "RIHS01_x")
B = Topic("/b", "std_msgs/msg/String", "string data\n")
WAIT = 10.0  # [s] for a thread, at most


def raw(i: int) -> bytes:
    return b"\x00\x01\x00\x00" + bytes([i % 256]) * (i % 50)


def written(path: Path, count: int = 40, per_chunk: int = 7) -> list[tuple[str, int, bytes]]:
    """A file of two topics in some chunks; what is in it."""
    told = []
    with TopicWriter(path) as writer:
        for i in range(count):
            topic = (A, B)[i % 3 == 0]
            writer.add(topic, 1000 + i, 900 + i, raw(i))
            told.append((topic.name, 1000 + i, raw(i)))
            if i % per_chunk == per_chunk - 1:
                writer.flush()
    return told


def told(file: TopicFile, **options: int) -> list[tuple[str, int, bytes]]:
    return [(file.channels[m.channel].topic, m.at, m.raw) for m in file.messages(file.channels, **options)]


# --- definitions ----------------------------------------------------------------------------------------------------
@pytest.mark.ros
@pytest.mark.parametrize("kind", list(messages.DEFINITIONS))
def test_installed_definitions_have_the_layout_of_those_in_simulations_recordings(kind):
    pytest.importorskip("rclpy")
    if kind == messages.TRANSFORMS:
        pytest.importorskip("tf2_msgs")
    installed = definitions.definition(kind)
    assert definitions.layout(kind, installed) == definitions.layout(kind, messages.DEFINITIONS[kind])


@pytest.fixture
def share(tmp_path):
    folder = tmp_path / "share"
    texts = {
        "own_msgs/msg/Top": "# Header of all\nstd_msgs/Header header  # stamp\nInner[<=3] inner\nstring<=9 s 'a # b'\n",
        "own_msgs/msg/Inner": "int32 MOST=3\nint32 LEAST = 1\nbyte[4] raw\nother_msgs/Deep deep\nfloat64 x 1.0\n",
        "other_msgs/msg/Deep": "wstring text\n",
        "std_msgs/msg/Header": "builtin_interfaces/Time stamp\nstring frame_id\n",
        "builtin_interfaces/msg/Time": "int32 sec\nuint32 nanosec\n",
        "own_msgs/msg/Broken": "no_such_msgs/Thing thing\n",
    }
    for name, text in texts.items():
        path = folder / f"{name}.msg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_a_definition_has_each_type_in_it_once_behind_a_line_of_equal_signs(share):
    text = definitions.definition("own_msgs/Top", [share])
    own, *parts = text.split("=" * 80 + "\n")
    assert own.startswith("# Header of all\nstd_msgs/Header header")
    names = [part.partition("\n")[0] for part in parts]
    assert names == [
        "MSG: std_msgs/Header",
        "MSG: builtin_interfaces/Time",
        "MSG: own_msgs/Inner",
        "MSG: other_msgs/Deep",
    ]


def test_a_layout_knows_types_bounds_and_names_but_no_comments_constants_or_defaults(share):
    found = definitions.layout("own_msgs/msg/Top", definitions.definition("own_msgs/msg/Top", [share]))
    assert found["own_msgs/msg/Top"] == (
        ("std_msgs/msg/Header", "", "header"),
        ("own_msgs/msg/Inner", "[<=3]", "inner"),
        ("string", "<=9", "s"),
    )
    assert found["own_msgs/msg/Inner"] == (
        ("byte", "[4]", "raw"),
        ("other_msgs/msg/Deep", "", "deep"),
        ("float64", "", "x"),
    )


def test_types_without_a_definition_are_named_with_where_it_was_looked_for(share):
    with pytest.raises(InputError, match=r"no_such_msgs/msg/Thing has no installed definition.*share/no_such_msgs/msg"):
        definitions.definition("own_msgs/msg/Broken", [share])
    with pytest.raises(InputError, match="named like sensor_msgs/msg/JointState"):
        definitions.definition("../../etc/passwd", [share])
    with pytest.raises(InputError, match="lacks that of std_msgs/msg/Header"):
        definitions.layout("own_msgs/msg/Top", "std_msgs/Header header\n")


# --- quality of service ---------------------------------------------------------------------------------------------
def test_offers_go_through_text_and_back():
    offers = [Offer(True, False, 10), Offer(False, False, 0), Offer(True, True, 1)]
    assert offered_qos.of_text(offered_qos.to_text(offers)) == offers
    assert offered_qos.of_text("") == []


def test_offers_in_words_as_newer_bags_have_them_are_read():
    text = "- history: keep_last\n  depth: 5\n  reliability: best_effort\n  durability: transient_local\n"
    assert offered_qos.of_text(text + text.replace("best_effort", "reliable")) == [
        Offer(False, True, 5),
        Offer(True, True, 5),
    ]
    assert offered_qos.of_text("- depth: all\n  x") == [Offer(True, False, 0)]


def test_offers_are_yaml():
    yaml = pytest.importorskip("yaml")
    (first, second) = yaml.safe_load(offered_qos.to_text([Offer(True, True, 3), Offer(False, False, 0)]))
    assert (first["history"], first["depth"], first["reliability"], first["durability"]) == (1, 3, 1, 1)
    assert (second["history"], second["depth"], second["reliability"], second["durability"]) == (3, 0, 2, 2)
    assert first["lifespan"] == {"sec": 9223372036, "nsec": 854775807}  # RMW_DURATION_INFINITE


def test_one_publisher_in_place_of_many_serves_whom_they_served():
    reliable, best_effort, latched = Offer(True), Offer(False), Offer(True, True)
    assert offered_qos.standing_for([best_effort]).reliable is False
    assert offered_qos.standing_for([best_effort, reliable]).reliable is True
    assert offered_qos.standing_for([latched]) == Offer(True, True, 1)
    assert offered_qos.standing_for([latched, latched]).depth > 1  # /tf_static of several nodes
    assert offered_qos.standing_for([], latched=True) == Offer(True, True, 1)
    assert offered_qos.accepting([latched, reliable]) == Offer(True, False)
    assert offered_qos.accepting([latched, best_effort]) == Offer(False, False)


# --- which topics ---------------------------------------------------------------------------------------------------
def test_names_and_patterns_are_seen_from_the_namespace():
    assert selection.resolved("x", "/left") == "/left/x"
    assert selection.resolved("x") == "/x"
    assert selection.resolved("/x", "/left") == "/x"
    assert selection.resolved("~/x", "/left", "node") == "/left/node/x"
    assert selection.is_wanted("/left/wrench/s1", ["/left/wrench/*"])
    assert not selection.is_wanted("/left/wrench", ["/left/wrench/*"])
    assert selection.is_wanted("/rosout", ["/rosout"])
    assert not selection.is_wanted("/rosout", [])
    assert not selection.is_wanted("/move/_action/status", [])
    assert not selection.is_wanted("/lefty/x", [], "/left")
    assert selection.unmatched(["/a", "/b*"], ["/a"]) == ["/b*"]


# --- writing and reading --------------------------------------------------------------------------------------------
def test_what_is_written_is_read_and_by_another_reader_too(tmp_path):
    path = tmp_path / "x.mcap"
    expected = written(path)
    file = TopicFile(path)
    assert told(file) == expected
    assert not file.problem and len(file) == 40 and (file.first, file.last) == (1000, 1039)
    with path.open("rb") as stream:
        found = [(c.topic, m.log_time, m.publish_time, m.data) for _, c, m in make_reader(stream).iter_messages()]
    assert [(topic, at, data) for topic, at, _, data in found] == expected
    assert [published for _, _, published, _ in found] == [900 + i for i in range(40)]


def test_a_part_of_the_time_and_of_the_topics_is_read(tmp_path):
    path = tmp_path / "x.mcap"
    expected = written(path)
    file = TopicFile(path)
    assert told(file, since=1010, until=1020) == expected[10:21]
    (b,) = [c.id for c in file.channels.values() if c.topic == "/b"]
    assert [m.at for m in file.messages([b])] == [at for topic, at, _ in expected if topic == "/b"]


def test_messages_come_in_the_order_of_their_times_and_equal_times_in_the_order_of_the_file(tmp_path):
    path = tmp_path / "x.mcap"
    times = [50, 10, 30, 30, 90, 20, 30, 5, 60, 30]
    with TopicWriter(path) as writer:
        for i, at in enumerate(times):
            writer.add(A, at, at, raw(i))
            if i % 3 == 2:
                writer.flush()
    expected = [raw(i) for i in sorted(range(len(times)), key=lambda i: times[i])]  # a stable sort
    assert [m.raw for m in TopicFile(path).messages([1])] == expected


@pytest.mark.parametrize(
    "options",
    [
        {"use_chunking": False},
        {"compression": mcap_writer.CompressionType.ZSTD, "chunk_size": 100},
        {"compression": mcap_writer.CompressionType.NONE, "enable_crcs": False, "chunk_size": 100},
    ],
    ids=["no chunks", "zstd", "plain"],
)
def test_files_of_other_programs_are_read(tmp_path, options):
    path = tmp_path / "x.mcap"
    with path.open("wb") as stream:
        writer = mcap_writer.Writer(stream, **options)
        writer.start("ros2", "another program")
        schema = writer.register_schema("std_msgs/String", "ros2msg", b"string data")
        channels = [writer.register_channel(topic, "cdr", schema) for topic in ("/x", "/y")]
        writer.add_attachment(0, 0, "photo", "image/png", b"\x05" * 100)
        for i in range(30):
            writer.add_message(channels[i % 2], 100 - i, raw(i), 0)
        writer.finish()
    file = TopicFile(path)
    assert [m.raw for m in file.messages(file.channels)] == [raw(i) for i in reversed(range(30))]
    assert file.channels[1].kind == "std_msgs/msg/String"
    assert not file.problem


def test_a_file_cut_anywhere_gives_the_messages_before_the_cut(tmp_path):
    path, cut = tmp_path / "x.mcap", tmp_path / "cut.mcap"
    expected = written(path)
    whole = path.read_bytes()
    lengths = set()
    for size in range(8, len(whole), 23):
        cut.write_bytes(whole[:size])
        try:
            file = TopicFile(cut)
        except RecordingError as problem:
            assert "has no messages" in str(problem)
            continue
        found = told(file)
        assert found == expected[: len(found)]
        assert len(found) == 40 or "no end" in file.problem
        lengths.add(len(found))
    assert len(lengths) > 4  # chunks


def test_a_damaged_chunk_ends_the_file_and_wrong_bytes_are_never_played(tmp_path):
    path, damaged = tmp_path / "x.mcap", tmp_path / "damaged.mcap"
    expected = written(path)
    whole = path.read_bytes()
    for at in range(8, len(whole) - 8, 11):
        damaged.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        try:
            found = told(TopicFile(damaged))
        except RecordingError:
            continue
        known = [(at, data) for _, at, data in expected]
        assert all((at, data) in known for _, at, data in found)


@pytest.mark.parametrize(
    ("content", "text"), [(b"", "is empty"), (b"\x89PNG\r\n\x1a\n", "no MCAP file"), (b"\x89MCAP0\r\n", "no messages")]
)
def test_what_is_no_recording_is_refused(tmp_path, content, text):
    path = tmp_path / "x.mcap"
    path.write_bytes(content)
    with pytest.raises(RecordingError, match=text):
        TopicFile(path)
    with pytest.raises(RecordingError, match="cannot be read: Is a directory"):
        TopicFile(tmp_path)


def test_a_file_is_replaced_only_where_that_is_wanted(tmp_path):
    path = tmp_path / "x.mcap"
    written(path)
    with pytest.raises(InputError, match="overwrite"):
        TopicWriter(path)
    with TopicWriter(path, overwrite=True) as writer:
        writer.add(A, 1, 1, raw(3))
    assert told(TopicFile(path)) == [("/a", 1, raw(3))]
    with pytest.raises(RecordingError, match="closed"):
        writer.add(A, 1, 1, raw(3))


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


def test_the_last_of_the_disk_is_left_to_others(tmp_path):
    path = tmp_path / "x.mcap"
    with pytest.raises(RecordingError, match=r"less than .* left"):
        TopicWriter(path, reserve=2**62)


KILLED = """
import os, signal, time
from ada_tools.nodes.bag.recording import Recording
from ada_dynamics.simulation.record.mcap_writing import Topic, TopicWriter
recording = Recording(TopicWriter({path!r}))
topic = Topic("/a", "std_msgs/msg/String", "string data")
i = 0
while recording.statistics.messages < 200:
    recording.take(topic, i, i, b"0123456789")
    i += 1
    time.sleep(1e-4)
print(recording.statistics.messages, flush=True)
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


# --- in a thread ----------------------------------------------------------------------------------------------------
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
    assert recording.statistics[::3] == (2000, 0)  # messages, dropped
    assert len(TopicFile(tmp_path / "x.mcap")) == 2000
    recording.take(A, 1, 1, raw(1))
    assert recording.statistics.dropped == 1


def test_messages_that_a_slow_disk_has_no_room_for_are_dropped_and_counted(tmp_path):
    writer = TopicWriter(tmp_path / "x.mcap")
    go, add = threading.Event(), writer.add

    def slow(*message):
        go.wait(WAIT)
        add(*message)

    writer.add = slow
    most = 3 * (OBJECT + 30)
    recording = Recording(writer, period=0.001, most_waiting=most)
    for i in range(10):
        recording.take(A, i, i, b"x" * 30)
    assert recording.statistics.waiting <= most
    assert recording.statistics.dropped == 7
    go.set()
    recording.close()
    assert len(TopicFile(tmp_path / "x.mcap")) == recording.statistics.messages == 3


def test_small_messages_that_wait_take_no_more_memory_than_they_may(tmp_path):
    writer = TopicWriter(tmp_path / "x.mcap")
    go = threading.Event()
    writer.flush = lambda: go.wait(WAIT)
    recording = Recording(writer, period=0.001, most_waiting=10**6)
    tracemalloc.start()
    for i in range(20_000):
        recording.take(A, 10**18 + i, 10**18 + i, bytes(bytearray(16)))
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    go.set()
    recording.close()
    assert recording.statistics.dropped > 10_000
    assert taken < 1.5e6


def test_a_recording_that_fails_says_so_once_and_counts_what_is_not_in_it(tmp_path):
    failures = []
    failed = threading.Event()
    recording = Recording(
        TopicWriter(tmp_path / "x.mcap"), on_failure=lambda text: (failures.append(text), failed.set())
    )
    recording.take(A, -1, 0, raw(1))  # a time that MCAP does not have
    assert failed.wait(WAIT)
    recording.take(A, 1, 1, raw(1))
    recording.close()
    assert len(failures) == 1 and "has ended" in failures[0]
    assert recording.statistics.dropped == 2


# --- playing --------------------------------------------------------------------------------------------------------
class Played:
    """A player, what it publishes and what its clock says, until its end."""

    def __init__(self, recorded: Callable[[], Iterator[Recorded]] = lambda: iter(RECORDED), **options) -> None:
        self.heard: list[Recorded] = []
        self.log: list[object] = []  # times, and messages
        self.failures: list[Exception] = []
        self.ended = threading.Event()
        self.player = Player(
            recorded, self._take, tick=self.log.append, on_end=self.ended.set, on_failure=self._fail, **options
        )

    def _take(self, message: Recorded) -> None:
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
        until(lambda: len(self.heard) >= count, f"{count} messages", WAIT)

    def is_over(self) -> bool:
        over = self.ended.wait(WAIT)
        self.ended.clear()
        return over


MILLI = 10**6
RECORDED = [Recorded(1, 10**9 + 2 * MILLI * i, raw(i)) for i in range(20)]


@pytest.mark.parametrize("rate", [0.0, 0.5, 4.0])
def test_all_messages_are_played_in_order_none_before_its_time_and_each_behind_its_time(rate):
    begun = time.monotonic()
    with Played(rate=rate) as played:
        assert played.is_over()
        lasted = time.monotonic() - begun
    assert played.heard == RECORDED and played.player.position == RECORDED[-1].at
    if rate:
        assert lasted >= 0.038 / rate
    times = [at for at in played.log if isinstance(at, int)]
    assert times == sorted(times)
    assert all(played.log[played.log.index(message) - 1] == message.at for message in RECORDED)


def test_a_paused_player_plays_nothing_until_it_goes_on():
    with Played(paused=True) as played:
        assert not played.ended.wait(0.05) and not played.log
        played.player.pause(False)
        assert played.is_over() and played.heard == RECORDED


def test_a_player_that_loops_begins_anew_until_it_is_told_not_to():
    with Played(rate=0.0, loop=True) as played:
        played.has(45)
        played.player.set_loop(False)
        assert played.is_over()
    assert len(played.heard) % 20 == 0 and played.heard[:60] == RECORDED * 3


def test_restart_begins_anew_also_from_the_end():
    with Played() as played:
        played.has(5)
        for count in (25, 45):
            played.player.restart()
            assert played.is_over()
            assert played.heard[-20:] == RECORDED and len(played.heard) >= count


def test_a_change_of_rate_holds_at_once():
    far = [Recorded(1, 0, b""), Recorded(1, 3600 * 10**9, b"")]  # an hour apart
    with Played(lambda: iter(far)) as played:
        played.has(1)
        assert not played.ended.is_set()
        played.player.set_rate(0.0)
        assert played.is_over()


def test_what_fails_while_playing_is_handed_on():
    def fails():
        yield RECORDED[0]
        raise RecordingError("gone")

    with Played(fails) as played:
        assert played.is_over()
    assert [str(failure) for failure in played.failures] == ["gone"]


def test_latched_topics_are_played_first_whenever_they_were_recorded(tmp_path):
    path = tmp_path / "x.mcap"
    with TopicWriter(path) as writer:
        for i in range(10):
            writer.add(A, i, i, raw(i))
        writer.add(B, 5, 5, b"first description")
        writer.add(B, 8, 8, b"second description")
    file = TopicFile(path)
    ids = {channel.topic: channel.id for channel in file.channels.values()}
    found = list(latched_first(file, ids.values(), [ids["/b"]], 0))
    assert found[0] == Recorded(ids["/b"], 0, b"first description")
    assert [m.raw for m in found[1:]] == [*(raw(i) for i in range(9)), b"second description", raw(9)]
    found = list(latched_first(file, ids.values(), [ids["/b"]], 9))
    assert [m.raw for m in found] == [b"first description", b"second description", raw(9)]
