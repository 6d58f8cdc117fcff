# SPDX-License-Identifier: Apache-2.0
"""The checklists: alarms as the code has them, signs as the robot description has them, commands that there are."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ada_dynamics import resources
from ada_hardware.pa10.alarms import AXIS_ALARMS, CONTROLLER_ALARMS
from ada_hardware.registry import DEVICES
from ada_tools import cli

DOCS = Path(__file__).parents[3] / "docs"
PAGES = ("hardware.md", "bringup_pa10.md", "bringup_khr1.md", "bringup_force_sensor.md")


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("heading", "alarms"), [("Alarms of an axis", AXIS_ALARMS), ("Alarms of the controller", CONTROLLER_ALARMS)]
)
def test_the_table_of_alarms_is_that_of_the_code(heading: str, alarms: dict[int, object]) -> None:
    section = page("bringup_pa10.md").split(f"## {heading}\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| ([0-9A-F]{3}) \| (.+) \| (.+) \|$", section, re.MULTILINE)
    assert rows == [(f"{code:03X}", one.text, one.remedy) for code, one in alarms.items()]  # type: ignore[attr-defined]


def test_all_devices_are_on_the_overview() -> None:
    assert re.findall(r"^\| `(\w+)` \|", page("hardware.md"), re.MULTILINE) == list(DEVICES)


def commands() -> list[tuple[str, str]]:
    found = []
    for name in PAGES:
        for line in re.findall(r"ada hw [^`\n#]+", page(name)):
            words = line.split(";")[0].strip()
            if ("..." not in words and words.split()[2] not in ("test", "stop", "settings")) or "--" in words:
                found.append((name, words))
    return found


@pytest.mark.parametrize(("name", "line"), commands())
def test_each_command_on_a_page_is_one(name: str, line: str) -> None:
    options = cli.parser("hw").parse_args(line.split()[1:])
    assert getattr(options, "device", "pa10") in DEVICES


# --- signs of the KHR-1 -------------------------------------------------------------------------------------------
# Where a point of the limb is from the joint's axis, and the way that it must go; x ahead, y to the left, z up.
HANGS, AHEAD, BESIDE = (0, 0, -1), (1, 0, 0), (0, 1, 0)
WORDS = {
    "face to the left": (AHEAD, (0, 1, 0)),
    "hand back": (HANGS, (-1, 0, 0)),
    "hand to the left": (HANGS, (0, 1, 0)),
    "foot to the left": (HANGS, (0, 1, 0)),
    "foot back": (HANGS, (-1, 0, 0)),
    "toes down": (AHEAD, (0, 0, -1)),
    "left edge of the sole up": (BESIDE, (0, 0, 1)),
}


def test_the_table_of_signs_is_that_of_the_robot_description() -> None:
    robot = ElementTree.parse(resources.find("urdf", "khr1.urdf")).getroot()
    turning = {one.get("name"): one for one in robot.findall("joint") if one.get("type") == "revolute"}

    def numbers(joint: Any, tag: str, name: str) -> Any:
        return np.array([float(x) for x in joint.find(tag).get(name, "0 0 0").split()])

    # axes are those of the trunk in the pose zero
    assert not any(numbers(joint, "origin", "rpy").any() for joint in turning.values())
    section = page("bringup_khr1.md").split("| joint | + is |")[1].split("\n\n")[0]
    told = set()
    for names, words in re.findall(r"^\| (`.+?) \| (.+?) \|$", section, re.MULTILINE):
        point, way = WORDS[words]
        for name in re.findall(r"`(\w+)`", names):
            np.testing.assert_array_equal(np.cross(numbers(turning[name], "axis", "xyz"), point), way, err_msg=name)
            told.add(name)
    assert told == set(turning)
