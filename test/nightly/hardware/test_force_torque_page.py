# SPDX-License-Identifier: Apache-2.0
"""The page on force sensors says what is so."""

from __future__ import annotations

from pathlib import Path

import pytest
from pages import run

from ada_dynamics.settings import fields_of
from ada_hardware.force_torque.dynpick.emulator import DynPickEmulator
from ada_hardware.force_torque.rdt.emulator import NetFtEmulator
from ada_hardware.force_torque.sensor_settings import ForceSensorSettings

PAGE = Path(__file__).parents[3] / "docs/force_sensors.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_its_examples_run_and_find_the_tool() -> None:
    scope = run(PAGE)
    assert scope["reading"].is_valid
    assert scope["found"].mass == pytest.approx(1.2) and scope["found"].com == pytest.approx((0.0, 0.01, 0.08))


def test_the_settings_and_faults_that_it_names_are_there() -> None:
    settings = {one.name for one in fields_of(ForceSensorSettings)}
    for name in ("bias_samples", "motion_timeout", "max_force", "max_moment", "limit_samples", "stop_on_fault",
                 "filter_cutoff", "silence_timeout", "reopen_after"):  # fmt: skip
        assert name in settings and f"`{name}`" in TEXT
    for name in ("fx", "fy", "fz", "mx", "my", "mz", "frozen", "reboot"):
        assert name in DynPickEmulator.FAULTS and name in NetFtEmulator.FAULTS
    assert {"status", "deaf_starts"} <= set(NetFtEmulator.FAULTS)
