# SPDX-License-Identifier: Apache-2.0
"""`ada hw identify`: the tool of a sensor that a person turns, its settings, refusals."""

import json
import re

import numpy as np
import pytest
from hw_command import Ada, started
from waiting import LIMIT, ended

from ada_hardware.emulation.process import EmulatorProcess
from ada_hardware.self_test.device import target


def test_the_tool_that_a_person_turns_six_times_is_found_with_the_sensors_zero() -> None:
    mass, com = 2.3, np.array([-0.015, 0.004, 0.08])
    offset = np.array([1.5, -0.7, 2.0, 0.03, -0.02, 0.01])  # that the sensor shows without any load
    ways = {sign + axis: float(f"{sign}1") * np.eye(3)[i] for i, axis in enumerate("xyz") for sign in "+-"}
    with EmulatorProcess("dynpick") as device:
        program = started("identify", "dynpick", "--url", device.url, "--json")
        assert program.stderr is not None and program.stdin is not None and program.stdout is not None
        try:
            for number in range(1, 7):
                words = program.stderr.readline()
                asked = re.search(r"(\d) of 6: turn it so that its ([+-][xyz]) axis points down", words)
                assert asked is not None and int(asked[1]) == number
                weight = mass * 9.81 * ways[asked[2]]
                seen = offset + np.concatenate([weight, np.cross(com, weight)])
                for axis, value in zip(("fx", "fy", "fz", "mx", "my", "mz"), seen, strict=True):
                    device.fault(axis, float(value))
                program.stdin.write("\n")
                program.stdin.flush()
            output, errors = ended(program)
        finally:
            program.kill()
    assert program.returncode == 0, errors
    found = json.loads(output)
    # counts of the sensor are 0.03 N and 0.0008 N m; each figure comes of six poses
    assert found["mass"] == pytest.approx(mass, abs=0.03 / 9.81)
    np.testing.assert_allclose(found["com"], com, atol=1e-3)
    np.testing.assert_allclose(found["bias"], offset, atol=0.03)
    np.testing.assert_allclose(found["bias"][3:], offset[3:], atol=1e-3)


def test_the_rehearsal_finds_its_tool_and_prints_settings_that_are_taken(ada: Ada) -> None:
    code, out, errors = ada("identify", "netft", "--emulator")
    assert code == 0, errors
    assert "mass              1.0000 kg" in out
    assert "10.00, -20.00, 60.00 mm" in out
    mass, com = re.search(r"sensor\.tool_mass=(\S+) --setting 'sensor\.tool_com=(.*)'", out).groups()  # type: ignore[union-attr]
    use = target("netft", settings={"sensor.tool_mass": float(mass), "sensor.tool_com": json.loads(com)}).sensing()
    assert (use.tool_mass, *use.tool_com) == pytest.approx((1.0, 0.01, -0.02, 0.06))


def test_a_robot_and_an_input_that_ends_are_refused(ada: Ada) -> None:
    assert ada("identify", "khr1", "--emulator")[0] == 2
    program = started("identify", "dynpick", "--url", "dry:")
    _, errors = program.communicate("", timeout=LIMIT)
    assert program.returncode == 2, errors
