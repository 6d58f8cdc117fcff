# SPDX-License-Identifier: Apache-2.0
"""Raw frames, on a pair of virtual Ethernets in the place of ARCNET, which needs root; and each error without."""

from __future__ import annotations

import itertools
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from processes import as_nobody
from refused import refused
from waiting import LIMIT, until

from ada_hardware.transport import open_packets
from ada_hardware.transport.arcnet import ArcnetPort, open_arcnet
from ada_robot.errors import TransportError

pytestmark = pytest.mark.skipif(not hasattr(socket, "AF_PACKET"), reason="packet sockets are a thing of Linux")

# docs/pa10_hardware.md: head of a cyclic command of variant ce with 44 bytes of data behind
CYCLIC = bytes.fromhex("FFFED2B70043") + bytes(44)
START = bytes.fromhex("FFFEFEB70153")
ALL_PROTOCOLS = 0x0003  # ETH_P_ALL of linux/if_ether.h
ANSWER = b"the only answer, long enough"


def carries(one: ArcnetPort, other: ArcnetPort) -> None:
    """A link that was just set up loses frames until the system has its carrier; wait for that."""
    for sender, receiver in ((one, other), (other, one)):
        until(lambda: sender.send(CYCLIC) or receiver.receive(0.02), "a frame")  # noqa: B023
    for port in (one, other):
        while port.receive(0.02) is not None:
            """Frames that are still under way."""


@pytest.fixture
def pair() -> Iterator[tuple[ArcnetPort, ArcnetPort]]:
    names = f"adaw{os.getpid() % 100_000}a", f"adaw{os.getpid() % 100_000}b"
    ip = shutil.which("ip")
    if ip is None or os.geteuid() != 0:
        pytest.skip("a pair of virtual Ethernets needs root and the program ip")

    def call(*words: str) -> bool:
        return subprocess.run([str(ip), *words], capture_output=True, check=False).returncode == 0

    if not call("link", "add", names[0], "type", "veth", "peer", "name", names[1]):
        pytest.skip("this kernel gives no virtual Ethernets here")
    try:
        for name in names:
            quiet = Path("/proc/sys/net/ipv6/conf") / name / "disable_ipv6"
            if quiet.exists():
                quiet.write_text("1")  # else the system itself says something there
            assert call("link", "set", name, "up")
        ports = open_arcnet(names[0], any_kind=True), open_arcnet(names[1], any_kind=True)
        carries(*ports)
        yield ports
        for port in ports:
            port.close()
    finally:
        call("link", "del", names[0])


def test_frames_arrive_as_they_were_sent_and_not_at_their_sender(pair: tuple[ArcnetPort, ArcnetPort]) -> None:
    one, other = pair
    for frame in (CYCLIC, CYCLIC[::-1]):
        one.send(frame)
        assert other.receive(LIMIT) == frame
    other.send(ANSWER)
    assert one.receive(LIMIT) == ANSWER and one.receive(0.01) is None
    one.send(CYCLIC)
    other.discard_input()
    assert other.receive(0.01) is None


def test_frames_shorter_than_a_head_need_the_right_that_the_message_names(pair: tuple[ArcnetPort, ArcnetPort]) -> None:
    # Ethernet refuses them to everybody; ARCNET to those without CAP_SYS_RAWIO. The words are the same.
    with refused(TransportError, field="length", value=6):
        pair[0].send(START)


def test_an_interface_that_goes_down_is_an_error_with_the_command(pair: tuple[ArcnetPort, ArcnetPort]) -> None:
    one, _ = pair
    name = one.url.partition(":")[2]
    subprocess.run(["ip", "link", "set", name, "down"], check=True)
    with refused(TransportError, field="state", value="down"):
        one.send(CYCLIC)
    with refused(TransportError, field="state", value="down"):
        for _ in range(3):
            one.receive(0.01)
    one.close()
    with refused(TransportError, field="state", value="down"):
        open_arcnet(name, any_kind=True)


def test_frames_of_other_programs_of_this_machine_are_heard_and_taken_for_no_answers(
    pair: tuple[ArcnetPort, ArcnetPort],
) -> None:
    one, far = pair
    name = one.url.partition(":")[2]
    other = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    other.bind((name, ALL_PROTOCOLS))
    second = ArcnetPort(name, other)
    for number in range(3):
        second.send(CYCLIC + bytes((number,)))
        assert far.receive(LIMIT) == CYCLIC + bytes((number,))
    far.send(ANSWER)
    assert one.receive(LIMIT) == ANSWER
    assert list(one.overheard()) == [CYCLIC + bytes((number,)) for number in range(3)]
    assert list(one.overheard()) == []
    one.send(CYCLIC)
    assert far.receive(LIMIT) == CYCLIC
    assert one.receive(0.01) is None
    assert list(one.overheard()) == []  # its own are none of others
    second.close()


class Flooded:
    """A packet socket in a flood of frames of another program of this machine, with one answer after some of them."""

    def __init__(self, before: int) -> None:
        self._frames = itertools.chain(itertools.repeat(OUTGOING, before), [INCOMING])
        self._ready = socket.socketpair()
        self._ready[1].send(b"always readable")

    def setblocking(self, _: bool) -> None: ...

    def fileno(self) -> int:
        return self._ready[0].fileno()

    def recvfrom(self, _: int) -> tuple[bytes, tuple[str, int, int]]:
        return next(self._frames, OUTGOING)

    def close(self) -> None:
        for end in self._ready:
            end.close()


OUTGOING, INCOMING = (CYCLIC, ("arc0", 0, 4)), (ANSWER, ("arc0", 0, 0))


ENDLESS = 10_000_000


@pytest.mark.parametrize(
    ("before", "timeout", "answer"),
    [(20, 0.0, ANSWER), (ENDLESS, 0.0, None), (ENDLESS, 0.05, None), (999, 9.0, ANSWER)],
)
def test_a_flood_of_frames_of_other_programs_does_not_outlast_the_timeout(
    before: int, timeout: float, answer: bytes | None
) -> None:
    port = ArcnetPort("arc0", Flooded(before))  # type: ignore[arg-type]
    begin = time.monotonic()
    assert port.receive(timeout) == answer
    assert answer or time.monotonic() - begin < timeout + 1.0  # 0.1 ms of frames beyond it, and a busy machine
    assert set(port.overheard()) == {CYCLIC}
    port.close()


def test_an_interface_has_one_program_at_a_time(pair: tuple[ArcnetPort, ArcnetPort]) -> None:
    name = pair[0].url.partition(":")[2]
    with refused(TransportError, field="holder", value=os.getpid()):
        open_arcnet(name, any_kind=True)
    pair[0].close()
    open_arcnet(name, any_kind=True).close()


@pytest.mark.parametrize("name", ["arc9", "lo", "..", "../net/lo", "."])
def test_an_interface_that_is_missing_or_of_another_kind_is_refused_with_those_of_arcnet(name: str) -> None:
    with refused(TransportError, field="interface", value=name, allowed=()):
        open_packets(f"arcnet:{name}")


def test_missing_rights_are_told_with_the_command_that_gives_them() -> None:
    with refused(TransportError, field="permission", value=os.getuid()):
        as_nobody(lambda: open_arcnet("lo", any_kind=True))
