# SPDX-License-Identifier: Apache-2.0
"""`ada hw fault` and `service` with emulated devices in processes."""

from __future__ import annotations

import socket
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hw_command import Ada, started
from refused import refused
from waiting import ended

from ada_hardware.emulation.control_socket import control_sockets
from ada_hardware.emulation.process import EmulatorProcess
from ada_robot.errors import TransportError
from ada_tools.commands.hardware.service import SERVICES

pytest.importorskip("serial")


@pytest.fixture(autouse=True)
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Doors of this test alone; the path of a socket has at most 107 letters, and pytest's own folders are long."""
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        yield Path(folder, "ada_dynamics_emulators")


def test_the_door_is_elsewhere_where_the_path_of_its_folder_is_too_long(
    monkeypatch: pytest.MonkeyPatch, place: Path
) -> None:
    deep = place.parent / ("deep" * 40)
    deep.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(deep))
    with EmulatorProcess("dynpick") as device:
        (door,) = control_sockets("dynpick", device.pid)
        assert device.state() and not door.path.is_relative_to(deep)


@pytest.fixture
def sensor(place: Path) -> Iterator[EmulatorProcess]:
    with EmulatorProcess("dynpick") as device:
        yield device


def test_a_fault_is_made_in_a_device_that_runs_and_cleared(ada: Ada, sensor: EmulatorProcess) -> None:
    assert ada("fault", "dynpick", "fx", "12.5")[0] == 0
    assert sensor.state()["wrench"][0] == 12.5
    assert ada("fault", "dynpick", "drop_answers", "0.5")[0] == 0
    assert ada("fault", "dynpick", "frozen")[1].endswith(": fx=12.5, frozen=1, drop_answers=0.5\n")
    assert "frozen" not in ada("fault", "dynpick", "frozen", "--clear")[1]
    assert ada("fault", "dynpick", "--clear")[0] == 0
    assert sensor.state()["wrench"][0] == 0.0
    code, out, _ = ada("fault")  # lists what runs
    assert code == 0 and out == f"dynpick in process {sensor.pid}: no fault\n"


def test_only_the_owner_gets_in_and_the_door_goes_with_the_device(place: Path, sensor: EmulatorProcess) -> None:
    (door,) = control_sockets("dynpick")
    assert stat.S_IMODE(door.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    sensor.close()
    assert not door.path.exists()


def test_the_socket_of_a_killed_device_is_removed(ada: Ada, sensor: EmulatorProcess) -> None:
    (door,) = control_sockets()
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
        control_sockets()


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
        (door,) = control_sockets("pa10", arm.pid)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as visitor:
            visitor.connect(str(door.path))
            for rubbish in (b"rubbish", b"\xff\xfe", b"[]", b""):
                visitor.send(rubbish)
        assert ada("fault", "pa10", *here)[1].startswith(f"pa10 in process {arm.pid}: no fault")


@pytest.fixture(scope="module", params=["khr1", "khr3"])
def robot(request: pytest.FixtureRequest) -> Iterator[EmulatorProcess]:
    with EmulatorProcess(request.param, settings={"free_is_allowed": True}) as device:
        yield device


def done(ada: Ada, device: EmulatorProcess, service: str, *values: str) -> None:
    code, _, err = ada("service", device.name, service, *values, "--url", device.url, "--yes")
    assert code == 0, err
    assert device.violations() == []


def test_services_of_humanoids_reach_their_boards(ada: Ada, robot: EmulatorProcess) -> None:
    if robot.name == "khr1":
        done(ada, robot, "wake")
    done(ada, robot, "release")
    assert len(robot.state()["free"]) == 17


def test_an_id_is_given_to_a_board_that_is_alone_on_the_line(ada: Ada) -> None:
    with EmulatorProcess("khr1", settings={"first_id": 5, "second_id": 5}) as board:
        done(ada, board, "set-id", "1")
        code, out, _ = ada("test", "khr1", "--url", board.url)
        assert code == 1 and "board with ID 1 replies" in out


def test_brakes_of_a_pa10_are_open_until_enter() -> None:
    with EmulatorProcess("pa10") as arm:
        program = started("service", "pa10", "release-brakes", "--url", arm.url, "--yes")
        assert program.stderr is not None and program.stdin is not None
        assert "press Enter" in program.stderr.readline()
        assert program.poll() is None and "braked" not in arm.state()["ways"]
        program.stdin.write("\n")
        program.stdin.flush()
        _, err = ended(program)
        assert program.returncode == 0, err
        assert set(arm.state()["ways"]) == {"braked"} and arm.violations() == []


@pytest.mark.parametrize(
    "words",
    [
        ("khr1", "wake"), ("khr1", "weak"), ("netft", "wake"), ("khr1", "set-id"), ("khr1", "set-id", "three", "--yes"),
        ("khr1", "set-id", "40", "--yes"),
    ],
)  # fmt: skip
def test_a_service_that_is_not_possible_or_not_confirmed_is_refused(ada: Ada, words: tuple[str, ...]) -> None:
    assert ada("service", *words, "--url", "dry:")[0] == 2


def test_every_service_that_moves_or_frees_something_needs_a_yes() -> None:
    careless = {name for services in SERVICES.values() for name, one in services.items() if not one.needs}
    assert not careless
