# SPDX-License-Identifier: Apache-2.0
"""A real browser for tests: Chromium without a display, driven by selenium; skips where one of them is missing."""

import contextlib
import io
import os
import shutil
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
from processes import descendants
from waiting import until

CHROMIUM = next((p for p in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if p), None)
DRIVER = shutil.which("chromedriver")
PATIENCE = 180.0  # [s] at most; drawing without a GPU takes seconds, the first time most
HARMLESS = (
    # what viser's own page says when a drag begins; the drag works
    "Unable to preventDefault inside passive event listener invocation.",
    # and when a part that was taken away, as the page was made anew, was changed just before, and that arrives late
    "Tried to update non-existent component",
)
OPTIONS = [
    "--headless=new",
    "--no-sandbox",  # as root, in containers
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=860,600",
]


@contextlib.contextmanager
def chromium(folder):
    pytest.importorskip("viser", reason="viser is not installed: pip install '.[view]'")
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed: pip install selenium")
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine; on Debian: apt install chromium")
    if DRIVER is None:
        pytest.skip("no chromedriver on this machine; on Debian: apt install chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for option in (*OPTIONS, f"--user-data-dir={folder}"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    try:
        yield driver
    finally:
        driver.quit()


def plain_light(page):
    page.scene.configure_environment_map(hdri=None)
    page.scene.configure_default_lights(cast_shadow=False)
    page.scene.add_light_ambient("/light", intensity=2.0)


def browser_processes(driver):
    return descendants(driver.service.process.pid)


def signal_all(pids, number):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


class Person:
    """Somebody in front of a browser."""

    def __init__(self, browser):
        self.browser = browser

    def until(self, holds, what, every=0.1):
        until(holds, what, PATIENCE, every, details=self.seen)

    def seen(self):
        """What the page says, for messages of failed tests."""
        try:
            return f"; the page says: {self.text()}"
        except Exception as problem:  # the browser may be gone
            return f"; the page cannot be read: {type(problem).__name__}"

    def picture(self):
        from PIL import Image

        return np.asarray(Image.open(io.BytesIO(self.browser.get_screenshot_as_png())).convert("RGB"), dtype=int)

    def drawn(self):
        """Pixels of the 3D scene that stand out in colour from the white ground and its grey grid."""
        canvas = self.browser.execute_script(
            "const r = document.querySelector('canvas').getBoundingClientRect();"
            "return [r.left, r.top, r.width, r.height]"
        )
        left, top, width, height = map(int, canvas)
        seen = self.picture()[top + 190 : top + height, left : min(left + width, 460)]  # beside notice and controls
        rows, columns = np.nonzero(np.ptp(seen, axis=2) > 25)
        return np.column_stack([columns + left, rows + top + 190])

    def differs(self, before):
        """Whether what is drawn differs from before, by more than a few pixels."""
        return len(set(map(tuple, self.drawn())) ^ set(map(tuple, before))) > 200

    def text(self):
        return self.browser.execute_script("return document.body.innerText")

    def button(self, text):
        found = []

        def is_there():  # in one go: the page makes its parts anew when it likes
            found[:] = self.browser.execute_script(
                "return [...document.querySelectorAll('button')].filter(b => b.innerText.trim() === arguments[0])", text
            )
            return found

        self.until(is_there, f"a button says {text!r}")
        return found[-1]

    def touch(self, element):
        """What another finger does while the mouse is at something else."""
        self.browser.execute_script(
            "arguments[0].dispatchEvent(new PointerEvent('pointerdown', {bubbles: true}))", element
        )

    def click(self, text):
        """What a person does with a button; the page may make it anew while the mouse is on its way."""
        from selenium.common.exceptions import ElementNotInteractableException, StaleElementReferenceException

        def clicked():
            with contextlib.suppress(ElementNotInteractableException, StaleElementReferenceException):
                self.button(text).click()
                return True

        self.until(clicked, f"the button {text!r} stays long enough")

    def types(self, number, text):
        """Replace what stands in one of the fields for numbers."""
        from selenium.webdriver.common.by import By
        from selenium.webdriver.common.keys import Keys

        fields = "input[inputmode=decimal], input[inputmode=numeric]"
        found = []

        def is_there():
            found[:] = self.browser.find_elements(By.CSS_SELECTOR, fields)
            return len(found) > number

        self.until(is_there, f"there are {number + 1} fields")
        found[number].send_keys(Keys.CONTROL, "a")
        found[number].send_keys(str(text))

    def presses(self, text):
        from selenium.webdriver import ActionChains

        ActionChains(self.browser).click_and_hold(self.button(text)).perform()

    def lets_go(self):
        from selenium.webdriver import ActionChains

        ActionChains(self.browser).release().perform()

    def keep(self, name):
        folder = Path(os.environ.get("ADA_ARTIFACTS", Path(__file__).parents[2] / "build/test-artifacts"))
        folder.mkdir(parents=True, exist_ok=True)
        self.browser.save_screenshot(str(folder / f"{name}.png"))


class Visit(Person):
    """A page that runs, and the browser that looks at it."""

    def __init__(self, browser, page, shown, end):
        """Open a page that runs and shows something; `end` leaves and ends it."""
        super().__init__(browser)
        self.page, self.shown, self._end = page, shown, end
        browser.get_log("browser")
        browser.get(page.url)
        self.until(page.server.get_clients, "the browser connects")

    def leave(self):
        """Nothing went wrong, and nothing came from elsewhere."""
        told = [entry["message"] for entry in self.browser.get_log("browser") if entry["level"] == "SEVERE"]
        severe = [message for message in told if not any(harmless in message for harmless in HARMLESS)]
        fetched = self.browser.execute_script("return performance.getEntriesByType('resource').map(r => r.name)")
        own = urlsplit(self.page.url).netloc
        foreign = [url for url in fetched if urlsplit(url).scheme in ("http", "https") and urlsplit(url).netloc != own]
        self._end()
        assert severe == [], severe
        assert foreign == [], foreign
