# SPDX-License-Identifier: Apache-2.0
"""The red button in a real browser: each press arrives, whatever else is held down on the page meanwhile."""

import random

import pytest
from chromium import Visit, chromium

pytest.importorskip("viser", reason="viser is not installed: pip install '.[view]'")

from ada_dynamics.view.browser.hardware_hold import Hold
from ada_dynamics.view.browser.page import Page
from ada_dynamics.view.browser.stop_button import add_stop_button

pytestmark = pytest.mark.slow

PRESSES = 40


@pytest.fixture
def browser(tmp_path):
    with chromium(tmp_path / "chromium") as driver:
        yield driver


def rests(visit, element):
    """A page finds its layout step by step."""
    places = [element.rect]

    def still():
        places.append(element.rect)
        return len(places) > 5 and all(place == places[-1] for place in places[-5:])

    visit.until(still, "the layout is at rest")


def test_each_press_arrives_while_another_button_is_held(browser):
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.keys import Keys

    random.seed(1)
    pressed = []
    with Page("test", port=0) as page:
        panel = page.gui.add_panel()
        with panel.add_tab("robot"):
            add_stop_button(page, "STOP", "everything comes to rest", lambda: pressed.append(1))
            held = Hold(page, "hold to move")
        panel.dock_left()
        visit = Visit(browser, page, None, page.end)
        stop = visit.button("STOP")
        rests(visit, visit.button("hold to move"))
        ActionChains(browser).click_and_hold(visit.button("hold to move")).perform()
        visit.until(lambda: held.presses, "the other one is held")
        for press in (visit.touch, lambda element: browser.execute_script("arguments[0].click()", element)):
            for _ in range(PRESSES):
                before = len(pressed)
                press(stop)
                visit.until(lambda before=before: len(pressed) > before, "the press to arrive", every=0.01)
                page._ended.wait(random.uniform(0.0, 0.1))
        assert held.presses == 1, "it was held all the time"
        ActionChains(browser).release().perform()
        before = len(pressed)
        ActionChains(browser).send_keys(Keys.ESCAPE).perform()
        visit.until(lambda: len(pressed) > before, "the key to arrive")
        visit.keep("stop-button")
        visit.leave()
