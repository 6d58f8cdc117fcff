# SPDX-License-Identifier: Apache-2.0
"""Addresses "emulator:" and "dry:": a device that is switched on when its wire is opened, and off when it is closed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from echo_device import frame
from processes import is_alive
from refused import refused
from waiting import LIMIT, until

from ada_hardware import opening
from ada_hardware.emulation.in_process import InProcessPackets, InProcessStream
from ada_hardware.force_torque.rdt.netft import NetFtDriver, NetFtSettings
from ada_hardware.transport.wires import ByteStream, PacketPort, Serial
from ada_robot.errors import TransportError

pytest.importorskip("serial")
STREAM, PACKETS = "echo_device:EchoStream", "echo_device:EchoPackets"


def stream(settings: dict[str, object] | None = None) -> ByteStream:
    return opening.open_device_stream(STREAM, "emulator:", Serial(), emulator_settings=settings)


def packets() -> PacketPort:
    return opening.open_device_packets(PACKETS, "emulator:")


def test_a_stream_leads_to_a_device_on_a_pseudo_terminal() -> None:
    wire = stream({"greeting": "hello"})
    wire.write(frame(b"abc"))
    got = b""
    while len(got) < 5 and (piece := wire.read(5 - len(got), LIMIT)):
        got += piece
    assert got == frame(b"abc")
    assert wire.url == f"emulator:{STREAM} ({wire.device.url})" and wire.device.url.startswith("/dev/")
    assert wire.device.state()["greeting"] == "hello"
    wire.write(frame(b"later"))
    assert wire.device.state()["heard"]  # a question is answered after the bytes that were sent before it
    wire.discard_input()
    wire.close()
    wire.close()


def test_packets_lead_to_a_device_on_udp_with_the_faults_in_its_address() -> None:
    port = opening.open_device_packets(PACKETS, "emulator:deaf=1,greeting=good day")
    assert port.device.state()["greeting"] == "good day" and port.device.url.startswith("udp://127.0.0.1:")
    port.send(frame(b"abc"))
    assert port.receive(0.05) is None
    port.device.fault("deaf", 0)
    port.send(frame(b"abc"))
    assert port.receive(LIMIT) == frame(b"abc")
    port.discard_input()
    port.close()
    port.close()


def test_a_device_ends_with_its_wire_and_each_wire_has_its_own() -> None:
    wires = [stream(), packets(), packets()]
    pids = [wire.device.pid for wire in wires]
    assert len(set(pids)) == 3 and len({wire.device.url for wire in wires}) == 3
    assert all(os.getsid(pid) != os.getsid(0) for pid in pids)  # an interrupt at the terminal is for the host
    for wire in wires:
        wire.close()
    assert not any(is_alive(pid) for pid in pids)


HOST = f"""
import sys
from ada_hardware.opening import open_device_packets
port = open_device_packets({PACKETS!r}, "emulator:")
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
    with refused(TransportError, field="url"):
        opening.open_device_stream(PACKETS, "emulator:", Serial())
    with refused(TransportError, field="url"):
        opening.open_device_packets(STREAM, "emulator:")
    children = subprocess.run(["ps", "--ppid", str(os.getpid()), "-o", "args="], capture_output=True, text=True)
    assert "ada_hardware.emulation" not in children.stdout


def test_an_emulated_net_ft_has_its_page_where_its_driver_looks() -> None:
    driver = NetFtDriver(NetFtSettings(url="emulator:"))
    driver.open()
    try:
        assert driver.identity().source == "device"
        assert np.isfinite(driver.read().wrench).all()
    finally:
        driver.close()


def test_each_dry_run_has_a_device_of_its_own_with_the_settings_asked_for() -> None:
    wire = opening.open_device_stream(STREAM, "dry:", Serial(), emulator_settings={"greeting": "dry"})
    wire.write(frame(b"a"))
    assert wire.read(10, LIMIT) == frame(b"a")
    assert isinstance(wire, InProcessStream) and wire.emulator.state()["greeting"] == "dry"
    assert wire.url == f"dry:{STREAM}"
    one, other = (opening.open_device_packets(PACKETS, "dry:") for _ in range(2))
    assert isinstance(one, InProcessPackets) and isinstance(other, InProcessPackets)
    one.send(frame(b"b"))
    assert one.receive(LIMIT) == frame(b"b")
    assert one.emulator.state()["heard"] == 1 and other.emulator.state()["heard"] == 0


def test_other_addresses_are_opened_for_real() -> None:
    with refused(TransportError, field="port", value="/dev/ttyNOPE"):
        opening.open_device_stream("khr1", "/dev/ttyNOPE", Serial())
    port = opening.open_device_packets("netft", "udp://127.0.0.5:9")
    assert port.url == "udp://127.0.0.5:9"
    port.close()
