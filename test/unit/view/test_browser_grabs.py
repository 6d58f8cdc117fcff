# SPDX-License-Identifier: Apache-2.0
"""Links that are grabbed with the mouse, seen from the server: what a browser says may lack the link and hold NaN."""

from types import SimpleNamespace

import numpy as np
import pytest
from browser_robots import pushable

import ada_dynamics as ada
from ada_dynamics.model import Builder
from ada_dynamics.model.elements import Shape
from ada_tools.browser.live import live_page
from ada_tools.browser.mouse_drag import DragTracker, MouseDrag
from ada_tools.browser.scene import Scene

# A camera 5 m away from the origin on -y that looks along y: its x is the world's x, its y the world's -z.
AWAY = 5.0
CAMERA = SimpleNamespace(position=(0.0, -AWAY, 0.0), wxyz=(0.5**0.5, -(0.5**0.5), 0.0, 0.0), fov=np.pi / 2, aspect=2.0)
NOWHERE = (np.nan,) * 3
WRONG = (-0.6, -0.8, -0.1)  # what a browser says of the pointer beside NaN
SOMEBODY, ELSE = 3, 4  # numbers of browsers


def at_pixel(x, z):
    """Place in the picture, from 0 to 1 each, of a point in the plane y = 0: half of it is as wide as it is away."""
    return 0.5 + 0.5 * x / (CAMERA.aspect * AWAY), 0.5 - 0.5 * z / AWAY


def event(phase, screen, grabbed=NOWHERE, pointer=WRONG, browser=SOMEBODY):
    client = SimpleNamespace(camera=CAMERA)
    return SimpleNamespace(
        client=client,
        client_id=browser,
        phase=phase,
        start_position=grabbed,
        end_position=pointer,
        end_screen_pos=screen,
    )


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


def test_a_ray_meets_the_first_link_on_its_way_at_its_surface(page, cross):
    scene = Scene(page.server, cross)
    scene.show([np.pi / 2])  # the bar's x axis points down
    batches = scene.batches
    link, point = batches.hit(np.array([0.05, -5.0, -0.9]), np.array([0.0, 2.0, 0.0]))
    assert link == "bar"
    np.testing.assert_allclose(point, [0.05, -0.1, -0.9], atol=1e-6)  # single precision
    link, point = batches.hit(np.array([0.05, 9.0, -0.9]), np.array([0.0, -1.0, 0.0]))
    assert link == "ball"
    # a ball of radius 0.5 about (0, 2, -0.9), whose chords cut off at most 1.6 % of the radius
    np.testing.assert_allclose(point, [0.05, 2.0 + np.sqrt(0.5**2 - 0.05**2), -0.9], atol=0.016)
    assert batches.hit(np.array([0.9, -5.0, 0.0]), np.array([0.0, 1.0, 0.0])) is None  # where the bar was before
    assert batches.hit(np.array([0.0, -5.0, 0.0]), np.array([0.0, -1.0, 0.0])) is None  # behind the eye


def test_a_drag_without_a_link_holds_the_one_that_is_seen_there_and_follows_it(page, cross):
    scene = Scene(page.server, cross)
    scene.show([0.0])
    tracker = DragTracker(scene.batches)
    nearer = (AWAY - 0.1) / AWAY  # of the bar's face to the plane y = 0
    pull = tracker.drag(event("start", at_pixel(0.8 / nearer, 0.0)), None, scene.poses)
    assert (pull.link, pull.phase) == ("bar", "start")
    np.testing.assert_allclose(pull.grabbed, [0.8, -0.1, 0.0], atol=1e-6)
    np.testing.assert_allclose(pull.pointer, pull.grabbed, atol=1e-6)
    scene.show([0.3])  # the bar moves on in the hand
    pull = tracker.drag(event("update", at_pixel(0.9 / nearer, 0.4 / nearer)), None, scene.poses)
    np.testing.assert_allclose(pull.grabbed, [0.8 * np.cos(0.3), -0.1, -0.8 * np.sin(0.3)], atol=1e-6)
    np.testing.assert_allclose(pull.pointer, [0.9, -0.1, 0.4], atol=1e-6)
    assert tracker.drag(event("update", at_pixel(0, 0), browser=ELSE), None, scene.poses) is None
    assert tracker.drag(event("end", at_pixel(0, 0)), None, scene.poses).phase == "end"
    assert tracker.drag(event("update", at_pixel(0, 0)), None, scene.poses) is None


def test_a_drag_where_no_link_is_pulls_nothing(page, cross):
    scene = Scene(page.server, cross)
    scene.show([0.0])
    tracker = DragTracker(scene.batches)
    for phase, place in (("start", (0.0, 2.0)), ("update", (0.8, 0.0)), ("end", (0.8, 0.0))):
        assert tracker.drag(event(phase, at_pixel(*place)), None, scene.poses) is None


def test_a_drag_that_names_its_link_is_taken_at_its_word_as_long_as_it_is_finite(page, cross):
    scene = Scene(page.server, cross)
    scene.show([0.0])
    tracker = DragTracker(scene.batches)
    said = (0.1, 0.2, 0.3), (0.4, 0.5, 0.6)
    pull = tracker.drag(event("start", (0.5, 0.5), *said), "ball", scene.poses)
    assert pull.link == "ball"
    np.testing.assert_array_equal([pull.grabbed, pull.pointer], said)
    assert tracker.drag(event("update", (0.5, 0.5), *said[:1], NOWHERE), "ball", scene.poses) is None
    assert tracker.drag(event("end", (0.5, 0.5), NOWHERE, NOWHERE), "ball", scene.poses).phase == "end"


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
