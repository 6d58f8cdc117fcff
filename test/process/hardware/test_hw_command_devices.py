# SPDX-License-Identifier: Apache-2.0
"""Whole tests of emulated devices by `ada hw test`, those that are well and those that are not."""

from __future__ import annotations

import json
import signal

import pytest
from hw_command import Ada, started
from waiting import ended

pytest.importorskip("serial")


OF_THE_MACHINE = {"rate", "losses"}  # what fails where a machine is too busy, too: tests are about the rest
# One joint, and a robot that waits for a busy machine
PATIENT = (
    "--joint", "neck_yaw", "--duration", "0.5", "--setting", "reply_timeout=1", "--setting", "safety.max_missed=100",
    "--setting", "safety.command_timeout=1.5", "--setting", "safety.host_timeout=2",
)  # fmt: skip


# --- devices ------------------------------------------------------------------------------------------------------
def verdicts(out: str) -> dict[str, str]:
    return {one["check"]: one["verdict"] for one in json.loads(out)["checks"]}


def test_a_sensor_that_is_well_passes_all_checks(ada: Ada) -> None:
    code, out, err = ada(
        "test", "dynpick", "--emulator", "--setting", "rate=100", "--duration", "0.5", "--json",
        "--setting", "sensor.silence_timeout=1", "--setting", "sensor.reopen_after=0.2",
    )  # fmt: skip
    found = json.loads(out)
    failed = {name for name, verdict in verdicts(out).items() if verdict != "ok"}
    assert failed <= OF_THE_MACHINE, out
    assert found["ok"] is (not failed) and code == bool(failed)
    figures = {one["check"]: one for one in found["checks"]}
    assert abs(figures["units"]["read_n"] + 20.0) < 0.2 and figures["rate"]["wanted_hz"] == 100.0
    assert not err  # the log does not report a silence that was provoked


def test_a_sensor_that_loses_samples_or_is_loaded_fails_there_and_nowhere_else(ada: Ada) -> None:
    code, out, _ = ada(
        "test", "onrobot", "--emulator", "--setting", "rate=100", "--duration", "0.5", "--json",
        "--fault", "drop_answers=0.1", "--setting", "emulator.noise=30000",
    )  # fmt: skip
    assert code == 1
    failed = {name for name, verdict in verdicts(out).items() if verdict == "failed"}
    assert {"losses", "noise"} <= failed <= {"losses", "noise", "zero", "units", *OF_THE_MACHINE}


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
