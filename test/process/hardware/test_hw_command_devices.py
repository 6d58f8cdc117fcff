# SPDX-License-Identifier: Apache-2.0
"""`ada hw test` of emulated devices, and at addresses that do not open or where something else answers."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import threading
import tty
from collections.abc import Iterator
from pathlib import Path

import pytest
from hw_command import Ada, started
from processes import as_nobody
from waiting import ended

from ada_hardware.transport import Serial, open_stream

pytest.importorskip("serial")


OF_THE_MACHINE = {"rate", "losses"}  # what fails where a machine is too busy, too: tests are about the rest
# One joint, and a robot that waits for a busy machine
PATIENT = (
    "--joint", "neck_yaw", "--duration", "0.5", "--setting", "reply_timeout=1", "--setting", "safety.max_missed=100",
    "--setting", "safety.command_timeout=1.5", "--setting", "safety.host_timeout=2",
    "--setting", "safety.longest_gap=1",
)  # fmt: skip


def verdicts(out: str) -> dict[str, str]:
    return {one["check"]: one["verdict"] for one in json.loads(out)["checks"]}


def test_a_sensor_that_is_well_passes_all_checks(ada: Ada) -> None:
    code, out, err = ada(
        "test", "dynpick", "--emulator", "--setting", "rate=100", "--duration", "0.5", "--json",
        "--setting", "sensor.bias_samples=20",
    )  # fmt: skip
    found = json.loads(out)
    failed = {name for name, verdict in verdicts(out).items() if verdict != "ok"}
    assert failed <= OF_THE_MACHINE, out
    assert found["ok"] is (not failed) and code == bool(failed)
    figures = {one["check"]: one for one in found["checks"]}
    assert figures["rate"]["wanted_hz"] == 100.0 and not err


def test_a_sensor_that_loses_samples_or_is_loaded_fails_there_and_nowhere_else(ada: Ada) -> None:
    code, out, _ = ada(
        "test", "onrobot", "--emulator", "--setting", "rate=100", "--duration", "0.5", "--json",
        "--fault", "drop_answers=0.1", "--setting", "emulator.noise=30000",
    )  # fmt: skip
    assert code == 1
    failed = {name for name, verdict in verdicts(out).items() if verdict == "failed"}
    assert {"losses", "noise"} <= failed <= {"losses", "noise", "zero", *OF_THE_MACHINE}


@pytest.mark.slow
def test_a_robot_that_is_well_passes_all_checks_and_moves_one_joint_there_and_back(ada: Ada) -> None:
    code, out, _ = ada("test", "khr1", "--emulator", *PATIENT)
    assert code == 0, out
    for name in ("motion of neck_yaw", "silence of the host", "stop is latched", "reset", "the emulator's judgement"):
        assert f"ok       {name}" in out
    assert "motion of left_knee" not in out
    assert out.splitlines()[-1].endswith("all ok")


@pytest.mark.slow
def test_a_servo_that_does_not_turn_fails_its_motion_and_ends_the_motions(ada: Ada) -> None:
    code, out, _ = ada("test", "khr1", "--emulator", *PATIENT, "--fault", "dead_servo=6")
    assert code == 1
    assert "FAILED   motion of neck_yaw" in out and "silence of the host" not in out
    assert "ok       the emulator's judgement" in out  # it was brought to rest nevertheless


def test_a_robot_with_its_emergency_stop_pressed_is_not_moved(ada: Ada) -> None:
    # of the old arm, whose own watchdog a busy machine does not meet
    code, out, _ = ada(
        "test", "pa10", "--emulator", "--setting", "variant=7c", "--setting", "device_timeout=0.4", "--duration", "0.3",
        "--fault", "emergency_stop=1",
    )  # fmt: skip
    assert code == 1
    assert "FAILED   alarms" in out and "not done motion" in out and "ok       the emulator's judgement" in out


@pytest.mark.slow
def test_ctrl_c_in_a_motion_brings_the_robot_to_rest_and_ends_with_130() -> None:
    process = started("test", "khr1", "--emulator", *PATIENT)
    try:
        assert process.stdout is not None
        assert any("ok       activation" in line for line in process.stdout)
        process.send_signal(signal.SIGINT)
        _, err = ended(process)
        assert process.returncode == 130 and err.strip() == "ada: interrupted"
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def line() -> Iterator[tuple[int, str]]:
    """A pseudo-terminal: the test's end, and the path of the other."""
    master, slave = os.openpty()
    tty.setraw(slave)
    yield master, os.ttyname(slave)
    os.close(master)
    os.close(slave)


def test_a_port_that_is_missing_fails_the_first_check_and_ends_a_monitor(ada: Ada) -> None:
    code, out, _ = ada("test", "khr1", "--url", "/dev/ttyUSB99")
    assert code == 1 and "FAILED   address opens" in out
    code, _, err = ada("monitor", "dynpick", "--url", "/dev/ttyUSB99", "--duration", "1")
    assert code == 2 and "/dev/ttyUSB99" in err


def test_a_busy_port_and_a_missing_permission_are_reported_with_a_command_that_helps(
    ada: Ada, line: tuple[int, str]
) -> None:
    other = open_stream(line[1], Serial())
    code, out, _ = ada("test", "dynpick", "--url", line[1])
    other.close()
    assert code == 1 and f"fuser -v {line[1]}" in out
    Path(line[1]).chmod(0o000)
    code, out, _ = as_nobody(lambda: ada("test", "dynpick", "--url", line[1]))
    assert code == 1 and "sudo usermod -aG dialout $USER" in out


def answer_garbage(master: int) -> None:
    """A device at another rate: each request is answered by bytes that mean nothing; ends with the line."""

    def run() -> None:
        with contextlib.suppress(OSError):
            while os.read(master, 4096):
                os.write(master, bytes(range(0x80, 0xC0)))

    threading.Thread(target=run, daemon=True).start()


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("khr1", "--url", "LINE"), "check the rate"),
        (("dynpick", "--url", "LINE"), "check the rate"),
        (("khr3", "--emulator", "--fault", "wrong_speed=1"), "625000"),
        # a busy host gives the emulator its turn late
        (("khr1", "--emulator", "--setting", "emulator.second_id=5", "--setting", "reply_timeout=0.2"), "with ID"),
        (("hexa", "--url", "udp://127.0.0.1:9", "--setting", "connect_timeout=0.1"), "address is right"),
        (("khr1", "--emulator", "--fault", "silent_board=2"), "board"),
    ],
)
def test_a_device_that_does_not_answer_as_expected_fails_the_second_check_with_a_hint(
    ada: Ada, line: tuple[int, str], words: tuple[str, ...], hint: str
) -> None:
    if "LINE" in words:
        answer_garbage(line[0])
    code, out, _ = ada("test", *(line[1] if word == "LINE" else word for word in words))
    assert code == 1
    assert "ok       address opens" in out and "FAILED   device answers" in out and hint in out
