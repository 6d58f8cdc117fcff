# SPDX-License-Identifier: Apache-2.0
"""`ada hw monitor` beside a program that drives: it shows what that one does, and sends nothing."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Iterator

import numpy as np
import pytest
from hw_command import Ada
from waiting import until

from ada_hardware.emulation.process import EmulatorProcess
from ada_hardware.robot import Robot
from ada_robot.contract import Mode
from ada_robot.errors import TransportError
from ada_robot.safety.phases import Phase
from ada_robot.safety.settings import SafetySettings

# A busy machine may hold any of these processes up for longer than the 10 ms of an arm.
PATIENT = {"watchdog": 2.0, "start": [0.0, 0.6, 0.0, 1.5, 0.0, 1.04, 0.0]}
SLOW = {"variant": "7c", "period": 0.006, "reply_timeout": 0.0055, "device_timeout": 0.4, "start_timeout": 10.0}
SAFETY = SafetySettings(max_missed=400, host_timeout=20.0, hold_without_commands=True, record_seconds=5.0)


class Relay(threading.Thread):
    """Stands between hosts and the device, passes everything on, and takes note of who sent what."""

    def __init__(self, device: str) -> None:
        super().__init__(daemon=True)
        self.host, self.device = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
        self.host.bind(("127.0.0.1", 0))
        self.device.connect(("127.0.0.1", int(device.rpartition(":")[2])))
        self.url = f"udp://127.0.0.1:{self.host.getsockname()[1]}"
        self.came: list[tuple[int, str]] = []
        self.is_over = False
        for one in (self.host, self.device):
            one.settimeout(0.05)

    def run(self) -> None:
        threading.Thread(target=self._back, daemon=True).start()
        while not self.is_over:
            try:
                data, self.peer = self.host.recvfrom(1000)
            except OSError:
                continue
            self.came.append((self.peer[1], chr(data[5])))
            self.device.send(data)

    def _back(self) -> None:
        while not self.is_over:
            try:
                data = self.device.recv(1000)
            except OSError:
                continue
            self.host.sendto(data, self.peer)


@pytest.fixture
def relay() -> Iterator[Relay]:
    with EmulatorProcess("pa10", settings={"variant": "7c", **PATIENT}) as device:
        one = Relay(device.url)
        one.start()
        yield one
        one.is_over = True


def refusal_of_second(relay: Relay) -> str:
    """Sentence of the refusal; the exception would keep the robot and its flight recorder in memory."""
    try:
        Robot("pa10", {"url": relay.url, **SLOW}, SAFETY, place="thread").open()
    except TransportError as problem:
        return str(problem)
    return pytest.fail("a second robot was opened at the same address")


@pytest.mark.parametrize("place", ["process", "thread"])
def test_a_monitor_beside_a_program_that_moves_an_arm_shows_it_and_sends_nothing(relay: Relay, ada: Ada, place) -> None:
    settings = ["--setting", "variant=7c"]
    with Robot("pa10", {"url": relay.url, **SLOW}, SAFETY, place=place) as robot:
        until(lambda: robot.activate() or robot.phase is Phase.ACTIVE, "the active robot")
        robot.command(Mode.VELOCITY, np.full(7, 0.02))
        mark = len(relay.came)
        code, out, err = ada(
            "monitor", "pa10", "--url", relay.url, *settings, "--json", "--every", "0.1", "--duration", "0.4"
        )
        lines = [json.loads(line) for line in out.splitlines()]
        assert code == 0, err
        assert len(lines) >= 3
        assert {line["phase"] for line in lines} == {robot.phase.value}
        assert lines[-1]["joints"] == list(robot.joints)
        assert np.allclose(lines[-1]["position"], robot.feedback.position, atol=0.1)
        assert lines[-1]["position"] != [0.0] * 7
        _, text, _ = ada("monitor", "pa10", "--url", relay.url, *settings, "--duration", "0.1")
        assert "driven by another program: nothing is sent" in text
        since = relay.came[mark:]
        assert len(since) > 10
        assert {kind for _, kind in since} == {"C"}, "neither S nor E goes to an arm that another program drives"
        assert robot.phase is Phase.ACTIVE, robot.reason
        assert f"({robot.cycle_pid if place == 'process' else os.getpid()})" in refusal_of_second(relay)
        code, _, err = ada("test", "pa10", "--url", relay.url, *settings)
        assert code != 0
    assert len({sender for sender, _ in relay.came}) == 1


def test_a_robot_of_a_program_without_a_flight_record_is_refused_by_name(relay: Relay, ada: Ada) -> None:
    safety = SafetySettings(record_seconds=0.0, max_missed=400)
    with Robot("pa10", {"url": relay.url, **SLOW}, safety):
        code, _, err = ada("monitor", "pa10", "--url", relay.url, "--setting", "variant=7c", "--duration", "0.1")
        assert code == 2
        assert "ada_robot.cycle" in err and "record_seconds" in err


def test_a_sensor_that_another_program_reads_is_refused_by_name(ada: Ada) -> None:
    from ada_hardware.transport import open_packets

    port = open_packets("udp://127.0.0.99:49152")
    code, _, err = ada("monitor", "onrobot", "--url", port.url, "--duration", "0.1")
    port.close()
    assert code == 2
    assert "in use by this program itself" in err


def test_the_first_line_of_a_monitor_has_no_figures_that_nobody_knows_yet(ada: Ada) -> None:
    _, out, _ = ada("monitor", "pa10", "--emulator", "--json", "--every", "0.02", "--duration", "0.4")
    lines = [json.loads(line) for line in out.splitlines()]
    medians = [line["period_median_s"] for line in lines]
    assert 0.0 not in medians
    assert medians[-1] is not None and medians[-1] > 1e-3
    _, out, _ = ada(
        "monitor", "dynpick", "--emulator", "--setting", "rate=100", "--json", "--every", "0.02", "--duration", "0.2"
    )
    rates = [json.loads(line)["rate_hz"] for line in out.splitlines()]
    assert 0.0 not in rates
