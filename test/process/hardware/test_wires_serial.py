# SPDX-License-Identifier: Apache-2.0
"""Serial lines on real pseudo-terminals: bytes, waits, and every way in which a line cannot be opened or breaks."""

from __future__ import annotations

import os
import select
import socket
import sys
import time
import tty
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from refused import refused
from waiting import LIMIT

from ada_hardware.transport import ByteStream, Serial, open_stream
from ada_hardware.transport.serial_line import ports, shorten_latency
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
def stream(pty: Pty) -> Iterator[ByteStream]:
    one = open_stream(pty.path, LINE)
    yield one
    one.close()


def wait_until_readable(descriptor: int) -> None:
    """The kernel hands bytes from end to end a little later than `write` returns."""
    assert select.select([descriptor], [], [], 10.0)[0]


def test_all_bytes_go_through_unchanged_both_ways(pty: Pty, stream: ByteStream) -> None:
    everything = bytes(range(256))
    stream.write(everything)
    assert os.read(pty.master, 1000) == everything
    os.write(pty.master, everything)
    assert b"".join(stream.read(100, 1.0) for _ in range(3)) == everything


def test_a_read_returns_what_is_there_and_does_not_wait_for_more(pty: Pty, stream: ByteStream) -> None:
    os.write(pty.master, b"abcdef")
    begin = time.monotonic()
    assert stream.read(4, 100.0) == b"abcd"
    assert stream.read(4, 100.0) == b"ef"
    assert time.monotonic() - begin < 90.0  # it would have been 100 s


def test_a_silent_line_gives_nothing_after_the_timeout_and_not_before(stream: ByteStream) -> None:
    begin = time.monotonic()
    assert stream.read(10, 0.05) == b""
    assert time.monotonic() - begin >= 0.05
    assert stream.read(10, 0.0) == b""
    assert stream.read(10, -1.0) == b""


def test_a_read_wakes_when_bytes_come(pty: Pty, stream: ByteStream) -> None:
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(stream.read, 10, LIMIT)
        os.write(pty.master, b"now")
        assert reading.result(LIMIT) == b"now"


def test_discarded_input_does_not_come_back(pty: Pty, stream: ByteStream) -> None:
    os.write(pty.master, b"old")
    wait_until_readable(pty.slave)
    stream.discard_input()
    os.write(pty.master, b"new")
    assert stream.read(10, 1.0) == b"new"


def test_what_came_before_the_port_was_opened_is_not_read(pty: Pty) -> None:
    os.write(pty.master, b"old")
    wait_until_readable(pty.slave)
    stream = open_stream(pty.path, LINE)
    os.write(pty.master, b"new")
    assert stream.read(10, 1.0) == b"new"
    stream.close()


def test_an_unplugged_line_is_an_error_when_read_and_when_written(pty: Pty, stream: ByteStream) -> None:
    pty.unplug()
    with refused(TransportError, field="state", value="gone"):
        stream.read(10, 1.0)
    with refused(TransportError, field="state", value="gone"):
        stream.write(b"a")
    stream.discard_input()
    stream.close()
    stream.close()


def test_unplugging_wakes_a_read_that_waits(pty: Pty, stream: ByteStream) -> None:
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(stream.read, 10, LIMIT)
        pty.unplug()
        with refused(TransportError, field="state", value="gone"):
            reading.result(LIMIT)


def test_a_closed_stream_says_so(stream: ByteStream) -> None:
    stream.close()
    with refused(TransportError, field="state", value="closed"):
        stream.write(b"a")
    with refused(TransportError, field="state", value="closed"):
        stream.read(1, 0.0)


def test_a_line_that_takes_no_bytes_is_an_error_and_does_not_hold_the_caller(stream: ByteStream) -> None:
    with refused(TransportError, field="state", value="blocked"):
        for _ in range(10_000):  # nobody reads the master: its buffer of some kilobytes fills
            stream.write(bytes(100))


def test_a_port_is_for_one_user_and_free_again_when_closed(pty: Pty, stream: ByteStream) -> None:
    with refused(TransportError, field="holder"):
        open_stream(pty.path, LINE)
    stream.close()
    open_stream(pty.path, LINE).close()


def test_a_missing_port_is_refused_with_those_of_this_machine() -> None:
    with refused(TransportError, field="port", value="/dev/ttyNOPE", allowed=tuple(ports())):
        open_stream("/dev/ttyNOPE", LINE)
    assert all(one.startswith("/dev/") for one in ports())


def as_nobody(action: Callable[[], Any]) -> Any:
    """Done without the rights of root, also where tests run as root."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(65_534)
    try:
        return action()
    finally:
        os.seteuid(before)


def test_a_missing_permission_names_the_group_and_the_command(pty: Pty) -> None:
    Path(pty.path).chmod(0o000)
    with refused(TransportError, field="permission", value=pty.path):
        as_nobody(lambda: open_stream(pty.path, LINE))


def test_a_file_that_is_no_port_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("no port")
    with refused(TransportError, field="url", value=str(path)):
        open_stream(str(path), LINE)


@pytest.mark.parametrize("field, value", [("baud", 0), ("baud", -9600), ("parity", "X"), ("baud", "fast")])
def test_a_line_that_cannot_be_set_so_is_refused(pty: Pty, field: str, value: Any) -> None:
    with refused(TransportError, field=field, value=value):
        open_stream(pty.path, Serial(**{field: value}))


def test_a_rate_that_the_port_refuses_is_told(pty: Pty, monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing(serial.Serial):  # type: ignore[misc, name-defined]
        def open(self) -> None:
            raise ValueError("Failed to set custom baud rate (12345): [Errno 22] Invalid argument")

    monkeypatch.setattr("serial.Serial", Refusing)
    with refused(TransportError, field="baud", value=12_345):
        open_stream(pty.path, Serial(baud=12_345))


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


def test_the_line_is_set_as_asked(pty: Pty) -> None:
    import termios

    stream = open_stream(pty.path, Serial(baud=19_200, parity="E"))
    _, _, control, _, speed, _, _ = termios.tcgetattr(pty.slave)
    assert speed == termios.B19200
    assert control & termios.CSIZE == termios.CS8
    # A pseudo-terminal has no parity; Linux keeps the bit off there, and odd parity must be off anyhow.
    assert not control & termios.PARODD and not control & termios.CSTOPB
    stream.close()


@pytest.mark.parametrize(("before", "after"), [("16\n", "1"), ("1\n", "1\n"), ("?", "?")])
def test_a_converter_that_gathers_bytes_is_set_to_the_shortest_latency(tmp_path: Path, before: str, after: str) -> None:
    latency = tmp_path / "sys/class/tty/ttyUSB0/device/latency_timer"
    latency.parent.mkdir(parents=True)
    latency.write_text(before)
    shorten_latency("/dev/ttyUSB0", tmp_path)
    assert latency.read_text() == after


def test_without_pyserial_the_extra_is_named(pty: Pty, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "serial", None)
    with refused(TransportError, field="pyserial"):
        open_stream(pty.path, LINE)


@pytest.mark.parametrize("url", ["", "udp://127.0.0.1:1", "arcnet:arc0", "dry:"])
def test_addresses_of_other_kinds_are_no_streams(url: str) -> None:
    with refused(TransportError, field="url", value=url):
        open_stream(url, LINE)


# --- URLs of pyserial -------------------------------------------------------------------------------------------------
@pytest.fixture
def server() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as one:
        one.settimeout(10.0)
        yield one


def test_a_line_over_tcp_moves_bytes_and_tells_when_it_is_gone(server: socket.socket) -> None:
    stream = open_stream(f"socket://127.0.0.1:{server.getsockname()[1]}", LINE)
    peer, _ = server.accept()
    with peer:
        stream.write(b"question")
        assert peer.recv(100) == b"question"
        assert stream.read(10, 0.0) == b""
        peer.sendall(b"answer")
        assert stream.read(4, 5.0) == b"answ"
        assert stream.read(40, 5.0) == b"er"
        peer.sendall(b"old")
        while not stream.read(1, 1.0):
            pass
        stream.discard_input()
        peer.sendall(b"new")
        assert stream.read(10, 5.0) == b"new"
    with refused(TransportError, field="state", value="gone"):
        stream.read(10, 5.0)
    stream.close()
    stream.close()


def test_a_url_where_nothing_is_or_of_no_known_kind_is_refused(server: socket.socket) -> None:
    port = server.getsockname()[1]
    server.close()
    for url in (f"socket://127.0.0.1:{port}", "carrier-pigeon://coop"):
        with refused(TransportError, field="url", value=url):
            open_stream(url, LINE)


def test_a_line_with_parity_opens_again_where_nothing_but_parity_would_change(pty: Pty) -> None:
    for _ in range(2):  # a pseudo-terminal has none, and glibc calls asking for nothing else an invalid argument
        open_stream(pty.path, Serial(parity="E")).close()
