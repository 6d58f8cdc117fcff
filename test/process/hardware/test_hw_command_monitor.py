# SPDX-License-Identifier: Apache-2.0
"""`ada hw monitor` of free devices and of one that another program drives, and `ada hw emulate`."""

from __future__ import annotations

import contextlib
import json
import select
import socket
import threading
from collections.abc import Iterator

import numpy as np
import pytest
from hw_command import Ada, started
from waiting import ended, until

from ada_hardware.emulation.control_socket import ask, control_sockets
from ada_hardware.emulation.process import EmulatorProcess
from ada_hardware.robot import Robot
from ada_hardware.transport import open_packets
from ada_robot.contract import Mode
from ada_robot.safety.phases import Phase
from ada_robot.safety.settings import SafetySettings

pytest.importorskip("serial")


def test_a_monitor_prints_a_line_of_json_at_each_interval(ada: Ada) -> None:
    code, out, _ = ada(
        "monitor", "dynpick", "--emulator", "--setting", "rate=100", "--fault", "fz=-20",
        "--json", "--every", "0.3", "--duration", "3",
    )  # fmt: skip
    lines = [json.loads(line) for line in out.splitlines()]
    assert code == 0 and 2 <= len(lines) <= 11
    assert abs(lines[-1]["wrench"][2] + 20.0) < 0.5
    assert lines[-1]["state"] == "reading" and lines[-1]["readings"] > lines[0]["readings"]
    assert 0.0 not in [line["rate_hz"] for line in lines], "a figure that is not known yet is none"


def test_a_monitor_of_a_robot_shows_joints_limits_and_wire(ada: Ada) -> None:
    code, out, _ = ada("monitor", "khr1", "--emulator", "--duration", "1")
    assert code == 0
    for text in ("inactive, opened", "neck_yaw", "lower [rad]", "sent", "answered"):
        assert text in out
    _, out, _ = ada("monitor", "pa10", "--emulator", "--json", "--every", "0.02", "--duration", "0.4")
    assert 0.0 not in [json.loads(line)["period_median_s"] for line in out.splitlines()]


def test_an_emulated_device_can_be_queried_and_tested_by_its_address(ada: Ada) -> None:
    device = started("emulate", "ft300", "--until-eof", "--fault", "fz=-5")
    try:
        assert device.stdout is not None and device.stdin is not None
        url = json.loads(device.stdout.readline())["url"]
        code, out, _ = ada("monitor", "ft300", "--url", url, "--json", "--duration", "0.5")
        assert code == 0 and abs(json.loads(out.splitlines()[-1])["wrench"][2] + 5.0) < 0.5
        (control,) = control_sockets("ft300", device.pid)
        assert ask(control, "violations") == []
        ended(device)
        assert device.returncode == 0
    finally:
        device.kill()
        device.wait()


# A busy machine may hold any of these processes up for longer than the 10 ms of an arm.
PATIENT = {"watchdog": 2.0, "start": [0.0, 0.6, 0.0, 1.5, 0.0, 1.04, 0.0]}
SLOW = {"variant": "7c", "period": 0.006, "reply_timeout": 0.0055, "device_timeout": 0.4, "start_timeout": 10.0}
SAFETY = SafetySettings(
    max_missed=400, host_timeout=60.0, longest_gap=1.0, hold_without_commands=True, record_seconds=5.0
)


class Relay(threading.Thread):
    """Passes packets between hosts and the device, and notes sender and kind of each of the hosts'."""

    def __init__(self, device: str) -> None:
        super().__init__(daemon=True)
        self.host, self.device = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
        self.host.bind(("127.0.0.1", 0))
        self.device.connect(("127.0.0.1", int(device.rpartition(":")[2])))
        self.url = f"udp://127.0.0.1:{self.host.getsockname()[1]}"
        self.came: list[tuple[int, str]] = []
        self.is_over = False

    def run(self) -> None:
        while not self.is_over:
            for one in select.select([self.host, self.device], [], [], 0.05)[0]:
                with contextlib.suppress(OSError):
                    data, sender = one.recvfrom(1000)
                    if one is self.host:
                        self.peer = sender
                        self.came.append((sender[1], chr(data[5])))
                        self.device.send(data)
                    else:
                        self.host.sendto(data, self.peer)


@pytest.fixture
def relay() -> Iterator[Relay]:
    with EmulatorProcess("pa10", settings={"variant": "7c", **PATIENT}) as device:
        one = Relay(device.url)
        one.start()
        yield one
        one.is_over = True


@pytest.mark.parametrize("place", ["process", "thread"])
def test_a_device_that_another_program_drives_is_refused_with_its_name_and_nothing_is_sent(
    relay: Relay, ada: Ada, place
) -> None:
    settings = ["--setting", "variant=7c"]
    with Robot("pa10", {"url": relay.url, **SLOW}, SAFETY, place=place) as robot:
        until(lambda: robot.activate() or robot.phase is Phase.ACTIVE, "the active robot")
        robot.command(Mode.VELOCITY, np.full(7, 0.02))
        mark = len(relay.came)
        code, _, err = ada("monitor", "pa10", "--url", relay.url, *settings, "--duration", "1")
        assert code == 2 and "in use by" in err
        until(lambda: len(relay.came) > mark + 10, "commands of the robot")
        assert {kind for _, kind in relay.came[mark:]} == {"C"}, "neither S nor E goes to an arm that another drives"
        assert robot.phase is Phase.ACTIVE, robot.reason
        code, _, err = ada("test", "pa10", "--url", relay.url, *settings)
        assert code != 0
    assert len({sender for sender, _ in relay.came}) == 1
    port = open_packets("udp://127.0.0.99:49152")
    code, _, err = ada("monitor", "onrobot", "--url", port.url, "--duration", "0.1")
    port.close()
    assert code == 2 and "in use by this program (" in err
