# SPDX-License-Identifier: Apache-2.0
"""`ada hw service`: each service reaches its emulated robot; what it needs must be said."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hw_command import Ada

from ada_dynamics import resources
from ada_hardware.kondo.rcb1.driver import Rcb1Driver
from ada_hardware.kondo.rcb4.driver import Rcb4Driver
from ada_hardware.pa10.driver import Pa10Driver
from ada_tools.commands.hardware.service import SERVICES

pytest.importorskip("serial")
WALK = str(resources.find("config", "khr1_walk.csv"))
VALUES = {"set-id": ["1"], "upload": ["3", WALK], "play": ["3"]}


@pytest.fixture
def left(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """States of the emulated robots when their drivers closed them."""
    found: list[dict[str, Any]] = []
    for kind in (Pa10Driver, Rcb1Driver, Rcb4Driver):

        def closed(driver: Any, close: Any = kind.close) -> None:
            found.append(driver._wire.emulator.state() if hasattr(driver, "_wire") else {})
            close(driver)

        monkeypatch.setattr(kind, "close", closed)
    return found


def done(ada: Ada, device: str, service: str) -> None:
    code, _, err = ada("service", device, service, *VALUES.get(service, []), "--url", "dry:", "--yes")
    assert code == 0, err


@pytest.mark.parametrize("service", ["release", "sleep"])
def test_servos_of_a_khr1_are_let_go(ada: Ada, left: Any, service: str) -> None:
    done(ada, "khr1", service)
    assert len(left[-1]["free"]) == 17


@pytest.mark.parametrize("service", ["wake", "set-id", "upload", "play"])
def test_services_of_a_khr1_are_answered(ada: Ada, service: str) -> None:
    done(ada, "khr1", service)


def test_the_program_of_a_khr3_is_stopped_and_runs_again(ada: Ada, left: Any) -> None:
    done(ada, "khr3", "halt")
    halted = left[-1]["config"]
    done(ada, "khr3", "run")
    assert left[-1]["config"] == halted | 0x000A  # run, and its jumps
    done(ada, "khr3", "play")
    done(ada, "khr3", "release")
    assert len(left[-1]["free"]) == 17


def test_brakes_of_a_pa10_are_open_until_enter(ada: Ada, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    for name in ("idle", "end_teaching"):
        kept = getattr(Pa10Driver, name)
        monkeypatch.setattr(Pa10Driver, name, lambda self, kept=kept, name=name: (told.append(name), kept(self))[1])
    out, into = os.pipe()
    monkeypatch.setattr("sys.stdin", os.fdopen(out))
    looks = iter(range(3))
    monkeypatch.setattr(
        "ada_tools.commands.hardware.service.is_readable", lambda descriptor, wait: next(looks, None) is None
    )
    done(ada, "pa10", "release-brakes")
    os.close(into)
    assert told == ["idle"] * 3 + ["end_teaching"]


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("khr1", "wake"), "See that somebody holds the robot, then give --yes"),
        (("khr1", "weak"), "'wake'"),
        (("netft", "wake"), "no service of netft"),
        (("khr1", "play"), "play takes NUMBER, not"),
        (("khr1", "play", "three", "--yes"), "NUMBER is 'three'"),
        (("khr1", "play", "40", "--yes"), "numbers 0 to 39"),
    ],
)
def test_what_cannot_be_is_refused(ada: Ada, words: tuple[str, ...], part: str) -> None:
    code, _, err = ada("service", *words, "--url", "dry:")
    assert code == 2 and part in err, err


def test_every_service_that_moves_or_frees_something_needs_a_yes() -> None:
    careless = {name for services in SERVICES.values() for name, one in services.items() if not one.needs}
    assert careless == {"upload", "halt"}
