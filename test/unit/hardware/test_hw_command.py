# SPDX-License-Identifier: Apache-2.0
"""`ada hw`: what it lists, what it refuses before anything is opened, and its pages."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hw_command import Ada

from ada_dynamics import resources
from ada_hardware.pa10.alarms import AXIS_ALARMS, CONTROLLER_ALARMS

pytest.importorskip("serial")


KHR1 = ("test", "khr1", "--emulator")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        *((words, "'pa11'") for words in (("test", "pa11", "--emulator"), ("monitor", "pa11", "--emulator"),
                                          ("emulate", "pa11"), ("settings", "pa11"))),
        (("test", "pa10"), "arcnet:arc0"),
        (("monitor", "khr1"), "/dev/ttyUSB0"),
        (("test", "pa10", "--emulator", "--url", "dry:"), "--url dry:"),
        ((*KHR1, "--setting", "perod=1"), "'period'"),
        ((*KHR1, "--setting", "period"), "NAME=VALUE"),
        ((*KHR1, "--setting", "period=fast"), "from 0 to 1 [s]"),
        ((*KHR1, "--setting", "period=0", "--setting", "period=1"), "twice"),
        ((*KHR1, "--setting", "url=/dev/x"), "--url /dev/x"),
        ((*KHR1, "--setting", "sensor.max_force=1"), "driver"),
        ((*KHR1, "--setting", "emulator.start=1"), "emulator.start"),
        ((*KHR1, "--fault", "dorp=0.1"), "drop"),
        ((*KHR1, "--fault", "drop=much"), "number"),
        (("test", "khr1", "--url", "/dev/x", "--fault", "drop=0.1"), "remove the address"),
        ((*KHR1, "--joint", "tail"), "'tail'"),
        ((*KHR1, "--duration", "-1"), "positive"),
        ((*KHR1, "--setting", "second_id=0"), "different IDs"),
        (("test", "dynpick", "--emulator", "--move"), "--joint"),
        (("test", "khr1", "--url", "/dev/ttyUSB9", "--move"), "--emergency-stop-in-my-hand"),
        (("test", "khr1", "--url", "/dev/ttyUSB9", "--joint", "neck_yaw"), "--move"),
        (("test", "pa10", "--emulator", "--setting", "safety.velocity=[9, 1, 1, 1, 1, 1, 1]"), "'s1'"),
        (("monitor", "pa10", "--emulator", "--setting", "safety.position_upper=[4, 1, 1, 1, 1, 1, 1]"), "'s1'"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_with_code_2_before_anything_is_opened(
    ada: Ada, words: tuple[str, ...], text: str
) -> None:
    code, out, err = ada(*words)
    assert code == 2 and text in " ".join(err.split())
    assert "Traceback" not in err and not out


def test_an_angle_map_that_is_missing_or_does_not_fit_is_refused_with_file_and_key(ada: Ada, tmp_path: Path) -> None:
    good = Path(resources.find("config", "khr1_angle_map.yaml")).read_text(encoding="utf-8")
    wrong = (
        ("channel: 6", "channel: 1", "channel 1"),
        ("joint: neck_yaw", "joint: tail_yaw", "tail_yaw"),
        ("", "", ""),
    )
    for old, new, text in wrong:
        path = tmp_path / "map.yaml"
        path.unlink(missing_ok=True)
        if old:
            path.write_text(good.replace(old, new, 1), encoding="utf-8")
        code, _, err = ada("test", "khr1", "--emulator", "--setting", f"angle_map={path}")
        assert code == 2 and "map.yaml" in err and text in err


DOCS = Path(__file__).parents[3] / "docs"


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("heading", "alarms"), [("Alarms of an axis", AXIS_ALARMS), ("Alarms of the controller", CONTROLLER_ALARMS)]
)
def test_the_table_of_alarms_is_that_of_the_code(heading: str, alarms: dict[int, object]) -> None:
    section = page("bringup_pa10.md").split(f"## {heading}\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| ([0-9A-F]{3}) \| (.+) \| (.+) \|$", section, re.MULTILINE)
    assert rows == [(f"{code:03X}", one.text, one.remedy) for code, one in alarms.items()]  # type: ignore[attr-defined]


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
    section = page("bringup_khr1.md").split("| joint | positive direction |")[1].split("\n\n")[0]
    told = set()
    for names, words in re.findall(r"^\| (`.+?) \| (.+?) \|$", section, re.MULTILINE):
        point, way = WORDS[words]
        for name in re.findall(r"`(\w+)`", names):
            np.testing.assert_array_equal(np.cross(numbers(turning[name], "axis", "xyz"), point), way, err_msg=name)
            told.add(name)
    assert told == set(turning)
