# SPDX-License-Identifier: Apache-2.0
"""Packets over real UDP sockets and socket pairs."""

from __future__ import annotations

import errno
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from refused import refused

from ada_hardware.transport import PacketPort, open_packets
from ada_hardware.transport.sockets import SocketPort
from ada_robot.errors import TransportError


@pytest.fixture
def peer() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.bind(("127.0.0.1", 0))
        one.settimeout(10.0)
        yield one


@pytest.fixture
def port(peer: socket.socket) -> Iterator[PacketPort]:
    one = open_packets(f"udp://127.0.0.1:{peer.getsockname()[1]}")
    yield one
    one.close()


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.bind(("127.0.0.1", 0))
        number: int = one.getsockname()[1]
        return number


def test_packets_keep_their_borders_both_ways(peer: socket.socket, port: PacketPort) -> None:
    for packet in (b"first", b"", bytes(range(256)) * 5):
        port.send(packet)
        data, address = peer.recvfrom(10_000)
        assert data == packet
        peer.sendto(packet, address)
        assert port.receive(5.0) == packet  # an empty one is not None
    assert port.receive(0.0) is None


def test_silence_lasts_as_long_as_the_timeout(port: PacketPort) -> None:
    begin = time.monotonic()
    assert port.receive(0.03) is None
    assert time.monotonic() - begin >= 0.03


def test_packets_of_strangers_are_not_taken(peer: socket.socket, port: PacketPort) -> None:
    port.send(b"hello")
    _, address = peer.recvfrom(100)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        stranger.sendto(b"from a stranger", address)
        peer.sendto(b"from the peer", address)
        assert port.receive(5.0) == b"from the peer"
        assert port.receive(0.0) is None


def test_a_peer_that_is_not_there_is_silence_and_no_packet_is_lost_when_it_comes() -> None:
    number = free_port()
    port = open_packets(f"udp://127.0.0.1:{number}")
    for _ in range(3):
        port.send(b"nobody hears this")
        assert port.receive(0.01) is None  # the system's "refused" comes in here, or with the next packet
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as late:
        late.bind(("127.0.0.1", number))
        late.settimeout(10.0)
        port.send(b"heard")  # right behind a refusal
        assert late.recv(100) == b"heard"
    port.close()


def test_discarded_packets_do_not_come_back(peer: socket.socket, port: PacketPort) -> None:
    port.send(b"hello")
    _, address = peer.recvfrom(100)
    for _ in range(3):
        peer.sendto(b"old", address)
    port.discard_input()
    peer.sendto(b"new", address)
    assert port.receive(5.0) == b"new"


def test_a_closed_port_says_so(port: PacketPort) -> None:
    port.close()
    port.close()
    port.discard_input()
    with pytest.raises(TransportError):
        port.send(b"a")
    with refused(TransportError, field="state", value="closed"):
        port.receive(0.0)


def test_both_ends_of_a_pair_hear_each_other_and_tell_when_the_other_is_gone() -> None:
    one, other = (SocketPort("socketpair", end) for end in socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM))
    got: list[bytes | None] = []
    listener = threading.Thread(target=lambda: got.append(other.receive(20.0)))
    listener.start()
    one.send(b"question")
    listener.join(10.0)
    assert got == [b"question"]
    other.send(b"answer")
    assert one.receive(5.0) == b"answer"
    one.discard_input()
    one.close()
    assert other.receive(0.0) is None
    other.close()


@pytest.mark.parametrize(
    "url",
    [
        "udp://127.0.0.1",
        "udp://:49152",
        "udp://127.0.0.1:0",
        "udp://127.0.0.1:70000",
        "udp://127.0.0.1:x",
        "udp:",
        "udp://[::1:5",
    ],
)
def test_an_address_without_host_or_port_is_refused_with_an_example(url: str) -> None:
    with refused(TransportError, field="url", value=url, allowed="udp://HOST:PORT"):
        open_packets(url)


@pytest.mark.parametrize("url", ["", "arcnet:", "/dev/ttyUSB0", "tcp://127.0.0.1:5", "dry:"])
def test_addresses_of_other_kinds_are_not_for_packets(url: str) -> None:
    with refused(TransportError, field="url", value=url):
        open_packets(url)


def test_a_host_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(*_: Any, **__: Any) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", nothing)
    with refused(TransportError, field="host", value="sensor"):
        open_packets("udp://sensor:49152")


def test_ipv6_hosts_stand_in_brackets() -> None:
    try:
        peer = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        peer.bind(("::1", 0))
    except OSError:
        pytest.skip("no IPv6 on this machine")
    with peer:
        peer.settimeout(10.0)
        port = open_packets(f"udp://[::1]:{peer.getsockname()[1]}")
        port.send(b"six")
        assert peer.recv(10) == b"six"
        port.close()


class Broken:
    """A socket whose network is gone."""

    def __init__(self, number: int) -> None:
        self._number = number

    def setblocking(self, _: bool) -> None: ...

    def send(self, _: bytes) -> int:
        raise OSError(self._number, "as told")


@pytest.mark.parametrize("number", [errno.ENETDOWN, errno.ENETUNREACH, errno.EPERM])
def test_a_network_that_is_gone_is_an_error(number: int) -> None:
    with refused(TransportError, field="state", value="gone"):
        SocketPort("udp://test:1", Broken(number)).send(b"a")  # type: ignore[arg-type]


@pytest.mark.parametrize("number", [errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.ENOBUFS, errno.EAGAIN])
def test_a_packet_that_gets_lost_is_none(number: int) -> None:
    SocketPort("udp://test:1", Broken(number)).send(b"a")  # type: ignore[arg-type]
