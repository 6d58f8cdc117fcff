# SPDX-License-Identifier: Apache-2.0
"""`ada hw service`: each service reaches its emulated robot, and needs --yes where something moves or is let go."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hw_command import Ada, started
from waiting import ended, until

from ada_dynamics import resources
from ada_hardware.emulation.process import EmulatorProcess
from ada_tools.commands.hardware.service import SERVICES

pytest.importorskip("serial")
WALK = str(resources.find("config", "khr1_walk.csv"))


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
        done(ada, robot, "sleep")
        assert len(robot.state()["free"]) == 17
        done(ada, robot, "wake")
        done(ada, robot, "upload", "3", WALK)
        done(ada, robot, "play", "3")
        until(lambda: robot.state()["played"][0][0] == [3, 0], "the first frame")
    else:
        done(ada, robot, "halt")
        halted = robot.state()["config"]
        done(ada, robot, "run")
        assert robot.state()["config"] == halted | 0x000A  # run, and its jumps
        done(ada, robot, "play", "1")
        done(ada, robot, "halt")
    done(ada, robot, "release")
    assert len(robot.state()["free"]) == 17


def test_an_id_is_given_to_a_board_that_is_alone_on_the_line(ada: Ada) -> None:
    with EmulatorProcess("khr1", settings={"first_id": 5, "second_id": 5}) as board:
        done(ada, board, "set-id", "1")
        code, out, _ = ada("test", "khr1", "--url", board.url)
        assert code == 1 and "board with ID 1 does answer" in out


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
        ("khr1", "wake"), ("khr1", "weak"), ("netft", "wake"), ("khr1", "play"), ("khr1", "play", "three", "--yes"),
        ("khr1", "play", "40", "--yes"),
    ],
)  # fmt: skip
def test_a_service_that_is_not_possible_or_not_confirmed_is_refused(ada: Ada, words: tuple[str, ...]) -> None:
    assert ada("service", *words, "--url", "dry:")[0] == 2


def test_every_service_that_moves_or_frees_something_needs_a_yes() -> None:
    careless = {name for services in SERVICES.values() for name, one in services.items() if not one.needs}
    assert careless == {"upload", "halt"}
