# SPDX-License-Identifier: Apache-2.0
"""`ada hw`: what it lists, and what it refuses before anything is opened."""

from __future__ import annotations

import json
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
    assert len(names) == len(set(names)) and any(name.startswith("emulator.") for name in names)
    assert all(one["description"] for one in found["settings"])
    assert {"drop", "silence"} < set(found["faults"])


def test_there_is_no_stop_and_the_help_says_so(ada: Ada) -> None:
    code, out, _ = ada("--help")
    assert code == 0 and "no `ada hw stop`" in out
    assert ada("stop", "pa10")[0] == 2


# --- bad input ----------------------------------------------------------------------------------------------------
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
