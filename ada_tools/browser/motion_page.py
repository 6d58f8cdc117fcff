# SPDX-License-Identifier: Apache-2.0
"""A robot that moves, with what every such page has beside it: play, step, reset, speed, pushes, plots, a status line.

What moves the robot, a simulation here or a plant elsewhere, is the business of a subclass.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import AdaError
from ada_dynamics.model.model import Model
from ada_dynamics.simulation import defaults
from ada_tools.browser.grabs import Pull
from ada_tools.browser.page import Page
from ada_tools.browser.plots import LivePlot
from ada_tools.browser.scene import Arrow, Scene
from ada_tools.browser.words import Words

SPEEDS = ("0.05", "0.1", "0.25", "0.5", "1", "2", "4")
PUSH = 0.1  # [s] a push takes
DIRECTIONS = {
    "x": (1.0, 0.0, 0.0),
    "-x": (-1.0, 0.0, 0.0),
    "y": (0.0, 1.0, 0.0),
    "-y": (0.0, -1.0, 0.0),
    "z": (0.0, 0.0, 1.0),
    "-z": (0.0, 0.0, -1.0),
}
_PLOTS_PER_SECOND = 10.0
_ROOM = 0.4  # sizes of the robot, to move in without leaving the picture
_SHOWN = 0.4  # [s] that the arrow of a push stays
_PULLED = 2.0  # weights of the robot, that the mouse pulls with over the robot's size


class MotionPage(ABC):
    """Controls and plots beside a robot that moves."""

    status_lines = 3  # there is room for, above the controls

    def __init__(
        self,
        page: Page,
        model: Model,
        q: ArrayLike,
        dynamics: Dynamics | None = None,
        ground: float | None = None,
        *,
        is_simulated: bool = True,
    ) -> None:
        """Draw a pose, and the controls.

        Args:
            page: to draw on.
            model: the robot.
            q: the pose that the camera is pointed at.
            dynamics: of the model; made here by default.
            ground: height of the grid [m].
            is_simulated: it can be paused, set back, slowed down and pushed.
        """
        self.page, self.model, self.is_simulated = page, model, is_simulated
        self.scene = Scene(page.server, model, dynamics, ground)
        self.scene.frame([q], margin=_ROOM * self.scene.size)
        self.is_playing = False
        self.remark = ""  # for the person who looks, above everything else
        self._weight = max(model.total_mass * float(np.linalg.norm(model.gravity)), 1.0)
        self._pull: Pull | None = None
        self._is_pull_refused = False
        self._arrow: tuple[float, Arrow] | None = None
        self._plots_due = 0.0
        gui = page.gui
        self.status = Words(gui, self.status_lines)
        if is_simulated:
            self._add_controls(gui)
        self.com = gui.add_checkbox("centre of mass", False)
        page.when(self.com, self.show)
        if is_simulated:
            self._add_push(gui)
            self.scene.on_pull(lambda pull: page.note("pull", lambda: self._set_pull(pull)))
            self.scene.on_click(lambda *hit: page.note("click", lambda: self._clicked(*hit)))
        self._add_own(gui)
        names = [n for n in model.joint_names if model.joints[n].nq == 1]
        self._own = [model.q_index(n).start for n in names]
        with gui.add_folder("plots"):
            self.energy_plot = LivePlot(gui, "energy [J]", ("kinetic", "potential", "total"))
            self.joint_plot = LivePlot(gui, "joint positions [rad, m]", names) if names else None

    def begin_push(self, link: str, direction: str, force: float) -> None:
        """Set the controls of a push; a link that there is not, or a force beyond the slider, is left as it is.

        Args:
            link: that is pushed.
            direction: one of `DIRECTIONS`.
            force: [N]; 0 leaves half of the robot's weight.
        """
        if not hasattr(self, "link"):
            return  # nothing of the robot moves, or can be pushed
        if link in self.link.options:
            self.link.value = link
        self.direction.value = direction
        if 0.0 < force <= self.strength.max:
            self.strength.value = force

    # --- what a subclass does -----------------------------------------------------------------------------------
    @abstractmethod
    def toggle(self) -> None:
        """Play or pause."""

    @abstractmethod
    def one_step(self) -> None:
        """Pause, and take one step."""

    @abstractmethod
    def reset(self) -> None:
        """Back to the start."""

    @abstractmethod
    def show(self) -> None:
        """Show the present state, everywhere."""

    @abstractmethod
    def _set_speed(self) -> None:
        """Act on the chosen speed."""

    @abstractmethod
    def _apply(self, link: str, wrench: Array, duration: float) -> None:
        """Let a wrench [f, n] act on a link, at its origin in the world's axes, from now on for some seconds."""

    @abstractmethod
    def _add_own(self, gui: Any) -> None:
        """More controls, above the plots."""

    # --- controls -----------------------------------------------------------------------------------------------
    def _add_controls(self, gui: Any) -> None:
        self.play_button = gui.add_button("play")
        self.step_button = gui.add_button("one step")
        self.reset_button = gui.add_button("back to the start")
        self.speed = gui.add_dropdown("speed", SPEEDS, initial_value="1")
        self.page.when(self.play_button, self.toggle)
        self.page.when(self.step_button, self.one_step)
        self.page.when(self.reset_button, self.reset)
        self.page.when(self.speed, self._set_speed)

    def _add_push(self, gui: Any) -> None:
        moving = [n for n in self.model.link_names if any(j.child == n for j in self.model.joints.values())]
        if not moving:
            return
        with gui.add_folder("push"):
            # of an arm the hand, of a robot that stands or floats its trunk
            heaviest = max(moving, key=lambda link: self.model.links[link].mass)
            first = heaviest if defaults.floats(self.model) else moving[-1]
            self.link = gui.add_dropdown("link", tuple(moving), initial_value=first)
            self.direction = gui.add_dropdown("direction", tuple(DIRECTIONS), initial_value="x")
            strength = float(f"{0.5 * self._weight:.2g}")
            self.strength = gui.add_slider("force [N]", 0.0, 10.0 * strength, 0.01 * strength, strength)
            self.push_button = gui.add_button("push")
            gui.add_markdown("or drag a link with the mouse; a click pushes it away from you")
        self.page.when(self.push_button, self.push)

    # --- pushes -------------------------------------------------------------------------------------------------
    def push(self) -> None:
        """Push by the button: a force on the centre of mass of a link."""
        link, direction = str(self.link.value), np.array(DIRECTIONS[str(self.direction.value)])
        self._push_at(link, float(self.strength.value) * direction, self.scene.centre_of(link), PUSH)

    def _clicked(self, link: str, origin: Array, direction: Array) -> None:
        """Away from the eye, at the point of the ray that is nearest to the link's centre of mass."""
        along = float((self.scene.centre_of(link) - origin) @ direction)
        self._push_at(link, float(self.strength.value) * direction, origin + along * direction, PUSH)

    def _set_pull(self, pull: Pull) -> None:
        """A pull that was refused is over, and said once, until the person begins another one."""
        if pull.phase != "update":
            self._is_pull_refused = False
        self._pull = None if pull.phase == "end" or self._is_pull_refused else pull

    def _pull_on(self, seconds: float) -> None:
        """A spring from where a link was grabbed to the mouse, for the steps of one frame."""
        if self._pull is None or seconds <= 0.0:
            return
        force = _PULLED * self._weight / self.scene.size * (self._pull.pointer - self._pull.grabbed)
        self._push_at(self._pull.link, force, self._pull.grabbed, seconds)

    def _push_at(self, link: str, force: Array, point: Array, duration: float) -> None:
        if link not in self.scene.poses or not np.any(force):
            return
        try:
            self._apply(link, self.scene.wrench_at(link, force, point), duration)
        except AdaError as problem:
            self._is_pull_refused, self._pull = self._pull is not None, None
            self.page.say(str(problem))
            return
        self._arrow = (time.monotonic() + _SHOWN, Arrow(point, force))

    # --- the present state --------------------------------------------------------------------------------------
    def _arrows(self) -> list[Arrow]:
        """The forces to be drawn."""
        return [self._arrow[1]] if self._arrow and time.monotonic() < self._arrow[0] else []

    def _sample(self, t: float, q: Array, v: Array | None) -> None:
        """Put a state into the plots; many more of them than are drawn, or fast motions look like saw teeth."""
        if v is not None:
            kinetic, potential = (float(e) for e in self.scene.dynamics.energy(q, v))
            self.energy_plot.add(t, (kinetic, potential, kinetic + potential))
        if self.joint_plot:
            self.joint_plot.add(t, [float(q[i]) for i in self._own])

    def _draw(self, t: float, q: Array, v: Array | None, pace: str) -> None:
        """Show a state.

        Args:
            t: its time [s].
            q: positions.
            v: velocities; without them nothing is said of energy.
            pace: how the motion goes on, for the status line.
        """
        self.scene.has_com = bool(self.com.value)
        self.scene.show(q, self._arrows())
        self._sample(t, q, v)
        if self.is_playing and time.monotonic() < self._plots_due:
            return
        self._plots_due = time.monotonic() + 1.0 / _PLOTS_PER_SECOND
        energy = ""
        if v is not None:
            energy = f", energy {sum(float(e) for e in self.scene.dynamics.energy(q, v)):.6g} J"
        with self.page.server.atomic():
            if self.is_simulated:
                self.play_button.label = "pause" if self.is_playing else "play"
            gap = f", largest gap {self.scene.gap:.1e} [m, rad]" if self.model.loops else ""
            now = f"t = **{t:.3f}** s{pace}{energy}{gap}"
            self.status.content = f"{self.remark}\n\n{now}" if self.remark else now
            self.energy_plot.draw()
            if self.joint_plot:
                self.joint_plot.draw()
