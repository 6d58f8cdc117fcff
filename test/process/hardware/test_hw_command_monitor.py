# SPDX-License-Identifier: Apache-2.0
"""`ada hw monitor` and `ada hw emulate`: watching a device, and being one."""

from __future__ import annotations

import json
import signal

import pytest
from hw_command import PATIENCE, Ada, started

pytest.importorskip("serial")


# --- watching and emulating ---------------------------------------------------------------------------------------
def test_monitor_prints_a_line_of_json_for_each_look(ada: Ada) -> None:
    code, out, _ = ada(
        "monitor", "dynpick", "--emulator", "--setting", "rate=100", "--fault", "fz=-20",
        "--json", "--every", "0.3", "--duration", "1.5",
    )  # fmt: skip
    lines = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert 5 <= len(lines) <= 6
    assert abs(lines[-1]["wrench"][2] + 20.0) < 0.5
    assert lines[-1]["state"] == "reading" and lines[-1]["readings"] > lines[0]["readings"]


def test_monitor_of_a_robot_shows_joints_limits_and_wire_and_moves_nothing(ada: Ada) -> None:
    code, out, _ = ada("monitor", "khr1", "--emulator", "--duration", "1")
    assert code == 0
    assert "inactive, opened" in out
    assert "neck_yaw" in out and "between its limits" in out and "[" in out
    assert "sent" in out and "answered" in out
    assert "OUTSIDE" not in out


def test_ctrl_c_ends_a_monitor_cleanly() -> None:
    process = started("monitor", "dynpick", "--emulator", "--setting", "rate=100", "--json", "--every", "0.1")
    try:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["state"] == "reading"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
        assert not err.strip()
    finally:
        process.kill()
        process.wait()


def test_an_emulated_device_can_be_asked_and_tested_by_its_address(ada: Ada) -> None:
    device = started("emulate", "ft300", "--until-eof", "--fault", "fz=-5")
    try:
        assert device.stdout is not None
        ready = json.loads(device.stdout.readline())
        code, out, _ = ada("monitor", "ft300", "--url", ready["url"], "--json", "--duration", "0.5")
        assert code == 0
        assert abs(json.loads(out.splitlines()[-1])["wrench"][2] + 5.0) < 0.5
        assert (
            device.communicate('{"ask": "violations"}\n', timeout=PATIENCE)[0].strip()
            == '{"ok": true, "violations": []}'
        )
        assert device.returncode == 0
    finally:
        device.kill()
        device.wait()
