# SPDX-License-Identifier: Apache-2.0
"""`ada demo`: five robots on one page, all moving as they should."""

import asyncio
from types import SimpleNamespace

import numpy as np
import pytest

from ada_tools import cli
from ada_tools.browser.exhibits import EXHIBITS
from ada_tools.browser.page import Page
from ada_tools.browser.showroom import Performer, Showroom

SECONDS = 12  # more than one walk


@pytest.mark.parametrize("name", EXHIBITS)
def test_a_robot_of_the_demo_moves_stays_closed_and_keeps_on_its_feet(name):
    simulation, targets = EXHIBITS[name].staged()
    said: list[str] = []
    performer = Performer(simulation, targets, said.append)
    start, moved = simulation.q.copy(), 0.0
    for _ in range(SECONDS):
        performer.advance(1000)
        moved = max(moved, float(np.max(np.abs(simulation.q - start))))
    assert simulation.t == pytest.approx(SECONDS) and not said
    assert moved > 0.05  # [rad, m]
    model = simulation.model
    if model.loops:
        assert simulation.dynamics.largest_gap(simulation.q) < 1e-9
    if simulation.contact is not None:
        up = simulation.dynamics.pose(model.root, simulation.q)[2, 2]
        assert up > 0.9  # upright


def test_a_humanoid_walks_forward():
    simulation, targets = EXHIBITS["khr1"].staged()
    Performer(simulation, targets, print).advance(10_000)
    assert simulation.q[0] > 0.03  # [m], one walk of two steps


@pytest.fixture
def room():
    pytest.importorskip("viser", reason="viser is not installed: pip install '.[view]'")
    with Page("demo", port=0) as page:
        yield Showroom(page, "five_bar")


def test_another_robot_takes_the_place_of_the_one_before(room):
    first = room.robot
    room.choose("pa10")
    assert room.robot is not first and room.robot.model.name == "pa10"
    assert room.choice.value == EXHIBITS["pa10"].words
    room.choose("pa10")
    assert room.robot.model.name == "pa10"
    room.tick()
    assert room.robot.is_playing


def test_a_choice_that_comes_from_a_browser_is_acted_on(room, monkeypatch):
    from viser import _messages

    gui = room.page.gui
    monkeypatch.setattr(gui, "_resolve_client", lambda client: SimpleNamespace(add_notification=lambda *_, **__: None))
    for name in ("khr1", "stewart"):  # the second one by the list that came with the first
        message = _messages.GuiUpdateMessage(room.choice._impl.uuid, {"value": EXHIBITS[name].words})
        asyncio.run_coroutine_threadsafe(gui._handle_gui_updates(1, message), gui._event_loop).result(10.0)
        room.page.act()
        room.tick()
        assert room.chosen == room.robot.model.name == name
        assert room.choice.value == EXHIBITS[name].words


def test_the_command_shows_its_page_and_ends_by_itself(capsys):
    pytest.importorskip("viser", reason="viser is not installed: pip install '.[view]'")
    assert cli.main(["demo", "--no-browser", "--port", "0", "--duration", "0.2"]) == 0
    assert "view: http://127.0.0.1:" in capsys.readouterr().out


def test_a_robot_that_the_demo_has_not_is_refused(capsys):
    with pytest.raises(SystemExit):
        cli.main(["demo", "pa11"])
    assert "stewart" in capsys.readouterr().err
