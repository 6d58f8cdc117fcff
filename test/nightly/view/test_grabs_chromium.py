# SPDX-License-Identifier: Apache-2.0
"""Links that are dragged in a real browser while they move: what it says of the mouse agrees with the ray of sight."""

import threading

import numpy as np
import pytest
from browser_robots import pushable
from chromium import Visit, chromium, plain_light

import ada_dynamics as ada
from ada_tools.browser.live import live_page
from ada_tools.browser.mouse_drag import view_ray
from ada_tools.browser.page import Page
from ada_tools.browser.robot_page import PLAY

pytestmark = pytest.mark.slow


def test_a_link_that_moves_under_the_mouse_is_pulled_by_finite_forces_or_not_at_all(tmp_path):
    from selenium.webdriver import ActionChains

    simulation, pushed = pushable(ada.planar_chain(3))
    seen = []
    with chromium(tmp_path) as browser, Page("test", port=0, rate=4.0) as page:
        browser.set_window_size(1000, 900)
        plain_light(page)
        shown = live_page(page, simulation)
        threading.Thread(target=page.run, args=(shown.tick,), daemon=True).start()
        here = Visit(browser, page, shown, page.end)
        for batch in here.shown.scene.batches.each:

            async def see(event):
                seen.append((event.instance_index, view_ray(event), np.array(event.end_position)))

            batch.node.on_drag("left")(see)
        here.until(lambda: len(here.drawn()) > 300, "the robot is drawn", every=1.0)

        def goes(x, y, *rest):
            """The mouse goes there; the button is down meanwhile, if there are more places."""
            mouse = ActionChains(here.browser, duration=50)
            hand = mouse.w3c_actions.pointer_action
            hand.move_to_location(x, y)
            if rest:
                hand.pointer_down()
                for place in rest:
                    hand.move_to_location(*place)
                    hand.pause(0.05)
                hand.pointer_up()
            mouse.perform()

        canvas = here.browser.execute_script("return document.querySelector('canvas').getBoundingClientRect().right")
        random = np.random.default_rng(1)
        here.click(PLAY)
        for _ in range(8):
            pixels = here.drawn()
            pixels = pixels[(pixels[:, 0] > 100) & (pixels[:, 0] < canvas - 60)]
            x, y = pixels[random.integers(len(pixels))].tolist()
            goes(x, y)  # pointed at: from now on an outline is there, which lags behind
            here.drawn()
            goes(x, y, *((x + 8 * step, y) for step in range(1, 5)))
        here.until(lambda: here.shown.pushes.pull is None, "the mouse lets go")
        assert pushed, "some of it pulled"
        assert all(np.isfinite(wrench).all() for _, wrench, _ in pushed)
        named = [(sight, pointer) for index, sight, pointer in seen if index is not None]
        assert named, "some drags named their link"
        for sight, pointer in named:  # the ray passes where the browser says that the mouse is
            way = pointer - sight.origin
            across = np.linalg.norm(np.cross(sight.direction, way)) / np.linalg.norm(sight.direction)
            assert across < 0.01 * np.linalg.norm(way)  # a pixel or two
        here.leave()
