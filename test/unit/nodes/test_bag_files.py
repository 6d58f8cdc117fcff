# SPDX-License-Identifier: Apache-2.0
"""Files of messages: what is written is read, whoever wrote it and however it ended."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

pytest.importorskip("mcap")

from mcap import writer as mcap_writer
from mcap.reader import make_reader

from ada_dynamics.errors import InputError, RecordingError
from ada_dynamics.simulation.record.mcap_files import Topic, TopicWriter
from ada_tools.nodes.bag import message_types, topics
from ada_tools.nodes.bag.reading import TopicFile
from ada_tools.nodes.bag.topics import OfferedQos, SequenceGaps

A = Topic("/a", "std_msgs/msg/Float64", "float64 data\n", "", "RIHS01_x")
B = Topic("/b", "std_msgs/msg/String", "string data\n")


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


def told(file: TopicFile) -> list[tuple[str, int, bytes]]:
    return [(file.channels[m.channel].topic, m.at, m.raw) for m in file.messages(file.channels)]


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


def test_a_layout_knows_types_bounds_and_names_but_no_comments_constants_or_defaults(share):
    found = message_types.layout("own_msgs/msg/Top", message_types.definition("own_msgs/msg/Top", [share]))
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


def test_types_without_a_definition_and_names_that_are_none_are_refused(share):
    for name in ("own_msgs/msg/Broken", "../../etc/passwd"):
        with pytest.raises(InputError):
            message_types.definition(name, [share])
    with pytest.raises(InputError):
        message_types.layout("own_msgs/msg/Top", "std_msgs/Header header\n")


def test_one_publisher_in_place_of_many_serves_whom_they_served():
    reliable, best_effort, latched = OfferedQos(True), OfferedQos(False), OfferedQos(True, True)
    assert topics.standing_for([best_effort]).reliable is False
    assert topics.standing_for([best_effort, reliable]).reliable is True
    assert topics.standing_for([latched]) == OfferedQos(True, True, 1)
    assert topics.standing_for([latched, latched]).depth > 1  # /tf_static of several nodes
    assert topics.standing_for([], latched=True) == OfferedQos(True, True, 1)
    assert topics.accepting([latched, reliable]) == OfferedQos(True, False)
    assert topics.accepting([latched, best_effort]) == OfferedQos(False, False)


def test_names_and_patterns_are_seen_from_the_namespace():
    assert topics.resolved("x", "/left") == "/left/x"
    assert topics.resolved("x") == "/x"
    assert topics.resolved("/x", "/left") == "/x"
    assert topics.resolved("~/x", "/left", "node") == "/left/node/x"
    assert topics.is_wanted("/left/wrench/s1", ["/left/wrench/*"])
    assert not topics.is_wanted("/left/wrench", ["/left/wrench/*"])
    assert topics.is_wanted("/rosout", ["/rosout"])
    assert not topics.is_wanted("/rosout", [])
    assert not topics.is_wanted("/move/_action/status", [])
    assert not topics.is_wanted("/lefty/x", [], "/left")
    assert topics.unmatched(["/a", "/b*"], ["/a"]) == ["/b*"]


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


def test_topics_are_read_in_the_order_of_times_and_then_of_the_file(tmp_path):
    path = tmp_path / "x.mcap"
    expected = written(path)
    file = TopicFile(path)
    (b,) = [c.id for c in file.channels.values() if c.topic == "/b"]
    assert [m.at for m in file.messages([b])] == [at for topic, at, _ in expected if topic == "/b"]
    times = [50, 10, 30, 30, 90, 20, 30, 5, 60, 30]
    with TopicWriter(path, overwrite=True) as writer:
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
        except RecordingError:
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


@pytest.mark.parametrize("content", [b"", b"\x89PNG\r\n\x1a\n", b"\x89MCAP0\r\n"], ids=["empty", "PNG", "no messages"])
def test_what_is_no_recording_is_refused(tmp_path, content):
    path = tmp_path / "x.mcap"
    path.write_bytes(content)
    for wrong in (path, tmp_path):
        with pytest.raises(RecordingError):
            TopicFile(wrong)


def test_a_file_is_replaced_only_where_that_is_wanted_and_the_last_of_the_disk_is_left_to_others(tmp_path):
    path = tmp_path / "x.mcap"
    written(path)
    with pytest.raises(InputError):
        TopicWriter(path)
    with TopicWriter(path, overwrite=True) as writer:
        writer.add(A, 1, 1, raw(3))
    assert told(TopicFile(path)) == [("/a", 1, raw(3))]
    with pytest.raises(RecordingError):  # it is closed
        writer.add(A, 1, 1, raw(3))
    with pytest.raises(RecordingError):
        TopicWriter(tmp_path / "y.mcap", reserve=2**62)


def lost(numbers, publishers):
    gaps = SequenceGaps()
    gaps.publishers(publishers)
    for number in numbers:
        gaps.take(number)
    return gaps.lost


def test_what_is_missing_between_the_messages_of_one_publisher_is_counted():
    assert lost([7, 8, 9], 1) == 0
    assert lost([7, 9, 10, 15], 1) == 1 + 4


@pytest.mark.parametrize("seed", range(2))
def test_of_several_publishers_the_missing_ones_are_counted_whoever_has_sent_them(seed):
    choose = random.Random(seed)
    firsts = [1, 4000, 90_000]  # a volatile subscriber hears whatever comes next
    queues = [[first + i for i in range(1000)] for first in firsts]
    queues = [[*choose.sample(q[1:-1], 700), q[-1]] for q in queues]
    for queue in queues:
        queue.sort()
    order = [i for i, queue in enumerate(queues) for _ in queue]
    choose.shuffle(order)
    numbers = [*firsts, *(queues[i].pop(0) for i in order)]
    assert lost(numbers, 3) == 3 * 298


def test_one_that_comes_later_or_says_again_what_it_said_leaves_no_gap():
    assert lost([100, 101, 1, 102, 2, 3, 103], 1) == 0
    assert lost([5, 5, 6, 7], 1) == 0
