# SPDX-License-Identifier: Apache-2.0
"""`ada demo`: a page with a list of simulated, moving robots that can be pushed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ada_dynamics.clock import Clock
from ada_dynamics.simulation import Simulation
from ada_tools.browser.demo_robots import DEMOS, Targets
from ada_tools.browser.live import LocalRobot
from ada_tools.browser.page import Page, serve
from ada_tools.browser.robot_page import RobotPage

_PERIOD = 0.01  # [s] interval between servo targets


class ServoRobot(LocalRobot):
    """Simulation whose servos follow a motion."""

    def __init__(self, simulation: Simulation, targets: Targets, say: Callable[[str], None], clock: Clock) -> None:
        """Args: simulation with servos; motor targets over time; display of messages; clock."""
        super().__init__(simulation, say, clock)
        self._targets, self._servos = targets, simulation.servos
        self._each = max(1, round(_PERIOD / simulation.step_length))
        self._held = simulation.q[self._servos.q_index]
        self._rows = self._servos.rows(targets(0.0))

    def advance(self, steps: int) -> None:
        """Take steps and update the servo targets in between."""
        for first in range(0, steps, self._each):
            self._command_servos(float(self._simulation.t))
            super().advance(min(self._each, steps - first))

    def _command_servos(self, t: float) -> None:
        before, after = (np.array(list(self._targets(at).values())) for at in (t, t + _PERIOD))
        positions, velocities = self._held.copy(), np.zeros_like(self._held)
        positions[self._rows], velocities[self._rows] = before, (after - before) / _PERIOD
        self._servos.hold(positions, velocities)


class DemoPage:
    """Page with a list of robots and the selected one.

    Attributes:
        robot: page of the selected robot.
        chosen: name of the selected robot.
    """

    def __init__(self, page: Page, first: str) -> None:
        """Args: page to draw on; name of the first robot."""
        self.page, self.chosen = page, first
        self.robot = self._shown()

    def _shown(self) -> RobotPage:
        words = {one.words: name for name, one in DEMOS.items()}
        self.choice: Any = self.page.gui.add_dropdown(
            "robot", tuple(words), initial_value=DEMOS[self.chosen].words, hint="Drag a link to push the robot."
        )
        self.page.when(self.choice, lambda: self.choose(words[str(self.choice.value)]))
        simulation, targets = DEMOS[self.chosen].prepared()
        source = ServoRobot(simulation, targets, self.page.say, self.page.clock)
        ground = None if simulation.contact is None else 0.0
        robot = RobotPage(self.page, source, source.dynamics, ground=ground)
        robot.toggle()
        return robot

    def choose(self, name: str) -> None:
        """Show another robot."""
        if name == self.chosen:
            return
        self.robot.close()
        self.chosen = name
        self.robot = self._shown()
        self.page.look()

    def tick(self) -> None:
        """Per-frame update."""
        self.robot.tick()


def show(first: str, **options: Any) -> None:
    """Show the demo.

    Args:
        first: name of the first robot.
        options: options of `page.serve`, such as port and duration.

    Raises:
        InputError: as `page.serve`.
    """
    serve("ada demo", lambda page: DemoPage(page, first), **options)
