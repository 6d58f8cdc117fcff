# SPDX-License-Identifier: Apache-2.0
"""Flight records and other MCAP files as other programs read them."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

DATA = {"/joint_states": "position velocity effort", "/commanded": "position velocity effort", "/flight/cycle": "data"}


class FlightRecord(NamedTuple):
    """Numbers of each topic by field, texts of the events, metadata, and times of the cycles [ns]."""

    numbers: dict[tuple[str, str], Any]
    events: list[str]
    texts: dict[str, str]
    times: list[int]

    @property
    def phases(self) -> list[str]:
        """Phase of each cycle."""
        names = json.loads(self.texts["phases"])
        return [names[int(row[0])] for row in self.numbers["/flight/cycle", "data"]]


def flight_record(path: Path) -> FlightRecord:
    reader = pytest.importorskip("mcap.reader")
    decoder = pytest.importorskip("mcap_ros2.decoder")
    messages: dict[str, list[Any]] = {}
    times: list[int] = []
    with path.open("rb") as file:
        made = reader.make_reader(file, decoder_factories=[decoder.DecoderFactory()])
        for _, channel, message, decoded in made.iter_decoded_messages():
            messages.setdefault(channel.topic, []).append(decoded)
            if channel.topic == "/flight/cycle":
                times.append(message.log_time)
        (about,) = made.iter_metadata()
    numbers = {
        (topic, field): np.array([getattr(one, field) for one in messages[topic]])
        for topic, fields in DATA.items()
        for field in fields.split()
    }
    return FlightRecord(numbers, [one.data for one in messages.get("/flight/events", [])], about.metadata, times)


class Recording(NamedTuple):
    """Topic, time and bytes of the messages in the order of the file, and whether the file has its end."""

    messages: list[tuple[str, int, bytes]]
    is_whole: bool


def recording(path: Path) -> Recording:
    from mcap.exceptions import McapError
    from mcap.records import Channel, Message
    from mcap.stream_reader import StreamReader

    topics: dict[int, str] = {}
    found: list[tuple[str, int, bytes]] = []
    with path.open("rb") as file:
        try:
            for record in StreamReader(file, validate_crcs=True).records:
                if isinstance(record, Channel):
                    topics[record.id] = record.topic
                elif isinstance(record, Message):
                    found.append((topics[record.channel_id], record.log_time, record.data))
        except (McapError, struct.error):
            return Recording(found, False)
    return Recording(found, True)
