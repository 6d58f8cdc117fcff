# SPDX-License-Identifier: Apache-2.0
"""Packets over real UDP sockets and socket pairs, and one program at a time on them."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from refused import refused
from waiting import LIMIT

from ada_hardware.transport import Wire, open_packets
from ada_hardware.transport.udp import SocketPort
from ada_robot.errors import TransportError


@pytest.fixture
def peer() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.bind(("127.0.0.1", 0))
        one.settimeout(LIMIT)
        yield one


@pytest.fixture
def port(peer: socket.socket) -> Iterator[Wire]:
    one = open_packets(f"udp://127.0.0.1:{peer.getsockname()[1]}")
    yield one
    one.close()


def test_packets_keep_their_borders_both_ways(peer: socket.socket, port: Wire) -> None:
    for packet in (b"first", b"", bytes(range(256)) * 5):
        port.send(packet)
        data, address = peer.recvfrom(10_000)
        assert data == packet
        peer.sendto(packet, address)
        assert port.receive(LIMIT) == packet  # an empty one is not None
    assert port.receive(0.0) is None


def test_packets_of_strangers_are_not_taken(peer: socket.socket, port: Wire) -> None:
    port.send(b"hello")
    _, address = peer.recvfrom(100)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        stranger.sendto(b"from a stranger", address)
        peer.sendto(b"from the peer", address)
        assert port.receive(LIMIT) == b"from the peer"
        assert port.receive(0.0) is None


def test_a_peer_that_is_not_there_is_silence_and_no_packet_is_lost_when_it_comes(peer: socket.socket) -> None:
    address = peer.getsockname()
    peer.close()
    port = open_packets(f"udp://127.0.0.1:{address[1]}")
    for _ in range(3):
        port.send(b"nobody hears this")
        assert port.receive(0.01) is None  # the system's "refused" comes in here, or with the next packet
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as late:
        late.bind(address)
        late.settimeout(LIMIT)
        port.send(b"heard")  # right behind a refusal
        assert late.recv(100) == b"heard"
    port.close()


def test_discarded_packets_do_not_come_back(peer: socket.socket, port: Wire) -> None:
    port.send(b"hello")
    _, address = peer.recvfrom(100)
    for _ in range(3):
        peer.sendto(b"old", address)
    port.discard_input()
    peer.sendto(b"new", address)
    assert port.receive(LIMIT) == b"new"


def test_a_closed_port_says_so(port: Wire) -> None:
    port.close()
    port.close()
    port.discard_input()
    with pytest.raises(TransportError):
        port.send(b"a")
    with refused(TransportError, field="state", value="closed"):
        port.receive(0.0)


def test_the_ends_of_a_pair_receive_from_each_other_until_one_is_closed() -> None:
    one, other = (SocketPort("socketpair", end) for end in socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM))
    with ThreadPoolExecutor(1) as pool:
        received = pool.submit(other.receive, LIMIT)
        one.send(b"question")
        assert received.result(LIMIT) == b"question"
    other.send(b"answer")
    assert one.receive(LIMIT) == b"answer"
    one.close()
    assert other.receive(0.0) is None
    other.close()


@pytest.mark.parametrize("url", ["udp://127.0.0.1", "udp://:49152", "udp://127.0.0.1:0", "udp://127.0.0.1:70000",
                                 "udp://127.0.0.1:x", "udp:", "udp://[::1:5"])  # fmt: skip
def test_an_address_that_is_not_for_packets_is_refused(url: str) -> None:
    with refused(TransportError, field="url", value=url, allowed="udp://HOST:PORT"):
        open_packets(url)
    for other in ("", "arcnet:", "/dev/ttyUSB0", "tcp://127.0.0.1:5", "dry:"):
        with refused(TransportError, field="url", value=other):
            open_packets(other)


class Broken:
    """A socket whose network is gone."""

    def __init__(self, number: int) -> None:
        self._number = number

    def setblocking(self, _: bool) -> None: ...

    def send(self, _: bytes) -> int:
        raise OSError(self._number, "as told")


@pytest.mark.parametrize("number", [errno.ENETDOWN, errno.ENETUNREACH, errno.EPERM])
def test_a_network_that_is_gone_is_an_error_and_a_lost_packet_none(number: int) -> None:
    with refused(TransportError, field="state", value="gone"):
        SocketPort("udp://test:1", Broken(number)).send(b"a")  # type: ignore[arg-type]
    for lost in (errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.ENOBUFS, errno.EAGAIN):
        SocketPort("udp://test:1", Broken(lost)).send(b"a")  # type: ignore[arg-type]


LINUX = pytest.mark.skipif(sys.platform != "linux", reason="names of sockets without a file are a thing of Linux")
HOLD = """
import sys
from ada_hardware.transport import open_packets
port = open_packets(sys.argv[1])
print('has it', flush=True)
sys.stdin.read()
"""


@LINUX
def test_a_second_program_is_refused_until_the_first_is_gone_and_sends_nothing(peer: socket.socket) -> None:
    url = f"udp://127.0.0.1:{peer.getsockname()[1]}"
    with subprocess.Popen([sys.executable, "-c", HOLD, url], stdin=-1, stdout=-1) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"has it\n"
        with refused(TransportError, field="holder", value=other.pid):
            open_packets(url)
        other.kill()  # no chance to tidy up
        other.wait()
    open_packets(url).close()
    peer.setblocking(False)
    with pytest.raises(BlockingIOError):
        peer.recv(1)


@LINUX
@pytest.mark.parametrize("other", ["udp://localhost:{}", "udp://[::ffff:127.0.0.1]:{}"])
def test_the_same_device_by_another_name_is_the_same_wire(peer: socket.socket, other: str) -> None:
    number = peer.getsockname()[1]
    port = open_packets(f"udp://127.0.0.1:{number}")
    with refused(TransportError, field="holder", value=os.getpid()):
        open_packets(other.format(number))
    port.close()
    port.close()
    open_packets(f"udp://127.0.0.1:{number}").close()


@LINUX
def test_a_claim_that_fails_for_another_reason_does_not_name_a_holder(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    with monkeypatch.context() as patched:
        patched.setattr(socket.socket, "bind", refuse)
        with refused(TransportError, field="claim", value=errno.EPERM):
            open_packets("udp://127.0.0.1:9")


@LINUX
def test_a_claim_does_not_outlive_an_address_that_cannot_be_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*_: object) -> None:
        raise OSError(101, "Network is unreachable")

    with monkeypatch.context() as patched:
        patched.setattr(socket.socket, "connect", unreachable)
        for _ in range(2):  # the second attempt is not refused because of the first
            with refused(TransportError, field="network", value="udp://192.0.2.77:4242"):
                open_packets("udp://192.0.2.77:4242")
