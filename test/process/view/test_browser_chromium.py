# SPDX-License-Identifier: Apache-2.0
"""The browser view in a real browser, Chromium without a display, driven by selenium: what it draws, what mouse and
buttons do, and that controls stay where they are whatever the words above them say: somebody may be about to press.

Screenshots are kept under build/test-artifacts, or where ADA_ARTIFACTS says.
"""

import threading

import numpy as np
import pytest
from browser_robots import pushable
from chromium import Visit, chromium, plain_light

import ada_dynamics as ada
from ada_dynamics.robots.catalogue import start_of
from ada_dynamics.simulation.log import EventRecord
from ada_tools.browser.live import live_page
from ada_tools.browser.page import Page
from ada_tools.browser.playback import PlaybackPage
from ada_tools.browser.pose_page import PosePage
from ada_tools.browser.robot_page import PLAY, RESET

pytestmark = pytest.mark.slow


def positions(scene):
    return np.concatenate([batch.node.batched_positions for batch in scene.batches.each])


class Stage(Visit):
    """One page in one browser, on which each test puts its own robot."""

    def __init__(self, browser, page):
        self.shown, self.said = None, []
        page.say = self.said.append
        threading.Thread(target=page.run, args=(self._tick,), daemon=True).start()
        super().__init__(browser, page, None, page.end)

    def _tick(self):
        if hasattr(self.shown, "tick"):
            self.shown.tick()

    def on_page(self, action):
        found = []
        self.page.note(object(), lambda: found.append(action()))
        self.until(lambda: found, "the page's thread")
        return found[0]

    def show(self, make):
        self.on_page(self._clear)
        self.until(lambda: len(self.drawn()) < 50, "the page is empty", every=0.5)
        self.shown = self.on_page(lambda: make(self.page))
        self.on_page(self.page.look)
        return self

    def _clear(self):
        self.shown = None
        self.said.clear()
        self.page.clear()
        self.page.scene.reset()
        plain_light(self.page)


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("chromium")) as browser:
        browser.set_window_size(1000, 900)
        with Page("test", port=0, rate=4.0) as page:  # frames are drawn without a GPU before the next ones arrive
            shown = Stage(browser, page)
            yield shown
            shown.leave()


@pytest.mark.smoke
def test_a_robot_is_drawn_and_a_slider_moves_it_with_its_loop_closed(stage):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    model = ada.load("four_bar")
    here = stage.show(lambda page: PosePage(page, model, start_of("four_bar")))
    here.until(lambda: len(here.drawn()) > 300, "the robot is drawn", every=1.0)
    before, start = here.drawn(), here.shown.posing.q.copy()
    parts = positions(here.shown.scene)

    thumb = here.browser.find_elements(By.CSS_SELECTOR, "[role=slider]")[0]
    thumb.send_keys(Keys.END, Keys.ARROW_LEFT)  # 180 deg, less one step
    here.until(lambda: abs(here.shown.posing.q[0] - np.radians(179.9)) < 1e-6, "the crank follows its slider")
    here.on_page(lambda: None)  # what was noted before is done
    assert np.abs(here.shown.posing.q[1:] - start[1:]).min() > np.radians(13.0)  # the other joints follow
    assert here.shown.scene.gap < 1e-10
    assert np.abs(positions(here.shown.scene) - parts).max() > 0.1
    here.until(lambda: here.differs(before), "the picture changes", every=1.0)
    field = here.browser.find_elements(By.CSS_SELECTOR, "input[type=text]")[0]
    field.send_keys(Keys.CONTROL, "a")
    field.send_keys("110")
    here.until(lambda: abs(here.shown.posing.q[0] - np.radians(110.0)) < 1e-6, "the crank follows what is typed")
    here.on_page(lambda: None)  # what was noted before is done
    assert field.get_attribute("value") == "110"
    follower = float(here.shown.sliders[1][1].value)
    fields = [e.get_attribute("value") for e in here.browser.find_elements(By.CSS_SELECTOR, "input[type=text]")]
    assert any(abs(float(f) - follower) < 0.06 for f in fields if f)
    here.keep("view-four_bar")


def test_a_log_plays_and_pauses_and_its_plots_are_there(stage):
    from selenium.webdriver.common.by import By

    model = ada.load("four_bar")
    log = ada.Simulation(model, ada.close_loops(model, [2.356, -0.785, 3.927])).run(2.0)
    log.events.append(EventRecord(1.0, "half way", *log.at(1.0)))
    here = stage.show(lambda page: PlaybackPage(page, log))
    here.until(lambda: len(here.drawn()) > 300, "the robot is drawn", every=1.0)
    here.shown.source.repeats = True
    here.click(PLAY)
    here.until(lambda: here.shown.now.t > 0.2, "time goes on")
    here.click(PLAY)
    here.until(lambda: not here.shown.is_playing, "time stands still")
    assert here.browser.find_elements(By.CSS_SELECTOR, ".uplot canvas")
    here.keep("view-log")


def test_a_running_robot_is_pulled_with_the_mouse(stage):
    from selenium.webdriver import ActionChains

    simulation, pushed = pushable(ada.planar_chain(3))  # drawn as sticks, in colours that stand out
    here = stage.show(lambda page: live_page(page, simulation))
    here.until(lambda: len(here.drawn()) > 300, "the robot is drawn", every=1.0)
    here.click(PLAY)
    here.until(lambda: simulation.t > 0.2, "it moves")
    here.click(PLAY)
    here.until(lambda: not here.shown.is_playing, "time stands still")
    here.click(RESET)
    here.until(lambda: simulation.t == 0.0, "it starts anew")
    pixels = [here.drawn()]

    def stands():  # what is pressed below is still there
        pixels.append(here.drawn())
        return len(pixels[-1]) > 300 and np.array_equal(*pixels[-2:])

    here.until(stands, "the robot is drawn at its start", every=1.0)
    pixels = pixels[-1]
    x, y = pixels[np.argsort(pixels[:, 1])[len(pixels) // 2]].tolist()
    mouse = ActionChains(here.browser, duration=100)
    mouse.w3c_actions.pointer_action.move_to_location(x, y)
    mouse.w3c_actions.pointer_action.pointer_down()
    for step in range(1, 9):
        mouse.w3c_actions.pointer_action.move_to_location(x + 12 * step, y)
        mouse.w3c_actions.pointer_action.pause(0.05)
    mouse.perform()
    here.on_page(here.shown.toggle)
    here.until(lambda: len(pushed) > 2 and np.abs(simulation.v).max() > 1e-3, "the mouse pulls")
    mouse = ActionChains(here.browser)
    mouse.w3c_actions.pointer_action.pointer_up()
    mouse.perform()
    here.until(lambda: here.shown.pushes.pull is None, "the mouse lets go")
    here.keep("view-live")


PLACES = """
return [...document.querySelectorAll('button, input, [role=slider]')]
  .filter(e => e.getBoundingClientRect().width && !e.closest('[class*=Notification]'))
  .map(e => { const r = e.getBoundingClientRect(); return [e.getAttribute('role') ? 0 : r.left, r.top] })
"""
NUMBERS = "t = **1234.567** s, **1.00** x real time, energy -1.23457e+06 J, closure error 1.0e-12 [m, rad]"
WORDS = (
    "",
    "paused",
    NUMBERS,
    f"**The node has sent no state for 12 s;** its last state is shown.\n\n{NUMBERS}",
    9 * NUMBERS,
)


def places_at_rest(here):
    places = [None]

    def rests():
        places.append(here.browser.execute_script(PLACES))
        return len(places) > 8 and places[-1] and all(one == places[-1] for one in places[-8:])

    here.until(rests, "the layout is at rest")
    return places[-1]


def stay(here, first, is_shown):
    """They are where they were, once the page shows something, and for a little while after."""
    here.until(is_shown, "the words are on the page")
    now = places_at_rest(here)
    assert len(now) == len(first)
    np.testing.assert_allclose(now, first, atol=0.5)


def moving(page):
    model = ada.load("four_bar")
    simulation, _ = pushable(model)
    simulation.reset(ada.close_loops(model, start_of("four_bar")))
    return live_page(page, simulation)


def test_controls_stay_where_they_are_whatever_the_status_says(stage):
    here = stage.show(moving)
    status, here.shown = here.shown.status, None  # nobody else writes there
    first = places_at_rest(here)
    assert len(first) > 3
    for words in WORDS:
        status.content = words
        wanted = words.replace("*", "").split("\n\n")[0]
        stay(here, first, lambda wanted=wanted: wanted in here.text())
