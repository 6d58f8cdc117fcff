# SPDX-License-Identifier: Apache-2.0
"""Recorded topics: their selection, definitions and files, and the messages that are lost."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

pytest.importorskip("mcap")

from mcap.reader import make_reader
from mcap_messages import recording

from ada_dynamics.errors import InputError, RecordingError
from ada_dynamics.simulation.record.mcap_files import Topic, TopicWriter
from ada_tools.nodes import recorded_topics as topics
from ada_tools.nodes.recorded_topics import OfferedQos, SequenceGaps

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


def test_a_definition_has_all_nested_types_and_no_constants(share):
    own, *nested = topics.definition("own_msgs/msg/Top", [share]).split(topics.SEPARATOR)
    assert own.startswith("# Header of all")
    names = [text.splitlines()[1] for text in nested]
    assert names == [
        f"MSG: {name}" for name in ("std_msgs/Header", "own_msgs/Inner", "builtin_interfaces/Time", "other_msgs/Deep")
    ]


def test_types_without_a_definition_and_names_that_are_none_are_refused(share):
    for name in ("own_msgs/msg/Broken", "../../etc/passwd"):
        with pytest.raises(InputError):
            topics.definition(name, [share])


def test_a_recorder_asks_for_what_all_publishers_offer():
    reliable, best_effort, latched = OfferedQos(True), OfferedQos(False), OfferedQos(True, True)
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


def test_what_is_written_is_read_by_another_reader(tmp_path):
    path = tmp_path / "x.mcap"
    expected = written(path)
    assert recording(path) == (expected, True)
    with path.open("rb") as stream:
        found = [(c.topic, m.log_time, m.publish_time, m.data) for _, c, m in make_reader(stream).iter_messages()]
    assert [(topic, at, data) for topic, at, _, data in found] == expected
    assert [published for _, _, published, _ in found] == [900 + i for i in range(40)]


def test_a_file_cut_anywhere_gives_the_messages_before_the_cut(tmp_path):
    path, cut = tmp_path / "x.mcap", tmp_path / "cut.mcap"
    expected = written(path)
    whole = path.read_bytes()
    lengths = set()
    for size in range(8, len(whole), 23):
        cut.write_bytes(whole[:size])
        found = recording(cut).messages
        assert found == expected[: len(found)]
        lengths.add(len(found))
    assert len(lengths) > 4  # chunks


def test_a_file_is_replaced_only_where_that_is_wanted_and_the_last_of_the_disk_is_left_to_others(tmp_path):
    path = tmp_path / "x.mcap"
    written(path)
    with pytest.raises(InputError):
        TopicWriter(path)
    with TopicWriter(path, overwrite=True) as writer:
        writer.add(A, 1, 1, raw(3))
    assert recording(path).messages == [("/a", 1, raw(3))]
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
