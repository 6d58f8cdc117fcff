# SPDX-License-Identifier: Apache-2.0
"""Screenshots of pages in the browser: `python docs/screenshots.py [NAME ...]` writes docs/images/.

Needs viser, selenium and Pillow, Chromium with its driver (Debian: apt install chromium chromium-driver), and ROS 2 but
for foreign_robots, which needs example-robot-data instead.
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
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from PIL import Image

IMAGES = Path(__file__).resolve().parent / "images"
SIZE = (1280, 720)
COLOURS = 256
PATIENCE = 240.0  # [s]
OPTIONS = (
    "--headless=new",
    "--no-sandbox",  # as root, in containers
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-background-networking",
)
# As `python -m ada_tools.nodes.view_node`, with as many frames as a browser without a GPU can draw, and nearer to the
# robot.
VIEW = """
import sys
from ada_tools.browser import page, scene
page.RATE, scene._AWAY, scene._VIEW[:] = 4.0, {away}, {eye}
from ada_tools.nodes.view_node import main
sys.exit(main())
"""
# As `ada view`, with lamps that a browser without a GPU draws soon.
STILL = """
import sys
from ada_tools.cli import main
from ada_tools.browser.page import Page
begin = Page.__init__
def lit(self, *args, **named):
    begin(self, *args, **named)
    self.scene.configure_environment_map(hdri=None)
    self.scene.configure_default_lights(cast_shadow=False)
    self.scene.add_light_ambient("/light", intensity=2.0)
Page.__init__ = lit
sys.exit(main())
"""
SCENE = 956  # width of the 3D scene beside the controls [pixel]
# Files of example-robot-data, and positions to start from where zero is no good look.
FOREIGN_ROBOTS = {
    "panda_description/urdf/panda.urdf": "0 -0.5 0 -2.0 0 1.6 0.8 0.03",
    "g1_description/urdf/g1_29dof_rev_1_0.urdf": "",
    "tiago_description/robots/tiago.urdf": "",
    "so_arm_description/urdf/so101.urdf": "",
    "ur_description/urdf/ur5_robot.urdf": "0 -1.2 1.4 -1.7 -1.57 0",
    "anymal_c_simple_description/urdf/anymal.urdf": "",
    "talos_data/robots/talos_full_v2.urdf": "",
    "pr2_description/urdf/pr2.urdf": "",
}


def view_pa10() -> bytes:
    """The browser view of the PA-10, which swings under its own weight as a ROS 2 node."""
    with _view(["robot:=pa10", "idle:=release", "start_paused:=true"], away=2.6) as browser:
        _click(browser, "▶ ❚❚", "button")
        time.sleep(12.0)  # the plots show 10 s
        return bytes(browser.get_screenshot_as_png())


def view_khr1() -> bytes:
    """The KHR-1 on its feet: contact forces, zero-moment point, support polygon, centre of mass."""
    with _view(["robot:=khr1"], away=2.8, eye=(0.9, -0.9, 0.5)) as browser:
        until(lambda: "support polygon" in _text(browser), "the boxes of the markers")
        time.sleep(6.0)
        return bytes(browser.get_screenshot_as_png())


def khr1_sliders() -> bytes:
    """Sliders of an emulated KHR-1."""
    device = ["device:=khr1", 'url:="emulator:"', "autostart:=active", "khr1.safety.hold_without_commands:=true"]
    # a browser without a GPU leaves little to others
    device += ["khr1.safety.host_timeout:=60.0", "khr1.driver.blind_time:=2.0"]
    node = ["-m", "ada_hardware.node.hardware_node", "--ros-args", *_given(device)]
    with _page(node, away=2.7, eye=(1.0, -0.75, 0.35), given=["plant:=hardware_node"]) as browser:
        until(lambda: "khr1: active" in _text(browser) and "right_elbow" in _text(browser), "the robot is active")
        for joint, degrees in (("right_shoulder_pitch", -120), ("left_shoulder_pitch", -40), ("right_elbow", -50)):
            holds = f"contains(., {joint!r}) and .//input"
            row = f"//*[{holds} and not(.//*[{holds}])]"
            field = browser.find_element("xpath", row).find_element("css selector", "input[type=text]")
            field.send_keys("\ue009", "a")  # the control key
            field.send_keys(str(degrees))
        time.sleep(6.0)
        return bytes(browser.get_screenshot_as_png())


def foreign_robots() -> bytes:
    """Eight robots of the package example-robot-data, as `ada view` shows them; needs no ROS."""
    shares = [Path(entry) / "cmeel.prefix/share/example-robot-data/robots" for entry in sys.path]
    folder = next((share for share in shares if share.is_dir()), None)
    if folder is None:
        raise SystemExit("needs the robots: pip install example-robot-data")
    width, height = SIZE[0] // 4, SIZE[1] // 2
    sheet = Image.new("RGB", SIZE, "white")
    with chromium() as browser:
        for i, (file, q) in enumerate(FOREIGN_ROBOTS.items()):
            start = ["--start", *q.split()] if q else []
            with _process(["-c", STILL, "view", str(folder / file), "--port", "0", "--no-open", *start]) as view:
                browser.get(_address(view))
                _close_notice(browser)
                picture = Image.open(io.BytesIO(_settled(browser))).convert("RGB")
                browser.get("about:blank")
            # The scene is what is left of the controls; its middle has the shape of a place on the sheet.
            scene = picture.crop((SCENE // 2 - 320, 0, SCENE // 2 + 320, SIZE[1]))
            sheet.paste(scene.resize((width, height)), (i % 4 * width, i // 4 * height))
    data = io.BytesIO()
    sheet.save(data, "png")
    return data.getvalue()


SCREENSHOTS: dict[str, Callable[[], bytes]] = {
    one.__name__: one for one in (view_pa10, view_khr1, khr1_sliders, foreign_robots)
}


# --- parts ----------------------------------------------------------------------------------------------------------
@contextlib.contextmanager
def _view(parameters: list[str], away: float, eye: tuple[float, ...] = (0.55, -1.0, 0.45)) -> Iterator[Any]:
    """A browser that shows the dynamics node with these parameters, by the view node.

    Args:
        parameters: of the dynamics node.
        away: distance of the eye, in radii of the robot.
        eye: from which side it looks.
    """
    robot = ["-m", "ada_robot.node.dynamics_node", "--ros-args", *_given(parameters)]
    with _page(robot, away, eye) as browser:
        yield browser


def _given(parameters: Sequence[str]) -> list[str]:
    return [word for parameter in parameters for word in ("-p", parameter)]


@contextlib.contextmanager
def _page(robot: list[str], away: float, eye: tuple[float, ...], given: Sequence[str] = ()) -> Iterator[Any]:
    """Screenshots with any node that moves a robot.

    Args:
        robot: arguments of the Python that is the node.
        away: as above.
        eye: as above.
        given: parameters of the view node.
    """
    parameters = _given(["port:=0", "open_browser:=false", *given])
    page = ["-c", VIEW.format(away=away, eye=eye), "--ros-args", *parameters]
    with _process(robot), _process(page) as view, chromium() as browser:
        browser.get(_address(view))
        until(lambda: "t = " in _text(browser), "the robot's state is shown")
        _close_notice(browser)
        until(lambda: _is_drawn(browser.get_screenshot_as_png()), "the robot is drawn")
        yield browser


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
def chromium(size: tuple[int, int] = SIZE) -> Iterator[Any]:
    """Chromium with a window of a size [px]."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome") or ""
    with tempfile.TemporaryDirectory() as profile:
        for option in (*OPTIONS, f"--user-data-dir={profile}"):
            options.add_argument(option)
        browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
        try:
            metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": False}
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
            yield browser
        finally:
            browser.quit()


def until(holds: Callable[[], bool], what: str) -> None:
    """Wait until a condition holds; end the program after PATIENCE."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > deadline:
            raise SystemExit(f"waited {PATIENCE:g} s until {what}")
        time.sleep(0.5)


def _close_notice(browser: Any) -> None:
    """Take away what the page says where there is no GPU."""
    until(lambda: "joints" in _text(browser) or "t = " in _text(browser), "the page is there")
    for button in browser.find_elements("css selector", "button"):
        if not button.text and "Software WebGL" in _text_above(browser, button):
            button.click()


def _settled(browser: Any) -> bytes:
    """A picture of what is drawn, once no more of it arrives."""
    from selenium.common.exceptions import TimeoutException

    before = now = b""
    deadline = time.monotonic() + PATIENCE
    while not now or now != before or not _is_drawn(now, (0, 0, SCENE, SIZE[1])):
        if time.monotonic() > deadline:
            raise SystemExit(f"waited {PATIENCE:g} s until the picture is whole")
        time.sleep(6.0)
        with contextlib.suppress(TimeoutException):  # without a GPU the first frame takes longer than selenium waits
            before, now = now, bytes(browser.get_screenshot_as_png())
    return now


def _text(browser: Any) -> str:
    return str(browser.execute_script("return document.body.innerText"))


def _text_above(browser: Any, element: Any) -> str:
    return str(browser.execute_script("return arguments[0].parentElement.innerText", element))


def _click(browser: Any, text: str, kind: str = "label") -> None:
    """Click on the first thing that says just this: a button, or what is none."""
    inside = "ancestor-or-self::button" if kind == "button" else "not(ancestor-or-self::button)"
    first = browser.find_element("xpath", f"//*[normalize-space(text())={text!r} and {inside}]")
    browser.execute_script("arguments[0].click()", first)


def _is_drawn(picture: bytes, place: tuple[int, int, int, int] = (200, 200, 760, 620)) -> bool:
    """Return True if a part of the picture, by default its middle, shows more than ground and grid."""
    left = Image.open(io.BytesIO(picture)).convert("L").crop(place)
    return sum(left.histogram()[:140]) > 500


def save(picture: Image.Image, path: Path) -> Path:
    """Save a picture; a palette, which keeps the colours of small things, makes it a third of the size."""
    picture.convert("RGB").quantize(COLOURS, Image.Quantize.MAXCOVERAGE, kmeans=5).save(path, optimize=True)
    return path


def take(name: str, folder: Path = IMAGES) -> Path:
    """Take a screenshot and save it."""
    return save(Image.open(io.BytesIO(SCREENSHOTS[name]())), folder / f"{name}.png")


if __name__ == "__main__":
    for wanted in sys.argv[1:] or SCREENSHOTS:
        print(take(wanted))
