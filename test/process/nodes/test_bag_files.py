# SPDX-License-Identifier: Apache-2.0
"""Recordings on a full disk."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

pytest.importorskip("mcap")

from mcap.reader import make_reader
from mcap_messages import recording

FULL = """
import resource, sys
from ada_dynamics.errors import RecordingError
from ada_dynamics.simulation.record.mcap_files import Topic, TopicWriter
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
writer = TopicWriter({path!r})
import random
source = random.Random(0)
topic = Topic("/a", "std_msgs/msg/String", "string data")
try:
    for i in range(10**6):
        writer.add(topic, i, source.randbytes(2000))
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
    found = recording(path)
    assert found.is_whole
    assert len(found.messages) == int(count) > 10
    with path.open("rb") as stream:
        assert sum(1 for _ in make_reader(stream).iter_messages()) == int(count)
