# SPDX-License-Identifier: Apache-2.0
"""One program at a time on a wire for packets: refused by name, and free again when its holder is gone."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest
from refused import refused

from ada_hardware.transport import open_packets
from ada_hardware.transport.claim import claim
from ada_hardware.transport.wires import packets_holder
from ada_robot.errors import TransportError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="names of sockets without a file are a thing of Linux")
HOLD = """
import sys
from ada_hardware.transport import open_packets
port = open_packets(sys.argv[1])
print('has it', flush=True)
sys.stdin.read()
"""


@pytest.fixture
def peer() -> Iterator[socket.socket]:
    """A device that takes note of what comes, and from where."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.bind(("127.0.0.1", 0))
        one.setblocking(False)
        yield one


def senders(peer: socket.socket) -> set[int]:
    found = set()
    while True:
        try:
            found.add(peer.recvfrom(1000)[1][1])
        except BlockingIOError:
            return found


def test_a_second_program_is_refused_with_the_number_and_name_of_the_first_until_that_is_gone(
    peer: socket.socket,
) -> None:
    url = f"udp://127.0.0.1:{peer.getsockname()[1]}"
    with subprocess.Popen([sys.executable, "-c", HOLD, url], stdin=-1, stdout=-1) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"has it\n"
        with refused(TransportError, field="holder", value=other.pid):
            open_packets(url)
        found = packets_holder(url)
        assert found is not None and found.pid == other.pid
        other.kill()  # no chance to tidy up
        other.wait()
    assert packets_holder(url) is None
    open_packets(url).close()
    assert senders(peer) == set()


@pytest.mark.parametrize("other", ["udp://localhost:{}", "udp://[::ffff:127.0.0.1]:{}"])
def test_the_same_device_by_another_name_is_the_same_wire(peer: socket.socket, other: str) -> None:
    number = peer.getsockname()[1]
    port = open_packets(f"udp://127.0.0.1:{number}")
    with refused(TransportError, field="holder", value=os.getpid()):
        open_packets(other.format(number))
    open_packets(f"udp://127.0.0.1:{number}", exclusive=False).close()
    port.close()
    port.close()
    open_packets(f"udp://127.0.0.1:{number}").close()


def test_other_devices_are_other_wires(peer: socket.socket) -> None:
    number = peer.getsockname()[1]
    one, other = open_packets(f"udp://127.0.0.1:{number}"), open_packets(f"udp://127.0.0.2:{number}")
    one.close()
    other.close()


def test_a_wire_that_was_asked_for_a_thousand_times_is_still_refused() -> None:
    mark = claim(f"test {os.getpid()}", "test:")
    for _ in range(1000):
        with refused(TransportError, field="holder"):
            claim(f"test {os.getpid()}", "test:")
    mark.release()
    claim(f"test {os.getpid()}", "test:").release()


def test_a_claim_does_not_outlive_an_address_that_cannot_be_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*_: object) -> None:
        raise OSError(101, "Network is unreachable")

    with monkeypatch.context() as patched:
        patched.setattr(socket.socket, "connect", unreachable)
        with refused(TransportError, field="network", value="udp://192.0.2.77:4242"):
            open_packets("udp://192.0.2.77:4242")
    assert packets_holder("udp://192.0.2.77:4242") is None
