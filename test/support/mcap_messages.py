# SPDX-License-Identifier: Apache-2.0
"""Messages of MCAP files as the package mcap reads them, up to a missing end."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import NamedTuple


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
