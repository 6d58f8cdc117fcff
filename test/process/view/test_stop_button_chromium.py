# SPDX-License-Identifier: Apache-2.0
"""The red button in a real browser: each press arrives, whatever else is held down on the page meanwhile, at any width;
where it is out of sight, nothing on the page moves a robot.
"""

import contextlib
import threading

import pytest
from chromium import Visit, chromium

pytest.importorskip("viser", reason="viser is not installed: pip install '.[view]'")

from ada_dynamics.clock import Clock
from ada_tools.browser.hold_button import HoldButton
from ada_tools.browser.page import RATE, Page
from ada_tools.browser.stop_button import StopButton

pytestmark = pytest.mark.slow

PRESSES = 40
SLOW = 10.0  # times that all limits of the page are longer


class SlowClock(Clock):
    """For machines that are busier than those that the limits are for; tests on a manual clock check the limits."""

    def now(self):
        return super().now() / SLOW

    def wait(self, event, timeout=None):
        return super().wait(event, timeout and SLOW * timeout)


class Robot:
    """A page with what moves a robot, and a person before it."""

    def __init__(self, browser, page):
        self.browser, self.page, self.pressed, self.activated = browser, page, [], []
        with page.gui.add_folder("motions"):
            self.play = HoldButton(page, "hold to play")
        for i in range(30):  # a phone must scroll
            page.gui.add_slider(f"joint {i}", 0.0, 1.0, 0.1, 0.0)
        self.panel = page.gui.add_panel()
        with self.panel.add_tab("robot"):
            self.stop = StopButton(page, "STOP", "everything comes to rest", lambda: self.pressed.append(1))
            self.activate = page.gui.add_button("activate")
        page.when(self.activate, lambda: self.activated.append(1), moves=True)
        self.panel.dock_left()
        self.panel.expand()
        self.visit = Visit(browser, page, None, page.end)
        self.rests(self.visit.button("hold to play"))

    def rests(self, element):
        places = [element.rect]

        def still():
            places.append(element.rect)
            return len(places) > 5 and all(place == places[-1] for place in places[-5:])

        self.visit.until(still, "the layout is at rest")

    def touched(self):
        """STOP where a finger on its middle would meet it, and no part of it is outside of the screen."""
        return self.browser.execute_script(
            "return [...document.querySelectorAll('button')].filter(b => {"
            "  const r = b.getBoundingClientRect();"
            "  return b.textContent === 'STOP' && r.width > 200 && r.left >= 0 && r.right <= innerWidth && r.top >= 0"
            "    && r.bottom <= innerHeight"
            "    && document.elementFromPoint((r.left + r.right) / 2, (r.top + r.bottom) / 2) === b})"
        )

    def arrives(self, press):
        before = len(self.pressed)
        press()
        self.visit.until(lambda: len(self.pressed) > before, "the press arrives", every=0.01)

    def stops(self):
        """Each STOP that can be touched is pressed, and each press arrives."""
        for stop in self.visit.until(self.touched, "STOP is there") or self.touched():
            self.arrives(stop.click)

    def holds(self):
        """True if a press of the button that plays counts; it says so while it is down."""
        from selenium.webdriver import ActionChains

        self.visit.until(lambda: not self.play.refusal, "an earlier refusal is over")
        presses = self.play.presses
        ActionChains(self.browser).click_and_hold(self.visit.button("hold to play")).perform()
        self.visit.until(lambda: self.play.presses > presses or self.play.refusal, "the press, or its refusal")
        ActionChains(self.browser).release().perform()
        return self.play.presses > presses

    @contextlib.contextmanager
    def as_on_a_phone(self):
        size = {"width": 390, "height": 760, "deviceScaleFactor": 1, "mobile": True}
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        yield
        self.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

    def scroll(self, to):
        self.browser.execute_script(
            "document.querySelectorAll('*').forEach("
            f"e => {{ if (e.scrollHeight > e.clientHeight) e.scrollTop = {to} }})"
        )

    def hides_stop(self, word):
        self.browser.execute_script(f"document.getElementById('stop-button').style.visibility = '{word}'")


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """One page in one browser; each test leaves it as it was."""
    with (
        chromium(tmp_path_factory.mktemp("chromium")) as browser,
        Page("test", port=0, clock=SlowClock(), rate=SLOW * RATE) as page,
    ):
        browser.set_window_size(1000, 700)
        thread = threading.Thread(target=page.run, daemon=True)
        thread.start()
        robot = Robot(browser, page)
        yield robot
        robot.visit.leave()
        thread.join(10.0)


def test_each_press_arrives_while_another_button_is_held(here):
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.keys import Keys

    stop, browser = here.visit.button("STOP"), here.browser
    ActionChains(browser).click_and_hold(here.visit.button("hold to play")).perform()
    here.visit.until(lambda: here.play.is_held, "the other one is held")
    presses = here.play.presses
    for press in (here.visit.touch, lambda element: browser.execute_script("arguments[0].click()", element)):
        for _ in range(PRESSES):
            here.arrives(lambda press=press: press(stop))
            here.visit.text()  # the page draws on
    assert here.play.presses == presses, "it was held all the time"
    ActionChains(browser).release().perform()
    here.arrives(ActionChains(browser).send_keys(Keys.ESCAPE).perform)
    here.visit.keep("stop-button")


def test_a_page_that_goes_out_of_sight_lets_go_at_once_and_for_good(here):
    from selenium.webdriver import ActionChains

    ActionChains(here.browser).click_and_hold(here.visit.button("hold to play")).perform()
    here.visit.until(lambda: here.play.is_held, "it is held")
    presses, page = here.play.presses, here.browser.current_window_handle
    here.browser.switch_to.new_window("tab")
    here.visit.until(lambda: not here.play.is_held, "it is let go", every=0.01)
    here.browser.close()
    here.browser.switch_to.window(page)
    here.rests(here.visit.button("hold to play"))
    assert not here.play.is_held and here.play.presses == presses, "the mouse is still down"
    ActionChains(here.browser).release().perform()
    assert here.holds()


def test_a_panel_that_is_folded_away_leaves_stop_on_the_page(here):
    assert len(here.touched()) == 1, "the one in the panel will do"
    here.stops()
    here.panel.minimize()
    here.visit.until(lambda: not here.browser.execute_script("return document.querySelector('[data-stop]')"), "gone")
    here.stops()
    assert here.holds()
    here.visit.keep("stop-button-folded")
    here.panel.expand()


def test_a_phone_has_stop_wherever_its_sheet_is_scrolled_and_moves_nothing_while_that_is_out_of_sight(here):
    with here.as_on_a_phone():
        here.stops()
        assert here.holds()
        here.scroll(1e6)
        here.stops()
        here.visit.keep("stop-button-phone")
        here.visit.click("activate")
        here.visit.until(lambda: here.activated, "it was pressed with STOP in sight")
        here.scroll(0)

        here.hides_stop("hidden")
        (client,) = here.page.server.get_clients()
        here.visit.until(lambda: here.stop.why_not(client), "the page says no more that STOP is in sight")
        assert not here.holds()
        here.scroll(1e6)
        here.visit.click("activate")
        here.visit.until(lambda: "STOP is not visible" in here.visit.text(), "the person is told")
        assert len(here.activated) == 1
        here.hides_stop("visible")
        here.visit.until(lambda: not here.stop.why_not(client), "it is in sight again")
        here.scroll(0)
        assert here.holds()
