# SPDX-License-Identifier: Apache-2.0
"""`ada view ROBOT`: a robot with a slider per coordinate; loops are kept closed."""

from __future__ import annotations

from typing import Any

from ada_dynamics.arrays import Array
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.model.model import Model
from ada_tools.browser.overlays import Overlays
from ada_tools.browser.page import Page, TextBox, serve
from ada_tools.browser.posing import PoseCoordinate, Posing
from ada_tools.browser.robot_page import KEYS
from ada_tools.browser.scene import Scene
from ada_tools.browser.sliders import PoseSliders


class PosePage:
    """Joint sliders of a robot."""

    def __init__(self, page: Page, model: Model, q: Array | None = None) -> None:
        """Draw the robot and its sliders; loops are closed from q."""
        self.page = page
        dynamics = Dynamics(model)
        self.posing = Posing(model, q)
        self.scene = Scene(page.server, model, dynamics)
        self._start = self.posing.q.copy()
        gui = page.gui
        self.status = TextBox(gui, 4 if model.loops else 0)  # no status line without loops
        self._group = PoseSliders(page, self.posing, self.refresh)
        self.sliders = self._group.sliders
        page.when(gui.add_button("reset", icon="rotate"), self.reset)
        page.add_key("reset", KEYS[-1], self.reset)
        self.overlays = Overlays(page, self.scene, self.refresh)
        self.refresh()

    def move(self, coordinate: PoseCoordinate) -> None:
        """Apply a slider; it returns to the last reachable value if the loops cannot be closed."""
        self._group.move(coordinate)

    def reset(self) -> None:
        """Return to the initial configuration."""
        self.posing.q = self._start.copy()
        self.refresh()

    def refresh(self, remark: str = "") -> None:
        """Update the scene and all sliders to the present configuration."""
        self.scene.show(self.posing.q)
        self.overlays.show(self.posing.q)
        with self.page.server.atomic():
            self._group.show()
            loops = f"loops: closure error **{self.scene.gap:.1e}** [m, rad]" if self.posing.model.loops else ""
            self.status.content = "\n\n".join(text for text in (loops, remark) if text)


def pose(model: Model, q: Array | None = None, **options: Any) -> Page:
    """Show a robot with sliders; loops are closed from q. Options as `page.serve`.

    Raises:
        InputError: as `page.serve`.
        ModelError: the loops cannot be closed.
    """
    return serve(model.name, lambda page: PosePage(page, model, q), **options)
