# SPDX-License-Identifier: Apache-2.0
"""In a real browser: with its token a page moves its robot, without it there is nothing to move."""

import threading

import numpy as np
import pytest
from chromium import Visit, chromium, plain_light

import ada_dynamics as ada
from ada_tools.browser.page import Page
from ada_tools.browser.pose_page import PosePage

pytestmark = pytest.mark.slow


def test_a_browser_with_the_token_moves_the_robot_and_one_without_gets_nothing(tmp_path):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    with chromium(tmp_path) as browser, Page("test", host="0.0.0.0", port=0) as page:
        plain_light(page)
        shown = PosePage(page, ada.load("planar_3r"))
        threading.Thread(target=page.run, daemon=True).start()
        start = shown.posing.q.copy()
        browser.get(f"http://127.0.0.1:{page.port}/")
        assert "needs its token" in browser.page_source
        assert not browser.find_elements(By.CSS_SELECTOR, "[role=slider], canvas")
        assert not page.server.get_clients()

        here = Visit(browser, page, shown, page.end)
        assert "token" not in browser.current_url
        here.until(lambda: browser.find_elements(By.CSS_SELECTOR, "[role=slider]"), "sliders are there")
        browser.find_elements(By.CSS_SELECTOR, "[role=slider]")[0].send_keys(Keys.END)
        here.until(lambda: np.abs(shown.posing.q - start).max() > 0.1, "the robot moves")
        page.end()
