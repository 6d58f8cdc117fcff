# SPDX-License-Identifier: Apache-2.0
"""Links that are grabbed with the mouse, seen from the server."""

import numpy as np
import pytest
from browser_robots import pushable

import ada_dynamics as ada
from ada_dynamics.model import Builder
from ada_dynamics.model.elements import Shape
from ada_tools.browser.live import live_page
from ada_tools.browser.scene import MouseDrag, Scene


@pytest.fixture(scope="module")
def cross():
    """A long box that turns about y, and a ball behind its end."""
    b = Builder("cross")
    b.link("base")
    inertia = np.diag([0.1, 0.1, 0.1])
    b.link("bar", mass=1.0, inertia=inertia, visuals=[Shape("box", (2.0, 0.2, 0.2))])
    b.link("ball", mass=1.0, inertia=inertia, visuals=[Shape("sphere", (0.5,))])
    b.joint("turn", "revolute", "base", "bar", axis=(0, 1, 0))
    b.joint("behind", "fixed", "bar", "ball", xyz=(0.9, 2.0, 0.0))
    return b.build()


def test_a_drag_holds_the_link_of_the_part_under_the_pointer(page, cross):
    scene, pulls = Scene(page.server, cross), []
    scene.on_mouse(pulls.append)
    places = (0.1, 0.2, 0.3), (0.4, 0.5, 0.6)
    for batch in scene.batches.each:
        batch.node.act("drag", phase="start", instance_index=0, start_position=places[0], end_position=places[1])
    assert [pull.link for pull in pulls] == ["bar", "ball"]
    np.testing.assert_array_equal([pulls[0].grabbed, pulls[0].pointer], places)


def test_a_pull_that_is_refused_is_said_once_however_long_it_is_dragged(page, cross):
    simulation, _ = pushable(cross)
    shown, said = live_page(page, simulation), page.server.said

    def refuse(link, wrench, duration, **options):
        raise ada.InputError("not now")

    simulation.push = refuse
    shown.toggle()

    def drags(phase):
        shown.pushes.drag(MouseDrag("bar", phase, np.zeros(3), np.ones(3)))
        shown.tick()

    for phase in ("start", *["update"] * 5, "end"):
        drags(phase)
    assert said == ["not now"]
    drags("start")
    assert said == ["not now"] * 2
