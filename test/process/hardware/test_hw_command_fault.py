# SPDX-License-Identifier: Apache-2.0
"""`ada hw fault`: faults in emulated devices that run, through a door for their owner alone."""

from __future__ import annotations

import json
import socket
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hw_command import Ada
from refused import refused

from ada_hardware.emulation.door import doors
from ada_hardware.emulation.process import EmulatorProcess
from ada_hardware.registry import DEVICES
from ada_robot.errors import TransportError

pytest.importorskip("serial")


@pytest.fixture(autouse=True)
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Doors of this test alone; the path of a socket has at most 107 letters, and pytest's own folders are long."""
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        yield Path(folder, "ada_dynamics_doors")


def test_a_device_runs_without_a_door_where_none_can_be(monkeypatch: pytest.MonkeyPatch, place: Path) -> None:
    deep = place.parent / ("deep" * 40)
    deep.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(deep))
    with EmulatorProcess("dynpick") as device:
        assert device.state() and not doors()


@pytest.fixture
def sensor(place: Path) -> Iterator[EmulatorProcess]:
    with EmulatorProcess("dynpick") as device:
        yield device


def test_a_fault_is_made_in_a_device_that_runs_and_cleared(ada: Ada, sensor: EmulatorProcess) -> None:
    assert ada("fault", "dynpick", "fx", "12.5")[0] == 0
    assert sensor.state()["wrench"][0] == 12.5
    assert ada("fault", "dynpick", "drop_answers", "0.5")[0] == 0
    (found,) = json.loads(ada("fault", "dynpick", "frozen", "--json")[1])
    assert found["faults"] == {"fx": 12.5, "frozen": 1.0, "drop_answers": 0.5}
    assert "frozen" not in ada("fault", "dynpick", "frozen", "--clear")[1]
    assert ada("fault", "dynpick", "--clear")[0] == 0
    assert sensor.state()["wrench"][0] == 0.0
    code, out, _ = ada("fault")  # lists what runs, and all faults of all devices
    assert code == 0 and out.startswith(f"dynpick in process {sensor.pid}: no fault")
    listed = {line.split()[0] for line in out.splitlines() if line.startswith("  ")}
    for kind in DEVICES.values():
        assert set(kind.emulator_class().FAULTS) <= listed


def test_only_the_owner_gets_in_and_the_door_goes_with_the_device(place: Path, sensor: EmulatorProcess) -> None:
    (door,) = doors("dynpick")
    assert stat.S_IMODE(door.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    sensor.close()
    assert not door.path.exists()


def test_the_socket_of_a_killed_device_is_removed(ada: Ada, sensor: EmulatorProcess) -> None:
    (door,) = doors()
    sensor.kill()
    assert ada("fault", "dynpick", "frozen")[0] == 2
    assert not door.path.exists()


@pytest.mark.parametrize("how", ["open to others", "a link"])
def test_a_folder_that_others_could_use_is_refused(place: Path, how: str) -> None:
    if how == "a link":
        (place.parent / "elsewhere").mkdir(mode=0o700)
        place.symlink_to(place.parent / "elsewhere")
    else:
        place.mkdir()
        place.chmod(0o755)
    with refused(TransportError, field="path", value=str(place)):
        doors()


def test_a_fault_or_device_that_cannot_be_is_refused_and_the_device_lives_on(ada: Ada) -> None:
    for words, text in (
        (["pa11"], "no device 'pa11'"),
        (["pa10", "emergency"], "'emergency_stop'"),
        (["pa10", "drop"], "no emulated pa10"),
        (["--clear"], "DEVICE"),
    ):
        code, _, err = ada("fault", *words)
        assert code == 2 and text in err
    with EmulatorProcess("pa10") as arm, EmulatorProcess("pa10") as other:
        code, _, err = ada("fault", "pa10", "mute")
        assert code == 2 and "--process" in err and str(other.pid) in err
        here = ("--process", str(arm.pid))
        for kind, value in (("drop", "2"), ("axis_alarm", "9"), ("axis_alarm", "inf"), ("sequence", "nan")):
            assert ada("fault", "pa10", kind, value, *here)[0] == 2
        (door,) = doors("pa10", arm.pid)
        with socket.socket(socket.AF_UNIX) as visitor:
            visitor.connect(str(door.path))
            visitor.sendall(b"rubbish\n\xff\xfe\n[]\n")
        assert ada("fault", "pa10", *here)[1].startswith(f"pa10 in process {arm.pid}: no fault")
