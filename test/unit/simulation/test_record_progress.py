# SPDX-License-Identifier: Apache-2.0
"""Progress of long runs: a bar on a terminal, lines elsewhere, nothing when quiet or when the run is short."""

from __future__ import annotations

import io
import re

from ada_dynamics.clock import ManualClock
from ada_dynamics.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def run(stream: io.StringIO, seconds: float, updates: int = 1000, **more) -> str:
    clock = ManualClock()
    with Progress(50.0, "pa10", "s", stream=stream, clock=clock, **more) as progress:
        for i in range(1, updates + 1):
            clock.advance(seconds / updates)
            progress.update(50.0 * i / updates, "fine")
    return stream.getvalue()


def test_a_terminal_gets_one_line_that_is_drawn_anew_ten_times_a_second():
    text = run(Terminal(), 20.0)
    assert text.count("\n") == 1
    assert text.endswith("\n")
    lines = text.split("\r")[1:]
    assert 150 <= len(lines) <= 200
    middle = next(line for line in lines if " 50 %" in line)
    assert middle.startswith("pa10: [############............]  50 %, ")
    assert re.search(r"/50 s, 0:1[01] passed, 0:1[01] left, fine", middle)
    assert "100 %, 50/50 s, 0:20 passed, fine" in lines[-1]


def test_a_file_gets_a_line_for_each_tenth_or_each_ten_seconds():
    lines = run(io.StringIO(), 20.0).splitlines()
    assert 9 <= len(lines) <= 11
    assert all("\r" not in line and "\x1b" not in line and "[" not in line for line in lines)
    slow = run(io.StringIO(), 1000.0).splitlines()
    assert 95 <= len(slow) <= 101
    assert 2 <= len(run(io.StringIO(), 3.0).splitlines()) <= 4  # no more than one per second


def test_a_stream_that_has_gone_does_not_end_the_run():
    stream = Terminal()
    stream.isatty()
    clock = ManualClock()
    with Progress(1.0, stream=stream, clock=clock) as progress:
        stream.close()
        clock.advance(5.0)
        progress.update(0.5)
