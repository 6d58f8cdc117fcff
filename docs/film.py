# SPDX-License-Identifier: Apache-2.0
"""Film of the front page and pictures of robots, from the browser view.

`python docs/film.py` writes docs/images/moving.gif.

Each frame is rendered by Chromium after the configurations of the frame were set, so that the film is smooth however
slow the renderer is: without a GPU the film takes five minutes. Needs viser, selenium, Pillow, Chromium and its driver.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image
from screenshots import PATIENCE, chromium, until

import ada_dynamics as ada
from ada_dynamics.arrays import Array
from ada_dynamics.drawing.marks import FORCE, Mark, arrow_mark
from ada_dynamics.model.model import reach_of
from ada_dynamics.robots.mechanisms import delta, stewart
from ada_dynamics.simulation import CompiledController, half_sine
from ada_tools.browser.batch import Batches
from ada_tools.browser.marks_layer import MarksLayer
from ada_tools.browser.page import Page
from ada_tools.browser.parts import parts_of
from ada_tools.browser.scene import Arrow, Scene

FRAMES, EACH = 80, 60  # frames, and duration of each [ms]
SIZE = (960, 420)  # [px]
THINGS, SHADES = 200, 55  # colours of the robots and their shadows, and of sky and ground
PANEL = 324  # [px] width of the controls, which cover the right side of the window
FLOOR = -0.08  # lower side of the Stewart platform's base [m]
EYE, LOOK_AT, ANGLE = (0.95, -3.5, 1.1), (0.88, 0.0, 0.34), 0.36  # camera [m], its vertical angle of view [rad]
PUSHES, PUSHED_FOR = {0.5: (-40.0, 0.0, 0.0), 2.7: (0.0, 40.0, 0.0)}, 0.24  # force at the waist [N] by time [s]


class Motion(NamedTuple):
    """A robot, its pose on the floor, and its configurations."""

    model: ada.Model
    xyz: tuple[float, float, float]
    yaw: float
    configurations: Sequence[Array]


def platform() -> Motion:
    """A Stewart platform that moves on a circle and tilts."""
    configurations = []
    for s in _turn():
        position = 0.12 * np.cos(s), 0.12 * np.sin(s), 0.68 + 0.05 * np.sin(2.0 * s)
        configurations.append(stewart(position=position, rpy=(0.2 * np.sin(s), 0.2 * np.cos(s), 0.0)).q)
    return Motion(ada.load("stewart"), (0.0, 0.0, 0.0), 0.0, configurations)


def plate() -> Motion:
    """A Delta robot whose plate moves on a circle twice."""
    places = [(0.17 * np.cos(2 * s), 0.17 * np.sin(2 * s), -0.55 + 0.05 * np.cos(s)) for s in _turn()]
    return Motion(ada.load("delta"), (1.72, 0.0, 0.74), 0.0, [delta(place).q for place in places])


def humanoid() -> Motion:
    """A HOAP-2 with both feet fixed to the floor, which its servos hold against two pushes."""
    model = ada.load("hoap2_standing")

    def servos(t: Any, q: Any, v: Any) -> list[Any]:
        return [-25.0 * q[i] - v[i] for i in range(model.nv)]

    pushes = [
        half_sine("waist", (*force, 0, 0, 0), 2.0 + at, PUSHED_FOR, frame="world") for at, force in PUSHES.items()
    ]
    simulation = ada.Simulation(model, ada.close_loops(model), controller=CompiledController(servos), external=pushes)
    log = simulation.run(2.0 + 1e-3 * FRAMES * EACH)  # it comes to rest in the first two seconds
    rows = np.searchsorted(log.t, 2.0 + 1e-3 * EACH * np.arange(FRAMES))
    return Motion(model, (0.94, -0.35, FLOOR), -0.9, log.q[rows])


def frames() -> Iterator[Image.Image]:
    """All robots on one floor, frame by frame."""
    with Page("film", port=0) as page:
        first, *others = motions = [platform(), humanoid(), plate()]
        scene = Scene(page.server, first.model, ground=FLOOR)
        scene.show(first.configurations[0])
        page.server.initial_camera.fov = ANGLE
        page.server.initial_camera.position, page.server.initial_camera.look_at = EYE, LOOK_AT
        moves = [scene.show, *(_placed(page, one) for one in others)]
        dynamics = ada.Dynamics(others[0].model)
        push = MarksLayer(page.server, f"/{others[0].model.name}/push")
        with opened(page, SIZE) as picture:
            for i in range(FRAMES):
                for move, motion in zip(moves, motions, strict=True):
                    move(motion.configurations[i])
                push.show(_push(others[0], dynamics, i))
                yield picture()


def _placed(page: Page, motion: Motion) -> Callable[[Array], None]:
    """Draw a robot at its pose on the floor; the result moves it to a configuration."""
    model, dynamics = motion.model, ada.Dynamics(motion.model)
    turned = (np.cos(0.5 * motion.yaw), 0.0, 0.0, np.sin(0.5 * motion.yaw))
    page.scene.add_frame(f"/{model.name}", show_axes=False, position=motion.xyz, wxyz=turned)
    rows = {link: i for i, link in enumerate(dynamics.forward_kinematics(model.neutral()))}
    batches = Batches(page.scene, parts_of(model), rows, f"/{model.name}/robot")
    return lambda q: batches.move(np.array(list(dynamics.forward_kinematics(q).values())))


def _push(motion: Motion, dynamics: ada.Dynamics, frame: int) -> list[Mark]:
    """Arrows of the forces at the waist of the humanoid, while they act."""
    marks, size = [], 2.0 * reach_of(motion.model)
    waist = dynamics.pose("waist", motion.configurations[frame])[:3, 3]
    for i, (at, force) in enumerate(PUSHES.items()):
        share = (1e-3 * EACH * frame - at) / PUSHED_FOR
        if 0.0 < share < 1.0:
            reach = 0.35 * size * np.sin(np.pi * share) * np.array(force) / np.linalg.norm(force)
            marks.append(arrow_mark("push", i, waist - 1.2 * reach, reach, size, FORCE))
    return marks


def _turn() -> Array:
    """Angles of one turn, without its end."""
    return np.linspace(0.0, 2.0 * np.pi, FRAMES, endpoint=False)


@contextlib.contextmanager
def opened(page: Page, size: tuple[int, int]) -> Iterator[Callable[[], Image.Image]]:
    """Open a page in Chromium; the result renders its scene, without the controls."""
    with chromium((size[0] + PANEL, size[1])) as window:
        window.get(page.url)
        until(lambda: page.is_looked_at, "the page is open")
        client = next(iter(page.server.get_clients().values()))

        def picture() -> Image.Image:
            pixels = client.get_render(size[1], size[0], transport_format="png", timeout=PATIENCE)
            return Image.fromarray(pixels)

        # The background arrives last; pixels without it are transparent.
        until(lambda: picture().getextrema()[3] == (255, 255), "the background is drawn")
        yield lambda: picture().convert("RGB")


def views(
    dynamics: ada.Dynamics,
    configurations: Sequence[Array],
    arrows: Sequence[Arrow],
    size: tuple[int, int],
) -> list[Image.Image]:
    """A robot in configurations, with forces, as the browser view shows it."""
    shots = []
    with Page("pictures", port=0) as page:
        scene = Scene(page.server, dynamics.model, dynamics)
        scene.frame(configurations)
        with opened(page, size) as picture:
            for q in configurations:
                scene.show(q, arrows)
                shots.append(picture())
    return shots


def write(path: Path) -> Path:
    """Write the film with one table of colours, so that pixels at rest need no space."""
    shots = list(frames())
    sheet = Image.new("RGB", (SIZE[0], 8 * SIZE[1]))
    for i, shot in enumerate(shots[:: FRAMES // 8]):
        sheet.paste(shot, (0, i * SIZE[1]))
    things = sheet.quantize(THINGS, Image.Quantize.MAXCOVERAGE, kmeans=3).getpalette() or []
    sky = shots[0].crop((SIZE[0] // 2, 0, SIZE[0] // 2 + 1, SIZE[1])).quantize(SHADES).getpalette() or []
    table = Image.new("P", (1, 1))
    table.putpalette([*things[: 3 * THINGS], *sky[: 3 * SHADES]])
    shown = [shot.quantize(palette=table, dither=Image.Dither.NONE) for shot in shots]
    shown[0].save(path, save_all=True, append_images=shown[1:], duration=EACH, loop=0, optimize=True)
    return path


if __name__ == "__main__":
    print(write(Path(__file__).parent / "images/moving.gif"))
