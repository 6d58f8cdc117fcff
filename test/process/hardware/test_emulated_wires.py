# SPDX-License-Identifier: Apache-2.0
"""The address "emulator:": a device that is switched on when its wire is opened, and off when it is closed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from echo_device import frame
from patience import Patience

from ada_dynamics.errors import AdaError
from ada_hardware import opening
from ada_hardware.emulation import emulated_wires
from ada_hardware.emulation.emulated_wires import read_address
from ada_hardware.force_torque.rdt.netft import NetFtDriver, NetFtSettings
from ada_hardware.registry import DEVICES, find
from ada_hardware.transport.wires import ByteStream, PacketPort, Serial
from ada_robot.errors import TransportError

pytest.importorskip("serial")
STREAM, PACKETS = "echo_device:EchoStream", "echo_device:EchoPackets"
PATIENCE = 20.0  # [s] after which a test has failed


def is_alive(pid: int) -> bool:
    """Whether it runs; one that has ended and that nobody has asked about does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def stream(settings: dict[str, object] | None = None) -> ByteStream:
    return opening.open_device_stream(STREAM, "emulator:", Serial(), emulator_settings=settings)


def packets() -> PacketPort:
    return opening.open_device_packets(PACKETS, "emulator:")


def read(wire: ByteStream, count: int) -> bytes:
    data, patience = b"", Patience(PATIENCE)
    while len(data) < count and not patience.is_over:
        data += wire.read(count - len(data), 0.2)
    return data


def test_a_stream_leads_to_a_device_on_a_pseudo_terminal() -> None:
    wire = stream({"greeting": "hello"})
    wire.write(frame(b"abc"))
    assert read(wire, 5) == frame(b"abc")
    assert wire.url == f"emulator:{STREAM} ({wire.device.url})" and wire.device.url.startswith("/dev/")
    assert wire.device.state()["greeting"] == "hello"
    wire.write(frame(b"later"))
    assert wire.device.state()["heard"]  # what is asked comes behind what was sent
    wire.discard_input()
    wire.close()
    wire.close()


def test_packets_lead_to_a_device_on_udp() -> None:
    port = packets()
    port.send(frame(b"abc"))
    assert port.receive(PATIENCE) == frame(b"abc")
    assert port.url == f"emulator:{PACKETS} ({port.device.url})" and port.device.url.startswith("udp://127.0.0.1:")
    port.device.fault("silence", 1)
    port.send(frame(b"abc"))
    assert port.receive(0.05) is None
    port.discard_input()
    port.close()
    port.close()


def test_a_device_goes_with_its_wire_and_each_wire_has_its_own() -> None:
    wires = [stream(), packets(), packets()]
    pids = [wire.device.pid for wire in wires]
    assert len(set(pids)) == 3 and len({wire.device.url for wire in wires}) == 3
    for wire in wires:
        wire.close()
    assert not any(is_alive(pid) for pid in pids)


def test_an_interrupt_at_the_terminal_does_not_switch_the_device_off_under_its_host() -> None:
    with packets().device as device:
        assert os.getsid(device.pid) != os.getsid(0)


HOST = f"""
import sys, time
from ada_hardware.opening import open_device_packets
port = open_device_packets({PACKETS!r}, "emulator:")
print(port.device.pid, flush=True)
time.sleep(60.0)
"""


def test_a_device_does_not_outlive_a_host_that_is_killed() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(one for one in sys.path if one)}
    with subprocess.Popen([sys.executable, "-c", HOST], stdout=subprocess.PIPE, text=True, env=environment) as host:
        assert host.stdout is not None
        pid = int(host.stdout.readline())
        assert is_alive(pid)
        host.send_signal(signal.SIGKILL)
    patience = Patience(PATIENCE)
    while is_alive(pid):
        assert not patience.is_over
        time.sleep(1e-3)


def test_a_wire_that_cannot_be_opened_leaves_no_device_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[emulated_wires.EmulatorProcess] = []

    class Watched(emulated_wires.EmulatorProcess):
        def __init__(self, *arguments: object, **options: object) -> None:
            super().__init__(*arguments, **options)  # type: ignore[arg-type]
            started.append(self)

    def refuse(*_: object) -> None:
        raise TransportError("no")

    monkeypatch.setattr(emulated_wires, "EmulatorProcess", Watched)
    monkeypatch.setattr(opening, "open_stream", refuse)
    monkeypatch.setattr(opening, "open_packets", refuse)
    for start in (stream, packets):
        with pytest.raises(TransportError, match=r"^no$"):
            start()
    assert len(started) == 2 and not any(is_alive(one.pid) for one in started)


def test_a_device_on_the_other_kind_of_wire_is_refused_with_its_address() -> None:
    with pytest.raises(TransportError, match="is no address of a stream of bytes"):
        opening.open_device_stream(PACKETS, "emulator:", Serial())
    with pytest.raises(TransportError, match="is no address for packets"):
        opening.open_device_packets(STREAM, "emulator:")


def test_an_emulator_that_cannot_start_is_told_in_its_own_words() -> None:
    with pytest.raises(TransportError, match="no parameter is named 'colour'"):
        stream({"colour": "red"})


def test_faults_and_settings_may_stand_in_the_address() -> None:
    port = opening.open_device_packets(PACKETS, "emulator:deaf=1,greeting=good day,delay_answers=0.01")
    assert port.device.state()["greeting"] == "good day"
    port.send(frame(b"abc"))
    assert port.receive(0.05) is None
    port.device.fault("deaf", 0)
    port.send(frame(b"abc"))
    assert port.receive(PATIENCE) == frame(b"abc")
    port.close()


@pytest.mark.parametrize(
    ("device", "url", "part"),
    [
        ("pa10", "emulator:pa10", "no fault or setting of an emulated pa10 is named 'pa10'"),
        ("khr1", "emulator:dead_servos=3", "'dead_servo'"),
        ("pa10", "emulator:drops=0.1", "'drop'"),
        ("pa10", "emulator:drop", "drop has no value; write emulator:drop=NUMBER"),
        ("pa10", "emulator:drop=", "drop has no value"),
        ("pa10", "emulator:drop=much", "fault drop is 'much'; it must be a number"),
        ("pa11", "emulator:", "there is no device 'pa11'"),
    ],
)
def test_an_address_with_what_an_emulator_has_not_is_refused(device: str, url: str, part: str) -> None:
    with pytest.raises(AdaError, match=re.escape(part)):
        read_address(device, url)


def test_values_that_cannot_be_are_refused_in_the_emulators_own_words() -> None:
    with pytest.raises(TransportError, match="drop"):
        opening.open_device_packets("pa10", "emulator:drop=2")
    with pytest.raises(TransportError, match="variant"):
        opening.open_device_packets("pa10", "emulator:variant=8d")


def test_an_address_that_is_not_set_is_refused_naming_the_emulator() -> None:
    with pytest.raises(TransportError, match=r"pa10: url is not set.* emulator: .*dry:"):
        opening.open_device_packets("pa10", "")


def test_each_device_has_an_example_of_its_address() -> None:
    for device, kind in DEVICES.items():
        first = find(device).addresses[0]
        is_packets = first.startswith(("udp://", "arcnet:"))
        assert is_packets == (kind.emulator_class().WIRE == "packets")
        assert not opening.is_dry(first) and not opening.is_emulated(first)


def test_an_emulated_net_ft_has_its_page_where_its_driver_looks() -> None:
    driver = NetFtDriver(NetFtSettings(url="emulator:"))
    driver.open()
    try:
        assert driver.identity().source == "device"
        assert np.isfinite(driver.read().wrench).all()
    finally:
        driver.close()
