# SPDX-License-Identifier: Apache-2.0
"""`ada hw`: what it lists, and what it refuses before anything is opened."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hw_command import Ada

from ada_dynamics import resources
from ada_hardware.registry import DEVICES

pytest.importorskip("serial")


# --- what there is ------------------------------------------------------------------------------------------------
def test_all_devices_are_listed_with_an_address(ada: Ada) -> None:
    code, out, _ = ada("list")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()[1:]] == list(DEVICES)
    found = json.loads(ada("list", "--json")[1])
    for one in found:
        assert {"emulator:", "dry:"} < set(one["urls"])
        is_stream = DEVICES[one["name"]].emulator_class().WIRE == "stream"
        assert one["urls"][0].startswith("/dev/" if is_stream else ("udp://", "arcnet:"))


@pytest.mark.parametrize("device", DEVICES)
def test_settings_and_faults_of_each_device_are_listed(ada: Ada, device: str) -> None:
    found = json.loads(ada("settings", device, "--json")[1])
    names = [one["name"] for one in found["settings"]]
    assert len(names) == len(set(names))
    assert any(name.startswith("emulator.") for name in names)
    assert {"drop", "silence"} < set(found["faults"])
    assert "--fault NAME=VALUE" in ada("settings", device)[1]


def test_help_says_that_there_is_no_stop_and_why(ada: Ada) -> None:
    code, out, _ = ada("--help")
    assert code == 0
    assert "no `ada hw stop`" in out
    assert ada("stop", "pa10")[0] == 2


# --- bad input ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["test", "pa11", "--emulator"], "there is no device 'pa11'; there are pa10, khr1"),
        (["monitor", "pa11", "--emulator"], "there is no device 'pa11'; there are pa10, khr1"),
        (["emulate", "pa11"], "there is no device 'pa11'; there are pa10, khr1"),
        (["settings", "pa11"], "there is no device 'pa11'; there are pa10, khr1"),
        (["test", "pa10"], "where is the device? Such as arcnet:arc0, udp://127.0.0.1:41234"),
        (["monitor", "khr1"], "where is the device? Such as /dev/ttyUSB0"),
        (["test", "pa10", "--emulator", "--url", "dry:"], "--emulator and --url dry:: give one of them"),
        (["test", "khr1", "--emulator", "--setting", "perod=1"], "Did you mean 'period'"),
        (["test", "khr1", "--emulator", "--setting", "period"], "write NAME=VALUE"),
        (["test", "khr1", "--emulator", "--setting", "period=fast"], "it must be a number from 0 to 1 [s]"),
        (["test", "khr1", "--emulator", "--setting", "period=0", "--setting", "period=1"], "is given twice"),
        (["test", "khr1", "--emulator", "--setting", "url=/dev/x"], "--url /dev/x"),
        (["test", "khr1", "--emulator", "--setting", "sensor.max_force=1"], "a robot has settings of its driver"),
        (["test", "khr1", "--emulator", "--setting", "emulator.start=1"], "emulator.start"),
        (["test", "khr1", "--emulator", "--fault", "dorp=0.1"], "drop"),
        (["test", "khr1", "--emulator", "--fault", "drop=much"], "it must be a number"),
        (["test", "khr1", "--url", "/dev/x", "--fault", "drop=0.1"], "emulator:drop=0.1"),
        (["test", "khr1", "--emulator", "--joint", "tail"], "no joint is named 'tail'"),
        (["test", "khr1", "--emulator", "--duration", "-1"], "give a positive number of seconds"),
        (["test", "khr1", "--emulator", "--setting", "second_id=0"], "boards on one line need different IDs"),
        (["test", "dynpick", "--emulator", "--move"], "--move and --joint are of robots"),
        (["test", "khr1", "--url", "/dev/ttyUSB9", "--move"], "--emergency-stop-in-my-hand"),
        (["test", "khr1", "--url", "/dev/ttyUSB9", "--joint", "neck_yaw"], "is for --move"),
        (
            ["test", "pa10", "--emulator", "--setting", "safety.velocity=[9, 1, 1, 1, 1, 1, 1]"],
            "joint 's1': velocity is 9, wider than the device's own limit, 1; narrow it to 1 or less",
        ),
        (
            ["monitor", "pa10", "--emulator", "--setting", "safety.position_upper=[4, 1, 1, 1, 1, 1, 1]"],
            "position_upper is 4, wider than the device's own limit",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_what_to_do_and_code_2(ada: Ada, words: list[str], text: str) -> None:
    code, out, err = ada(*words)
    assert code == 2
    assert text in " ".join(err.split())
    assert "Traceback" not in err
    assert not out  # nothing was opened


def bent_map(tmp_path: Path, bend: Callable[[str], str]) -> str:
    text = Path(resources.find("config", "khr1_angle_map.yaml")).read_text(encoding="utf-8")
    assert bend(text) != text
    path = tmp_path / "map.yaml"
    path.write_text(bend(text), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("channel: 6", "channel: 1", "channel 1"),
        ("joint: neck_yaw", "joint: tail_yaw", "tail_yaw"),
    ],
)
def test_an_angle_map_with_doubled_or_missing_entries_is_refused_with_file_and_key(
    ada: Ada, tmp_path: Path, old: str, new: str, text: str
) -> None:
    path = bent_map(tmp_path, lambda content: content.replace(old, new, 1))
    code, _, err = ada("test", "khr1", "--emulator", "--setting", f"angle_map={path}")
    assert code == 2
    assert "map.yaml" in err and text in err


def test_an_angle_map_that_is_not_there_is_refused(ada: Ada) -> None:
    code, _, err = ada("test", "khr1", "--emulator", "--setting", "angle_map=/no/such/map.yaml")
    assert code == 2
    assert "/no/such/map.yaml" in err


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("list", 0),
        ("settings khr1", 0),
        ("test nothing --emulator", 2),
    ],
)
def test_exit_codes_are_those_of_the_help(ada: Ada, words: str, code: int) -> None:
    said = ada("--help")[1].split("exit code:")[1]
    assert re.search(rf"^ *{code} ", said, re.MULTILINE)
    assert ada(*words.split())[0] == code
