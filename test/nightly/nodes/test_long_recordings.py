# SPDX-License-Identifier: Apache-2.0
"""Long recordings: their index is whole, and memory does not grow with it."""

from __future__ import annotations

import io
import os
import struct
import tracemalloc
from pathlib import Path

import pytest

from ada_dynamics.simulation.record.mcap_files import INDEX_IN_MEMORY, Topic, TopicWriter, chunk_data

reader = pytest.importorskip("mcap.reader")

TOPICS = [Topic(f"/topic_{i}", "std_msgs/msg/String") for i in range(16)]
DAY = 4 * 86400  # chunks of a recorder of topics


def write(writer, first, last):
    for i in range(first, last):
        for topic in TOPICS:
            writer.add(topic, 10**18 + i, 10**18 + i, b"some")
        writer.flush()


def assert_indexed(path, chunks):
    """The index has every chunk, and every message of it."""
    from mcap import data_stream, opcode, records

    def at(kind, place):
        with path.open("rb") as file:
            file.seek(place)
            assert file.read(1)[0] == kind.value
            file.seek(8, os.SEEK_CUR)
            return getattr(records, kind.name.title().replace("_", "")).read(data_stream.ReadDataStream(file))

    with path.open("rb") as file:
        summary = reader.make_reader(file, validate_crcs=True).get_summary()
    assert len(summary.chunk_indexes) == summary.statistics.chunk_count == chunks
    assert summary.statistics.channel_message_counts == {1 + i: chunks for i in range(len(TOPICS))}
    for entry in (summary.chunk_indexes[0], summary.chunk_indexes[-1]):
        chunk = at(opcode.Opcode.CHUNK, entry.chunk_start_offset)
        assert chunk.message_start_time == entry.message_start_time
        assert set(entry.message_index_offsets) == set(range(1, 1 + len(TOPICS)))
        for channel, place in entry.message_index_offsets.items():
            index = at(opcode.Opcode.MESSAGE_INDEX, place)
            ((when, inside),) = index.records
            message = io.BytesIO(chunk_data(chunk)[inside:])
            assert message.read(1)[0] == opcode.Opcode.MESSAGE
            assert struct.unpack("<H4xQ", message.read(22)[8:]) == (channel, when)
            assert (index.channel_id, when) == (channel, entry.message_end_time)


def test_memory_does_not_grow_with_the_chunks_of_a_recording_and_all_of_them_are_in_its_index(tmp_path):
    path, first = tmp_path / "run.mcap", INDEX_IN_MEMORY // 100
    with TopicWriter(path) as writer:
        write(writer, 0, first)  # an index of this length is on the disk
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        write(writer, first, first + 500)
        grown = tracemalloc.get_traced_memory()[0] - before
        tracemalloc.stop()
    assert grown < 20_000  # as objects of the package mcap 500 entries are 700 kB
    assert_indexed(path, first + 500)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_a_recording_of_a_day_takes_no_more_memory_than_one_of_an_hour_and_is_read(tmp_path):
    path, memory = tmp_path / "run.mcap", []
    with TopicWriter(path) as writer:
        for first in range(0, DAY, DAY // 24):
            write(writer, first, first + DAY // 24)
            memory.append(int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6)
    assert max(memory) - memory[0] < 1.0
    with path.open("rb") as file:
        assert reader.make_reader(file).get_summary().statistics.message_count == DAY * len(TOPICS)
    assert_indexed(path, DAY)
