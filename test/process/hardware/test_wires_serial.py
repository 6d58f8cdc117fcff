# SPDX-License-Identifier: Apache-2.0
"""Serial lines on real pseudo-terminals: bytes, waits, and every way in which a line cannot be opened or breaks."""

from __future__ import annotations

import os
import select
import sys
import tty
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from processes import as_nobody
from refused import refused
from waiting import LIMIT

from ada_hardware.transport import Serial, Wire, open_stream
from ada_hardware.transport.serial_line import ports
from ada_robot.errors import TransportError

serial = pytest.importorskip("serial")
LINE = Serial()


class Pty:
    """A pseudo-terminal, its master in the test's hands."""

    def __init__(self) -> None:
        self.master, self.slave = os.openpty()
        tty.setraw(self.slave)
        self.path = os.ttyname(self.slave)

    def unplug(self) -> None:
        for descriptor in (self.master, self.slave):
            if descriptor >= 0:
                os.close(descriptor)
        self.master = self.slave = -1


@pytest.fixture
def pty() -> Iterator[Pty]:
    one = Pty()
    yield one
    one.unplug()


@pytest.fixture
def stream(pty: Pty) -> Iterator[Wire]:
    one = open_stream(pty.path, LINE)
    yield one
    one.close()


def test_all_bytes_go_through_unchanged_both_ways(pty: Pty, stream: Wire) -> None:
    everything = bytes(range(256))
    stream.send(everything)
    assert os.read(pty.master, 1000) == everything
    os.write(pty.master, everything)
    assert stream.receive(LIMIT) == everything


def test_a_read_returns_what_is_there_and_nothing_after_the_timeout(pty: Pty, stream: Wire) -> None:
    os.write(pty.master, b"abcdef")
    assert stream.receive(1e9) == b"abcdef"  # does not wait for more
    assert [stream.receive(timeout) for timeout in (0.05, 0.0, -1.0)] == [None] * 3


def test_bytes_from_before_the_opening_and_discarded_ones_are_not_read(pty: Pty) -> None:
    for is_open in (False, True):
        stream = open_stream(pty.path, LINE) if is_open else None
        os.write(pty.master, b"old")
        assert select.select([pty.slave], [], [], LIMIT)[0]  # the kernel passes bytes on later than `write` returns
        if stream is None:
            stream = open_stream(pty.path, LINE)
        else:
            stream.discard_input()
        os.write(pty.master, b"new")
        assert stream.receive(LIMIT) == b"new"
        stream.close()


def test_a_waiting_read_wakes_when_bytes_come_and_when_the_line_is_unplugged(pty: Pty, stream: Wire) -> None:
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(stream.receive, LIMIT)
        os.write(pty.master, b"now")
        assert reading.result(LIMIT) == b"now"
        reading = pool.submit(stream.receive, LIMIT)
        pty.unplug()
        with refused(TransportError, field="state", value="gone"):
            reading.result(LIMIT)
    for state in ("gone", "closed"):
        with refused(TransportError, field="state", value=state):
            stream.receive(LIMIT)
        with refused(TransportError, field="state", value=state):
            stream.send(b"a")
        stream.discard_input()
        stream.close()


def test_a_line_that_takes_no_bytes_is_an_error_and_does_not_hold_the_caller(stream: Wire) -> None:
    with refused(TransportError, field="state", value="blocked"):
        for _ in range(10_000):  # nobody reads the master: its buffer of some kilobytes fills
            stream.send(bytes(100))


def test_a_port_is_for_one_user_and_free_again_when_closed(pty: Pty, stream: Wire) -> None:
    with refused(TransportError, field="holder"):
        open_stream(pty.path, LINE)
    stream.close()
    open_stream(pty.path, LINE).close()


def test_a_missing_port_is_refused_with_those_of_this_machine() -> None:
    with refused(TransportError, field="port", value="/dev/ttyNOPE", allowed=tuple(ports())):
        open_stream("/dev/ttyNOPE", LINE)
    assert all(one.startswith("/dev/") for one in ports())


def test_a_missing_permission_names_the_group_and_the_command(pty: Pty) -> None:
    Path(pty.path).chmod(0o000)
    with refused(TransportError, field="permission", value=pty.path):
        as_nobody(lambda: open_stream(pty.path, LINE))


def test_what_is_no_port_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("no port")
    for url in (str(path), "", "udp://127.0.0.1:1", "arcnet:arc0", "dry:"):
        with refused(TransportError, field="url", value=url):
            open_stream(url, LINE)


@pytest.mark.parametrize("field, value", [("baud", 0), ("baud", -9600), ("parity", "X"), ("baud", "fast")])
def test_a_line_that_cannot_be_set_so_is_refused(pty: Pty, field: str, value: Any) -> None:
    with refused(TransportError, field=field, value=value):
        open_stream(pty.path, Serial(**{field: value}))


@pytest.mark.parametrize("level", [False, True])
def test_dtr_has_its_level_before_the_port_is_opened(pty: Pty, monkeypatch: pytest.MonkeyPatch, level: bool) -> None:
    levels: list[bool] = []

    class Watched(serial.Serial):  # type: ignore[misc, name-defined]
        def open(self) -> None:
            levels.append(self.dtr)
            super().open()

    monkeypatch.setattr("serial.Serial", Watched)
    open_stream(pty.path, Serial(dtr=level)).close()
    assert levels == [level]


def test_the_line_is_set_as_asked_also_repeatedly(pty: Pty) -> None:
    import termios

    for _ in range(2):  # glibc calls a setting that changes nothing but the parity, which no pty has, an error
        stream = open_stream(pty.path, Serial(baud=19_200, parity="E"))
        _, _, control, _, speed, _, _ = termios.tcgetattr(pty.slave)
        assert speed == termios.B19200
        assert control & termios.CSIZE == termios.CS8
        # A pseudo-terminal has no parity; Linux keeps the bit off there, and odd parity must be off anyhow.
        assert not control & termios.PARODD and not control & termios.CSTOPB
        stream.close()


def test_without_pyserial_the_extra_is_named(pty: Pty, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "serial", None)
    with refused(TransportError, field="pyserial"):
        open_stream(pty.path, LINE)
