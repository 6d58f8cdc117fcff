# SPDX-License-Identifier: Apache-2.0
"""`ada hw`: what it lists, what it refuses before anything is opened, ports that it finds, and its pages."""

from __future__ import annotations

import grp
import os
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hw_command import Ada

from ada_dynamics import resources
from ada_hardware.pa10.alarms import AXIS_ALARMS, CONTROLLER_ALARMS
from ada_hardware.self_test.connected_devices import SERIAL, serial_ports, users_of

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
        (("test", "khr1", "--url", "/dev/x", "--fault", "drop=0.1"), "emulator:drop=0.1"),
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


def listed(device: str = "/dev/ttyUSB0", vid: int | None = 0x0403, pid: int | None = 0x6001, **more: Any) -> Any:
    about = {"manufacturer": "FTDI", "product": "FT232R", "description": "n/a", "serial_number": "A1", **more}
    return SimpleNamespace(device=device, vid=vid, pid=pid, **about)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A machine with one FTDI converter at ttyUSB0, 16 ms slow."""
    port = tmp_path / "dev/ttyUSB0"
    port.parent.mkdir()
    port.touch()
    by_id = tmp_path / "dev/serial/by-id"
    by_id.mkdir(parents=True)
    (by_id / "usb-FTDI_A1").symlink_to(port)
    device = tmp_path / "sys/bus/usb/port"
    device.mkdir(parents=True)
    (device / "latency_timer").write_text("16\n")
    (tmp_path / "sys/class/tty/ttyUSB0").mkdir(parents=True)
    (tmp_path / "sys/class/tty/ttyUSB0/device").symlink_to(device)
    (tmp_path / "proc").mkdir()
    return tmp_path


def test_a_port_is_listed_with_converter_lasting_name_and_its_likely_devices(root: Path) -> None:
    (found,) = serial_ports([listed()], root)
    assert (found.device, found.usb) == ("/dev/ttyUSB0", "0403:6001")
    assert (found.by_id, found.may_be[0]) == ("/dev/serial/by-id/usb-FTDI_A1", "khr1")
    built_in = listed("/dev/ttyS0", None, None, manufacturer=None, product=None)
    ports = serial_ports([listed("/dev/ttyACM0", 0x1234, 0x5678), built_in], root)
    assert [(one.device, one.may_be) for one in ports] == [("/dev/ttyACM0", SERIAL), ("/dev/ttyS0", SERIAL)]


@pytest.mark.parametrize(("mode", "text"), [(0o660, "sudo usermod -aG dialout $USER"), (0o600, "/etc/udev/rules.d")])
def test_a_missing_permission_is_reported_with_what_gives_it(
    root: Path, monkeypatch: pytest.MonkeyPatch, mode: int, text: str
) -> None:
    (root / "dev/ttyUSB0").chmod(mode)
    monkeypatch.setattr(grp, "getgrgid", lambda number: SimpleNamespace(gr_name="dialout"))
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert text in serial_ports([listed()], root)[0].problems[0]


def test_the_program_that_has_a_port_open_is_named(root: Path) -> None:
    process = root / "proc/123/fd"
    process.mkdir(parents=True)
    (process.parent / "comm").write_text("ModemManager\n")
    (process / "5").symlink_to(root / "dev/ttyUSB0")
    found = serial_ports([listed()], root)[0]
    assert found.users == ("ModemManager (123)",) and any("in use" in one for one in found.problems)
    with Path("/dev/null").open() as file:
        assert f"({os.getpid()})" in " ".join(users_of(Path(f"/proc/self/fd/{file.fileno()}").readlink()))


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
