# SPDX-License-Identifier: Apache-2.0
"""`ada sim ROBOT --view`: a simulation that runs in real time, can be paused, and pushed with the mouse or a button."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import AdaError
from ada_dynamics.model.model import Model
from ada_dynamics.view.browser.page import HOST, PORT, RATE, Page
from ada_dynamics.view.browser.plots import LivePlot
from ada_dynamics.view.browser.scene import Arrow, Pull, Scene

Array = NDArray[np.float64]

SPEEDS = ("0.05", "0.1", "0.25", "0.5", "1", "2", "4")
PUSH = 0.1  # [s] a push takes
_DIRECTIONS = {
    "x": (1.0, 0.0, 0.0),
    "-x": (-1.0, 0.0, 0.0),
    "y": (0.0, 1.0, 0.0),
    "-y": (0.0, -1.0, 0.0),
    "z": (0.0, 0.0, 1.0),
    "-z": (0.0, 0.0, -1.0),
}
_BUSY = 0.8  # of a frame, that may go into steps; the rest is for the page
_PLOTS_PER_SECOND = 10.0
_ROOM = 0.4  # sizes of the robot, to move in without leaving the picture
_SHOWN = 0.4  # [s] that the arrow of a push stays
_PULLED = 2.0  # weights of the robot, that the mouse pulls with over the robot's size


class Simulated(Protocol):
    """What the view needs of a simulation; `ada.Simulation` is one."""

    @property
    def model(self) -> Model:
        """The robot."""

    @property
    def step_length(self) -> float:
        """Length of a step [s]."""

    @property
    def t(self) -> float:
        """Present time [s]."""

    @property
    def q(self) -> Array:
        """Present positions."""

    @property
    def v(self) -> Array:
        """Present velocities."""

    def step(self, n: int = 1) -> object:
        """Some steps forward."""

    def reset(self, q: Array | None = None, v: Array | None = None) -> object:
        """Back to the start."""

    def push(self, link: str, wrench: ArrayLike, duration: float) -> object:
        """Add a wrench [f, n] on a link, at its origin in the world's axes, from now on for some seconds."""


class Pace:
    """How many steps bring a simulation up to the clock on the wall, and how fast that really is."""

    def __init__(self, step: float) -> None:
        self.step = step
        self.speed = 1.0
        self.factor = 0.0  # simulated by passed time, over the last second or so
        self._owed = 0.0
        self._cost = 0.0  # [s] of one step
        self._simulated = self._passed = 0.0

    def due(self, elapsed: float) -> int:
        """Steps to take now, no more than fit into a frame; what does not fit is dropped: the motion is slower then.

        Args:
            elapsed: since the last call [s].
        """
        self._passed += elapsed
        self._owed += elapsed * self.speed / self.step
        steps = int(self._owed)
        if self._cost > 0.0:
            steps = min(steps, max(1, int(_BUSY / RATE / self._cost)))
        elif steps:
            steps = 1  # what a step costs is not known yet
        self._owed = min(self._owed - steps, self.speed / (RATE * self.step))
        return steps

    def took(self, steps: int, seconds: float) -> None:
        """Learn what steps cost."""
        if steps:
            self._cost = seconds / steps if not self._cost else 0.8 * self._cost + 0.2 * seconds / steps
        self._simulated += steps * self.step
        if self._passed >= 1.0:
            self.factor = self._simulated / self._passed
            self._simulated = self._passed = 0.0

    def forget(self) -> None:
        """After a pause: nothing is owed."""
        self._owed = self._simulated = self._passed = 0.0


class LivePage:
    """Controls and plots beside a robot that moves."""

    def __init__(self, page: Page, simulation: Simulated, ground: float | None = None) -> None:
        """Draw the present state.

        Args:
            page: to draw on.
            simulation: that is run.
            ground: height of the grid [m].
        """
        self.page, self.simulation = page, simulation
        self.model = simulation.model
        dynamics = getattr(simulation, "dynamics", None)
        self.scene = Scene(page.server, self.model, dynamics if isinstance(dynamics, Dynamics) else None, ground)
        self.scene.frame([simulation.q], margin=_ROOM * self.scene.size)
        self.pace = Pace(simulation.step_length)
        self.is_playing = False
        self._weight = max(self.model.total_mass * float(np.linalg.norm(self.model.gravity)), 1.0)
        self._pull: Pull | None = None
        self._arrow: tuple[float, Arrow] | None = None
        self._last = time.monotonic()
        self._plots_due = 0.0
        gui = page.gui
        self.status = gui.add_markdown("")
        self._add_controls(gui)
        self._add_push(gui)
        names = [n for n in self.model.joint_names if self.model.joints[n].nq == 1]
        self._own = [self.model.q_index(n).start for n in names]
        with gui.add_folder("plots"):
            self.energy_plot = LivePlot(gui, "energy [J]", ("kinetic", "potential", "total"))
            self.joint_plot = LivePlot(gui, "joint positions [rad, m]", names) if names else None
        self.scene.on_pull(lambda pull: page.note("pull", lambda: self._set_pull(pull)))
        self.scene.on_click(lambda *hit: page.note("click", lambda: self._clicked(*hit)))
        self.show()

    # --- controls -----------------------------------------------------------------------------------------------
    def _add_controls(self, gui: Any) -> None:
        self.play_button = gui.add_button("play")
        self.step_button = gui.add_button("one step")
        self.reset_button = gui.add_button("back to the start")
        self.speed = gui.add_dropdown("speed", SPEEDS, initial_value="1")
        self.com = gui.add_checkbox("centre of mass", False)
        self.page.when(self.play_button, self.toggle)
        self.page.when(self.step_button, self.one_step)
        self.page.when(self.reset_button, self.reset)
        self.page.when(self.speed, self._set_speed)
        self.page.when(self.com, self.show)

    def _add_push(self, gui: Any) -> None:
        moving = [n for n in self.model.link_names if any(j.child == n for j in self.model.joints.values())]
        if not moving:
            return
        with gui.add_folder("push"):
            self.link = gui.add_dropdown("link", tuple(moving), initial_value=moving[-1])
            self.direction = gui.add_dropdown("direction", tuple(_DIRECTIONS), initial_value="x")
            strength = float(f"{0.5 * self._weight:.2g}")
            self.strength = gui.add_slider("force [N]", 0.0, 10.0 * strength, 0.01 * strength, strength)
            self.push_button = gui.add_button("push")
            gui.add_markdown("or drag a link with the mouse; a click pushes it away from you")
        self.page.when(self.push_button, self.push)

    def _set_speed(self) -> None:
        self.pace.speed = float(self.speed.value)

    def toggle(self) -> None:
        """Play or pause."""
        self.is_playing = not self.is_playing
        self._last = time.monotonic()
        self.pace.forget()
        self.show()

    def one_step(self) -> None:
        """Pause, and take one step."""
        self.is_playing = False
        self._advance(1)
        self.show()

    def reset(self) -> None:
        """Back to the start."""
        self.simulation.reset()
        self.pace.forget()
        self.show()

    # --- pushes -------------------------------------------------------------------------------------------------
    def push(self) -> None:
        """What the button does: a force on the centre of mass of a link."""
        link, direction = str(self.link.value), np.array(_DIRECTIONS[str(self.direction.value)])
        self._push_at(link, float(self.strength.value) * direction, self.scene.centre_of(link), PUSH)

    def _clicked(self, link: str, origin: Array, direction: Array) -> None:
        """Away from the eye, at the point of the ray that is nearest to the link's centre of mass."""
        along = float((self.scene.centre_of(link) - origin) @ direction)
        self._push_at(link, float(self.strength.value) * direction, origin + along * direction, PUSH)

    def _set_pull(self, pull: Pull) -> None:
        self._pull = None if pull.phase == "end" else pull

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
            self.simulation.push(link, self.scene.wrench_at(link, force, point), duration)
        except AdaError as problem:
            self._pull = None
            self.page.say(str(problem))
            return
        self._arrow = (time.monotonic() + _SHOWN, Arrow(point, force))

    # --- going on -----------------------------------------------------------------------------------------------
    def tick(self) -> None:
        """Once a frame: catch up with the clock."""
        now = time.monotonic()
        elapsed, self._last = now - self._last, now
        if not self.is_playing:
            return
        steps = self.pace.due(elapsed)
        self._pull_on(steps * self.pace.step)
        self._advance(steps)
        self.show()

    def _advance(self, steps: int) -> None:
        """Take steps; a simulation that fails is paused where it is."""
        begin = time.perf_counter()
        try:
            if steps:
                self.simulation.step(steps)
        except AdaError as problem:
            self.is_playing = False
            self.page.say(f"paused at t = {self.simulation.t:.4g} s: {problem}")
        self.pace.took(steps, time.perf_counter() - begin)

    def show(self) -> None:
        """Show the present state, everywhere."""
        q, v, t = self.simulation.q, self.simulation.v, float(self.simulation.t)
        arrows = [self._arrow[1]] if self._arrow and time.monotonic() < self._arrow[0] else []
        self.scene.has_com = bool(self.com.value)
        self.scene.show(q, arrows)
        if self.is_playing and time.monotonic() < self._plots_due:
            return
        self._plots_due = time.monotonic() + 1.0 / _PLOTS_PER_SECOND
        kinetic, potential = (float(e) for e in self.scene.dynamics.energy(q, v))
        self.energy_plot.add(t, (kinetic, potential, kinetic + potential))
        if self.joint_plot:
            self.joint_plot.add(t, [float(q[i]) for i in self._own])
        with self.page.server.atomic():
            self.play_button.label = "pause" if self.is_playing else "play"
            gap = f", largest gap {self.scene.gap:.1e} [m, rad]" if self.model.loops else ""
            pace = f", **{self.pace.factor:.2f}** x real time" if self.is_playing else ", paused"
            self.status.content = f"t = **{t:.3f}** s{pace}, energy {kinetic + potential:.6g} J{gap}"
            self.energy_plot.draw()
            if self.joint_plot:
                self.joint_plot.draw()


def live(
    simulation: Simulated,
    *,
    host: str = HOST,
    port: int = PORT,
    open_browser: bool = True,
    duration: float | None = None,
    playing: bool = True,
    ground: float | None = None,
    on_start: Callable[[LivePage], None] | None = None,
) -> None:
    """Run a simulation in real time in the browser until Ctrl-C, or for some seconds.

    Args:
        simulation: an `ada.Simulation`, made with pushable=True, or what behaves like one.
        host: address to listen on.
        port: to listen on; 0 takes any free one.
        open_browser: open the page, where there is a screen.
        duration: [s] on the wall's clock; without one it goes on.
        playing: start at once, rather than paused.
        ground: height of the grid [m]; by default the robot's lowest point.
        on_start: called with the page before it runs.

    Raises:
        InputError: viser is not installed, or host or port are not to be had.
    """
    with Page(simulation.model.name, host, port) as page:
        shown = LivePage(page, simulation, ground)
        if playing:
            shown.toggle()
        if on_start:
            on_start(shown)
        page.invite(open_browser)
        page.run(shown.tick, duration)
