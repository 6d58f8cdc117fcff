# SPDX-License-Identifier: Apache-2.0
"""`ada demo`: five robots on one page, all moving as they should."""

import numpy as np
import pytest

from ada_dynamics.clock import ManualClock
from ada_tools.browser.exhibits import EXHIBITS
from ada_tools.browser.showroom import Performer, Showroom

SECONDS = 12  # more than one walk


@pytest.mark.parametrize("name", EXHIBITS)
def test_a_robot_of_the_demo_moves_stays_closed_and_keeps_on_its_feet(name):
    simulation, targets = EXHIBITS[name].staged()
    said: list[str] = []
    performer = Performer(simulation, targets, said.append, ManualClock())
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
    Performer(simulation, targets, print, ManualClock()).advance(10_000)
    assert simulation.q[0] > 0.03  # [m], one walk of two steps


@pytest.fixture
def room(page):
    return Showroom(page, "five_bar")


def test_a_robot_that_is_chosen_in_a_browser_takes_the_place_of_the_one_before(room):
    first = room.robot
    for name in ("khr1", "pa10"):  # the second one by the list that came with the first
        room.choice.set(EXHIBITS[name].words)
        room.page.act()
        room.tick()
        assert room.chosen == room.robot.model.name == name and room.robot is not first
        assert room.choice.value == EXHIBITS[name].words and room.robot.is_playing
