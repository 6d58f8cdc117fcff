# SPDX-License-Identifier: Apache-2.0
"""Screenshots of pages in the browser: `python docs/screenshots.py [NAME ...]` writes docs/images/.

Needs ROS 2, viser, selenium and Pillow, and Chromium with its driver (Debian: apt install chromium chromium-driver).
Without a GPU a picture takes a minute.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from PIL import Image

IMAGES = Path(__file__).resolve().parent / "images"
SIZE = (1280, 720)
COLOURS = 128
PATIENCE = 240.0  # [s]
OPTIONS = (
    "--headless=new",
    "--no-sandbox",  # as root, in containers
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-background-networking",
)
# As `python -m ada_dynamics.nodes.view_node`, with as many frames as a browser without a GPU can draw.
SLOW_VIEW = (
    "import sys; from ada_dynamics.view.browser import page; page.RATE = 4.0;"
    "from ada_dynamics.nodes.view_node import main; sys.exit(main())"
)


def view_pa10() -> bytes:
    """The browser view of the PA-10, which swings under its own weight as a ROS 2 node."""
    robot = ["-m", "ada_dynamics.nodes.dynamics_node", "--ros-args", "-p", "robot:=pa10", "-p", "idle:=release"]
    page = ["-c", SLOW_VIEW, "--ros-args", "-p", "port:=0", "-p", "open_browser:=false"]
    with _process(robot), _process(page) as view, _browser() as browser:
        browser.get(_address(view))
        _until(lambda: "x real time" in _text(browser), "the robot moves")
        for button in browser.find_elements("css selector", "button"):
            if not button.text and "Software WebGL" in _text_above(browser, button):
                button.click()
        _until(lambda: _is_drawn(browser.get_screenshot_as_png()), "the robot is drawn")
        _click(browser, "push")  # folds the folder, to make room for the plots
        time.sleep(12.0)  # the plots show 10 s
        return bytes(browser.get_screenshot_as_png())


SCREENSHOTS: dict[str, Callable[[], bytes]] = {one.__name__: one for one in (view_pa10,)}


# --- parts ----------------------------------------------------------------------------------------------------------
@contextlib.contextmanager
def _process(arguments: list[str]) -> Iterator[subprocess.Popen[str]]:
    """A Python that ends with the block, in a DDS domain where nobody else is expected."""
    environment = {**os.environ, "ROS_DOMAIN_ID": "101", "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.PIPE, text=True, env=environment)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(30.0)


def _address(view: subprocess.Popen[str]) -> str:
    assert view.stdout is not None
    for line in view.stdout:
        if line.startswith("view: "):
            return line.split()[1]
    raise SystemExit("the view node did not start")


@contextlib.contextmanager
def _browser() -> Iterator[Any]:
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome") or ""
    with tempfile.TemporaryDirectory() as profile:
        for option in (*OPTIONS, f"--user-data-dir={profile}"):
            options.add_argument(option)
        browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
        try:
            metrics = {"width": SIZE[0], "height": SIZE[1], "deviceScaleFactor": 1, "mobile": False}
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
            yield browser
        finally:
            browser.quit()


def _until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > deadline:
            raise SystemExit(f"waited {PATIENCE:g} s until {what}")
        time.sleep(0.5)


def _text(browser: Any) -> str:
    return str(browser.execute_script("return document.body.innerText"))


def _text_above(browser: Any, element: Any) -> str:
    return str(browser.execute_script("return arguments[0].parentElement.innerText", element))


def _click(browser: Any, text: str) -> None:
    """Click on the first thing that says just this and is no button."""
    first = browser.find_element("xpath", f"//*[normalize-space(text())={text!r} and not(ancestor-or-self::button)]")
    browser.execute_script("arguments[0].click()", first)


def _is_drawn(picture: bytes) -> bool:
    """Whether the middle of the scene is more than its white ground and grey grid."""
    left = Image.open(io.BytesIO(picture)).convert("L").crop((200, 200, 760, 620))
    return sum(left.histogram()[:140]) > 500


def take(name: str, folder: Path = IMAGES) -> Path:
    """Take a screenshot; a palette makes it a third of the size."""
    path = folder / f"{name}.png"
    Image.open(io.BytesIO(SCREENSHOTS[name]())).convert("RGB").quantize(COLOURS).save(path, optimize=True)
    return path


if __name__ == "__main__":
    for wanted in sys.argv[1:] or SCREENSHOTS:
        print(take(wanted))
