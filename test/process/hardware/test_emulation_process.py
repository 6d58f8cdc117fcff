# SPDX-License-Identifier: Apache-2.0
"""Emulators behind real wires: in this process step by step, in their own process, and by addresses of drivers."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from echo_device import EchoDeviceSettings, EchoPackets, EchoStream, frame
from processes import descendants, is_alive
from refused import refused
from waiting import LIMIT, until

from ada_dynamics.errors import InputError
from ada_hardware import opening
from ada_hardware.emulation.host import EmulatorHost, PtyPort, UdpPort
from ada_hardware.emulation.in_process import InProcessWire
from ada_hardware.emulation.process import EmulatorProcess
from ada_hardware.transport import Serial, Wire, open_packets, open_stream
from ada_hardware.transport.udp import SocketPort, host_and_port
from ada_robot.errors import NoAnswer, TransportError

pytest.importorskip("serial")
STREAM, PACKETS = "echo_device:EchoStream", "echo_device:EchoPackets"


def exchanged(port: Wire, content: bytes, timeout: float = LIMIT) -> bytes | None:
    port.send(frame(content))
    data = b""
    while len(data) < len(content) + 2 and (piece := port.receive(timeout)):
        data += piece
    return data or None


def test_a_cable_that_is_pulled_ends_a_read_that_waits() -> None:
    wire = InProcessWire(EchoStream(EchoDeviceSettings()))
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(wire.receive, LIMIT)
        wire.fault("disconnect", 1)
        with refused(TransportError, field="state", value="gone"):
            reading.result(LIMIT)


def test_hosts_may_close_a_pseudo_terminal_and_open_it_again() -> None:
    end = PtyPort()
    for number in range(5):
        client = open_stream(end.url, Serial())
        client.send(b"%d" % number)
        got: list[bytes] = []
        until(lambda: got.extend(data for _, data in end.arrivals(0.0)) or got, "the bytes")  # noqa: B023
        assert got == [b"%d" % number]
        end.send(b"answer")
        assert client.receive(LIMIT) == b"answer"
        client.close()
    end.close()


def test_what_nobody_reads_gets_lost_and_holds_nobody() -> None:
    end = PtyPort()
    for _ in range(3000):
        end.send(bytes(100))
    client = open_stream(end.url, Serial())
    client.discard_input()
    until(lambda: end.send(b"now") or b"now" in (client.receive(0.01) or b""), "the newest bytes")
    client.close()
    end.close()


def test_answers_go_to_whom_the_newest_packet_came_from_also_after_the_cable_was_out() -> None:
    end = UdpPort()
    url = end.url
    end.close()
    end.send(b"to nobody")
    assert end.arrivals(0.0) == [] and end.descriptors() == []
    end.open()
    assert end.url == url
    second = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    second.connect(host_and_port(url))
    one, other = open_packets(url), SocketPort(url, second)
    for port in (one, other, one, other):
        port.send(b"question")
        until(lambda: end.arrivals(0.0), "the question")
        end.send(b"answer")
        assert port.receive(LIMIT) == b"answer"
    one.close()
    end.send(b"to one that is gone")
    other.close()
    end.close()


@pytest.mark.parametrize("wire, listen, field", [
    ("stream", "udp://127.0.0.1:0", "listen"), ("packets", "pty:", "url"), ("stream", "com1", "listen"),
    ("packets", "udp:", "url"), ("packets", "udp://:5", "url"), ("packets", "udp://127.0.0.1", "url"),
])  # fmt: skip
def test_an_address_that_an_emulator_cannot_have_is_refused(wire: str, listen: str, field: str) -> None:
    device = (EchoStream if wire == "stream" else EchoPackets)(EchoDeviceSettings())
    with refused(TransportError, field=field, value=listen):
        EmulatorHost(device, listen)
    end = UdpPort()
    with refused(TransportError, field="port", value=int(end.url.rpartition(":")[2])):
        UdpPort(end.url)
    end.close()


@pytest.mark.parametrize("kind", [EchoStream, EchoPackets])
def test_a_host_survives_garbage_and_answers_right_behind_it(kind: type[EchoStream]) -> None:
    host = EmulatorHost(kind(EchoDeviceSettings()), faults={"half_commands": 0.3}, seed=5)
    wire = open_packets(host.url) if kind.WIRE == "packets" else open_stream(host.url, Serial())
    for number in range(200):
        wire.send(bytes((number * number + byte) & 0xFF for byte in range(50)))
        host.step(0.0)
    host.fault("half_commands", 0.0)

    def is_answered() -> bool:
        wire.send(frame(b"still there"))
        host.step(0.01)
        return frame(b"still there") in (wire.receive(0.0) or b"")

    until(is_answered, "an answer", poll=0.0)
    wire.close()
    host.close()


@pytest.fixture(scope="module")
def packeting() -> Iterator[EmulatorProcess]:
    with EmulatorProcess(PACKETS) as one:
        yield one


def test_faults_are_in_force_when_the_call_returns_and_violations_have_their_time(packeting: EmulatorProcess) -> None:
    port = open_packets(packeting.url)
    packeting.fault("silence", 1)
    heard = packeting.state()["heard"]
    assert exchanged(port, b"a", 0.05) is None
    until(lambda: packeting.state()["heard"] == heard + 1, "the frame")
    packeting.fault("silence", 0)
    assert exchanged(port, b"b") == frame(b"b")
    packeting.fault("deaf", 1)
    assert packeting.state()["is_deaf"] is True
    packeting.fault("deaf", 0)
    with refused(InputError, field="blind", value=1):
        packeting.fault("blind", 1)
    assert packeting.violations() == []
    exchanged(port, b"X")
    (violation,) = packeting.violations()
    assert violation.text == "it was told X" and 0.0 < violation.time <= time.monotonic()
    port.close()


def test_a_pulled_cable_breaks_a_stream_and_comes_back() -> None:
    with EmulatorProcess(STREAM, faults={"disconnect": 1}) as device:
        device.fault("disconnect", 0)
        stream = open_stream(device.url, Serial())
        assert exchanged(stream, b"a") == frame(b"a")
        device.fault("disconnect", 1)
        with refused(TransportError, field="state", value="gone"):
            exchanged(stream, b"b")
        stream.close()
        device.fault("disconnect", 0)
        stream = open_stream(device.url, Serial())
        assert exchanged(stream, b"c") == frame(b"c")
        stream.close()


def test_a_killed_device_is_gone_from_both_kinds_of_wires() -> None:
    with EmulatorProcess(STREAM) as device, EmulatorProcess(PACKETS) as other:
        stream, port = open_stream(device.url, Serial()), open_packets(other.url)
        assert exchanged(stream, b"a") == frame(b"a") and exchanged(port, b"a") == frame(b"a")
        device.kill()
        other.kill()
        assert not device.is_alive
        with refused(TransportError, field="state", value="gone"):
            exchanged(stream, b"b")
        assert exchanged(port, b"b", 0.05) is None
        with refused(TransportError, field="state", value="ended"):
            device.state()
        stream.close()
        port.close()
    device = EmulatorProcess(STREAM)
    device.freeze()
    device.close()
    device.close()
    assert not device.is_alive


def test_a_frozen_device_is_silent_and_resumes_when_thawed() -> None:
    with EmulatorProcess(PACKETS, timeout=4.0) as device:
        port = open_packets(device.url)
        device.freeze()
        assert exchanged(port, b"ice", 0.05) is None
        with refused(NoAnswer, field="state", value="frozen"):
            device.state()
        device.thaw()
        assert port.receive(LIMIT) == frame(b"ice")
        device.fault("deaf", 1)  # gets its own answer, not the one that was given up
        assert device.state()["is_deaf"] is True
        port.close()


@pytest.mark.parametrize(
    ("name", "arguments", "word"),
    [("pa11", {}, "pa11"), (STREAM, {"settings": {"colour": "red"}}, "colour"),
     (STREAM, {"faults": {"blind": 1.0}}, "blind"), (STREAM, {"listen": "udp://127.0.0.1:0"}, "udp:")],
)  # fmt: skip
def test_a_process_that_cannot_start_says_why(name: str, arguments: dict[str, object], word: str) -> None:
    with refused(TransportError, field="state", value="ended") as caught:
        EmulatorProcess(name, **arguments)  # type: ignore[arg-type]
    assert repr(word)[:-1] in str(caught.value)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_person_starts_it_without_input_and_ends_it_by_a_signal(number: signal.Signals) -> None:
    one = subprocess.Popen(
        [sys.executable, "-m", "ada_hardware.emulation", STREAM, "--setting", "greeting=hi"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(one for one in sys.path if one)},
    )
    assert one.stdout is not None
    stream = open_stream(json.loads(one.stdout.readline())["url"], Serial())
    assert exchanged(stream, b"a") == frame(b"a")
    stream.close()
    one.send_signal(number)
    assert one.wait(LIMIT) == 0
    one.stdout.close()


def test_each_wire_has_a_device_of_its_own_which_ends_with_it() -> None:
    wires = [
        opening.open_device_wire(STREAM, "emulator:", {"greeting": "grüß = Gott"}, Serial()),
        opening.open_device_wire(PACKETS, "emulator:", {"greeting": "good day"}),
        opening.open_device_wire(PACKETS, "emulator:"),
    ]
    devices = [wire.device for wire in wires]
    assert [one.state()["greeting"] for one in devices] == ["grüß = Gott", "good day", "hello"]
    for wire in wires:
        for content in (b"", b"a", bytes(range(200))):
            assert exchanged(wire, content) == frame(content)
        wire.discard_input()
    pids = [one.pid for one in devices]
    assert len(set(pids)) == len({one.url for one in devices}) == 3
    assert all(os.getsid(pid) != os.getsid(0) for pid in pids)  # an interrupt at the terminal is for the host
    for wire in wires:
        wire.close()
        wire.close()
    assert not any(is_alive(pid) for pid in pids)


HOST = f"""
import sys
from ada_hardware.opening import open_device_wire
port = open_device_wire({PACKETS!r}, "emulator:")
print(port.device.pid, flush=True)
sys.stdin.read()
"""


def test_a_device_does_not_outlive_a_host_that_is_killed() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(one for one in sys.path if one)}
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", HOST], stdin=pipe, stdout=pipe, text=True, env=environment) as host:
        assert host.stdout is not None
        pid = int(host.stdout.readline())
        assert is_alive(pid)
        host.send_signal(signal.SIGKILL)
    until(lambda: not is_alive(pid), "the end of the device")


def test_a_device_on_the_other_kind_of_wire_is_refused_and_ended() -> None:
    before = descendants(os.getpid())
    with refused(TransportError, field="url"):
        opening.open_device_wire(PACKETS, "emulator:", serial=Serial())
    with refused(TransportError, field="url"):
        opening.open_device_wire(STREAM, "emulator:")
    assert descendants(os.getpid()) == before
