# SPDX-License-Identifier: Apache-2.0
"""The campaign of faults: a quick part of it, and that it fails where a case does not end as it must."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ada_hardware.pa10.cyclic import ANGLE_COUNT
from trials.faults import campaign
from trials.faults.case import CannotTryError, Case, Outcome

pytest.importorskip("mcap")


def case_of(name: str) -> Case:
    (case,) = (one for one in campaign.CASES if one.name == name)
    return case


def test_a_recording_that_is_killed_or_fills_the_disk_loses_its_open_chunk_alone(tmp_path: Path) -> None:
    for name in ("recording program killed", "disk full while recording"):
        outcome = case_of(name).run(1)
        assert outcome.state == "readable" and not outcome.problems


@pytest.mark.ros
def test_a_commander_that_wakes_up_moves_nothing() -> None:
    pytest.importorskip("rclpy")
    outcome = case_of("commander frozen, wakes up").run(1)
    # in its state on any machine; in its time on one that nobody else works on, which the campaign says
    assert outcome.state in ("inactive", "stopped") and not outcome.problems, outcome


@pytest.mark.parametrize(
    "outcome",
    [Outcome("active", 0.1, []), Outcome("stopped", 0.6, []), Outcome("stopped", 0.1, ["moved"])],
)
def test_a_wrong_state_a_late_one_and_an_unsafe_one_fail_the_campaign(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, outcome: Outcome
) -> None:
    good = Case("good", ("stopped",), 0.5, lambda seed: Outcome("stopped", 0.1, []))
    monkeypatch.setattr(campaign, "CASES", (good,))
    assert campaign.main([]) == 0
    monkeypatch.setattr(campaign, "CASES", (good, good._replace(name="bad", run=lambda seed: outcome)))
    assert campaign.main(["--json", str(tmp_path / "lines")]) == 1
    rows = [json.loads(line) for line in (tmp_path / "lines").read_text().splitlines()]
    assert [row["holds"] for row in rows] == [True, False]


def test_what_a_machine_cannot_try_is_said_and_fails_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(seed: int) -> Outcome:
        raise CannotTryError("no namespace of its own")

    monkeypatch.setattr(campaign, "CASES", (Case("network out", ("inactive",), 1.5, run),))
    assert campaign.main([]) == 0
    said = capsys.readouterr().out
    assert "not tried" in said and "no namespace" in said and "1 of 1 cases were not tried" in said


def test_an_arm_tells_angles_that_are_off_and_of_an_axis_that_is_stuck() -> None:
    from ada_hardware.pa10.emulator import Pa10Emulator, Pa10EmulatorSettings

    device = Pa10Emulator(Pa10EmulatorSettings())
    true = device._response().axes
    device.fault("angle_offset", 0.3)
    off = [one.angle - before.angle for one, before in zip(device._response().axes, true, strict=True)]
    assert all(abs(one * ANGLE_COUNT - 0.3) <= ANGLE_COUNT for one in off)
    device.fault("angle_offset", 0.0)
    device.fault("angle_stuck", 1.0)
    device.arm.q, device.arm.v = device.arm.q + 0.2, device.arm.v + 0.1
    first, second = device._response().axes[:2]
    assert (first.angle, first.speed) == (true[0].angle, 0)
    assert second.angle > true[1].angle and second.speed > 0


def test_a_robot_that_stopped_before_its_fault_is_no_proof_of_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    from trials.faults import devices

    class Stopped(devices.Robot):
        def command(self, *_: object) -> None:
            self.stop()

    monkeypatch.setattr(devices, "Robot", Stopped)
    outcome = case_of("emergency stop").run(1)
    assert outcome.state == "not moving" and "stop" in outcome.problems[0]
