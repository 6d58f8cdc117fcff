# SPDX-License-Identifier: Apache-2.0
"""The browser view in a real browser: Chromium without a display, driven by selenium.

Screenshots are kept under build/test-artifacts, or where ADA_ARTIFACTS says.
"""

import threading

import numpy as np
import pytest
from browser_robots import pushable
from chromium import Visit, chromium, plain_light
from foreign_robots import foreign_robot

import ada_dynamics as ada
from ada_dynamics.robots.catalogue import start_of_mechanism
from ada_dynamics.simulation.log import EventRecord
from ada_tools.browser import page
from ada_tools.browser.grabs import sight_of
from ada_tools.browser.live import LivePage
from ada_tools.browser.page import Page
from ada_tools.browser.playback import PlaybackPage
from ada_tools.browser.pose_page import PosePage

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("chromium")) as driver:
        yield driver


@pytest.fixture
def visit(browser, monkeypatch):
    monkeypatch.setattr(page, "RATE", 4.0)  # frames that are drawn without a GPU before the next ones arrive
    ends = []

    def begin(make):
        shown_page = Page("test", port=0)
        plain_light(shown_page)
        shown = make(shown_page)
        thread = threading.Thread(target=shown_page.run, args=(getattr(shown, "tick", None),))
        thread.start()

        def end():
            browser.get("about:blank")
            shown_page.end()
            thread.join(10.0)
            shown_page.close()

        ends.append(end)
        return Visit(browser, shown_page, shown, end)

    yield begin
    for end in ends:
        end()


def test_a_robot_is_drawn_and_a_slider_moves_it_with_its_loop_closed(visit):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    model = ada.load("four_bar")
    here = visit(lambda page: PosePage(page, model, start_of_mechanism("four_bar")))
    here.until(lambda: len(here.drawn()) > 300, "the robot is drawn", every=1.0)
    before, start = here.drawn(), here.shown.posing.q.copy()
    parts = here.shown.scene.part_positions()

    thumb = here.browser.find_elements(By.CSS_SELECTOR, "[role=slider]")[0]
    thumb.send_keys(Keys.END, Keys.ARROW_LEFT)  # 180 deg, less one step
    here.until(lambda: abs(here.shown.posing.q[0] - np.radians(179.9)) < 1e-6, "the crank follows its slider")
    here.until(lambda: not here.page._notes, "all notes are done")
    assert np.abs(here.shown.posing.q[1:] - start[1:]).min() > np.radians(13.0)  # the other joints follow
    assert here.shown.posing.gap < 1e-10
    assert np.abs(here.shown.scene.part_positions() - parts).max() > 0.1
    here.until(lambda: here.differs(before), "the picture changes", every=1.0)
    field = here.browser.find_elements(By.CSS_SELECTOR, "input[type=text]")[0]
    field.send_keys(Keys.CONTROL, "a")
    field.send_keys("110")
    here.until(lambda: abs(here.shown.posing.q[0] - np.radians(110.0)) < 1e-6, "the crank follows what is typed")
    here.until(lambda: not here.page._notes, "all notes are done")
    assert field.get_attribute("value") == "110"
    follower = float(here.shown.sliders[1][1].value)
    fields = [e.get_attribute("value") for e in here.browser.find_elements(By.CSS_SELECTOR, "input[type=text]")]
    assert any(abs(float(f) - follower) < 0.06 for f in fields if f)
    here.keep("view-four_bar")
    here.leave()


def test_a_robot_of_meshes_is_drawn_in_its_colours(visit):
    model = ada.load(foreign_robot("so101"))  # yellow; as boxes or sticks it would be grey, blue and orange
    here = visit(lambda page: PosePage(page, model))

    def yellow():
        x, y = here.drawn().T
        red, green, blue = here.picture()[y, x].T
        return (green > 0.75 * red) & (blue < red - 20)

    here.until(lambda: np.count_nonzero(yellow()) > 1000, "the robot is drawn", every=1.0)
    assert np.mean(yellow()) > 0.9
    here.keep("view-so101")
    here.leave()


def test_a_log_plays_and_pauses_and_its_plots_are_there(visit):
    from selenium.webdriver.common.by import By

    model = ada.load("four_bar")
    log = ada.Simulation(model, ada.assemble(model, [2.356, -0.785, 3.927])).run(2.0)
    log.events.append(EventRecord(1.0, "half way", *log.at(1.0)))
    here = visit(lambda page: PlaybackPage(page, log))
    here.until(lambda: len(here.drawn()) > 300, "the robot is drawn", every=1.0)
    here.shown.clock.repeats = True
    here.click("play")
    here.until(lambda: here.shown.clock.now > 0.2, "time goes on")
    here.click("pause")
    here.until(lambda: not here.shown.clock.is_playing, "time stands still")
    assert len(here.browser.find_elements(By.CSS_SELECTOR, ".uplot canvas")) >= 4
    here.keep("view-log")
    here.leave()


def test_a_running_robot_is_pushed_by_the_button_and_pulled_with_the_mouse(visit):
    from selenium.webdriver import ActionChains

    simulation, pushed = pushable(ada.planar_chain(3))  # drawn as sticks, in colours that stand out
    here = visit(lambda page: LivePage(page, simulation))
    here.until(lambda: len(here.drawn()) > 300, "the robot is drawn", every=1.0)
    here.click("push")
    here.until(lambda: pushed, "the button pushes")
    here.click("play")
    here.until(lambda: simulation.t > 0.2, "it moves")
    assert np.abs(simulation.v).max() > 1e-3
    here.click("pause")
    here.click("back to the start")
    here.until(lambda: simulation.t == 0.0, "it starts anew")
    count = len(pushed)
    here.until(lambda: len(here.drawn()) > 300, "the robot is drawn at its start", every=1.0)
    here.click("play")
    pixels = here.drawn()
    x, y = pixels[np.argsort(pixels[:, 1])[len(pixels) // 2]].tolist()
    mouse = ActionChains(here.browser, duration=100)
    mouse.w3c_actions.pointer_action.move_to_location(x, y)
    mouse.w3c_actions.pointer_action.pointer_down()
    for step in range(1, 9):
        mouse.w3c_actions.pointer_action.move_to_location(x + 12 * step, y)
        mouse.w3c_actions.pointer_action.pause(0.05)
    mouse.perform()
    here.until(lambda: len(pushed) > count + 2, "the mouse pulls")
    mouse = ActionChains(here.browser)
    mouse.w3c_actions.pointer_action.pointer_up()
    mouse.perform()
    here.until(lambda: here.shown._pull is None, "the mouse lets go")
    here.keep("view-live")
    here.leave()


def test_a_link_that_moves_under_the_mouse_is_pulled_by_finite_forces_or_not_at_all(visit, monkeypatch):
    from selenium.webdriver import ActionChains

    simulation, pushed = pushable(ada.planar_chain(3))
    said, seen = [], []
    monkeypatch.setattr(Page, "say", lambda page, text: said.append(text))
    here = visit(lambda page: LivePage(page, simulation))
    for batch in here.shown.scene._batches.each:

        async def see(event):
            seen.append((event.instance_index, sight_of(event), np.array(event.end_position)))

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
    here.click("play")
    for _ in range(8):
        pixels = here.drawn()
        pixels = pixels[(pixels[:, 0] > 100) & (pixels[:, 0] < canvas - 60)]
        x, y = pixels[random.integers(len(pixels))].tolist()
        goes(x, y)  # pointed at: from now on an outline is there, which lags behind
        here.page._ended.wait(0.3)
        goes(x, y, *((x + 8 * step, y) for step in range(1, 5)))
    here.until(lambda: here.shown._pull is None, "the mouse lets go")
    assert any(duration < 0.1 for *_, duration in pushed), "some of it pulled"
    assert all(np.isfinite(wrench).all() for _, wrench, _ in pushed)
    assert said == []
    named = [(sight, pointer) for index, sight, pointer in seen if index is not None]
    assert named, "some drags named their link"
    for sight, pointer in named:  # the ray that is used for the others passes where the browser says that the mouse is
        way = pointer - sight.origin
        across = np.linalg.norm(np.cross(sight.direction, way)) / np.linalg.norm(sight.direction)
        assert across < 0.01 * np.linalg.norm(way)  # a pixel or two
    here.leave()
