# SPDX-License-Identifier: Apache-2.0
"""The browser view in a real browser: Chromium without a display, driven by selenium.

Screenshots are kept under build/test-artifacts, or where ADA_ARTIFACTS says.
"""

import io
import os
import shutil
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
from browser_robots import pushable

import ada_dynamics as ada
from ada_dynamics.model.catalogue import start_of_mechanism
from ada_dynamics.simulation.log import EventRecord
from ada_dynamics.view.browser import page
from ada_dynamics.view.browser.live import LivePage
from ada_dynamics.view.browser.page import Page
from ada_dynamics.view.browser.playback import PlaybackPage
from ada_dynamics.view.browser.pose_page import PosePage

pytestmark = pytest.mark.slow

CHROMIUM = next((p for p in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if p), None)
DRIVER = shutil.which("chromedriver")
PATIENCE = 180.0  # [s] at most; drawing without a GPU takes seconds, the first time most
# What viser's own page says when a drag begins; the drag works.
HARMLESS = "Unable to preventDefault inside passive event listener invocation."
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


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    pytest.importorskip("viser", reason="viser is not installed: pip install 'ada_dynamics[view]'")
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed: pip install selenium")
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine; on Debian: apt install chromium")
    if DRIVER is None:
        pytest.skip("no chromedriver on this machine; on Debian: apt install chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for option in (*OPTIONS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


class Visit:
    """A page that runs, and the browser that looks at it."""

    def __init__(self, browser, make):
        self.browser = browser
        self.page = Page("test", port=0)
        # Without a GPU, light from a picture of the surroundings takes ten seconds of work on shaders, and shadows
        # halve the pace; plain lamps will do.
        self.page.scene.configure_environment_map(hdri=None)
        self.page.scene.configure_default_lights(cast_shadow=False)
        self.page.scene.add_light_ambient("/light", intensity=2.0)
        self.shown = make(self.page)
        self.thread = threading.Thread(target=self.page.run, args=(getattr(self.shown, "tick", None),))
        self.thread.start()
        browser.get_log("browser")
        browser.get(self.page.url)
        self.until(self.page.server.get_clients, "the browser connects")

    def until(self, holds, what, every=0.1):
        deadline = time.monotonic() + PATIENCE
        while not holds():
            assert time.monotonic() < deadline, f"waited {PATIENCE} s until {what}"
            self.page._ended.wait(every)

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

    def click(self, text):
        from selenium.webdriver.common.by import By

        def buttons():
            return [e for e in self.browser.find_elements(By.TAG_NAME, "button") if e.text.strip() == text]

        self.until(buttons, f"a button says {text!r}")
        buttons()[-1].click()

    def keep(self, name):
        folder = Path(os.environ.get("ADA_ARTIFACTS", Path(__file__).parents[2] / "build/test-artifacts"))
        folder.mkdir(parents=True, exist_ok=True)
        self.browser.save_screenshot(str(folder / f"{name}.png"))

    def leave(self):
        """Nothing went wrong, and nothing came from elsewhere."""
        told = [entry["message"] for entry in self.browser.get_log("browser") if entry["level"] == "SEVERE"]
        severe = [message for message in told if not message.endswith(HARMLESS)]
        fetched = self.browser.execute_script("return performance.getEntriesByType('resource').map(r => r.name)")
        own = urlsplit(self.page.url).netloc
        foreign = [url for url in fetched if urlsplit(url).scheme in ("http", "https") and urlsplit(url).netloc != own]
        self.close()
        assert severe == []
        assert foreign == []

    def close(self):
        self.browser.get("about:blank")
        self.page.end()
        self.thread.join(10.0)
        self.page.close()


@pytest.fixture
def visit(browser, monkeypatch):
    monkeypatch.setattr(page, "RATE", 4.0)  # frames that are drawn without a GPU before the next ones arrive
    visits = []

    def begin(make):
        visits.append(Visit(browser, make))
        return visits[-1]

    yield begin
    for one in visits:
        one.close()


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
    here.until(lambda: _differ(here.drawn(), before), "the picture changes", every=1.0)
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


def _differ(a, b):
    return len(set(map(tuple, a)) ^ set(map(tuple, b))) > 200


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
