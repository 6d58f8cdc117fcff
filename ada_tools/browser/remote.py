# SPDX-License-Identifier: Apache-2.0
"""Page of a remote robot: waits for it, loads its model, reports lost connections, and reconnects."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np

from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import AdaError, ModelError
from ada_dynamics.model.description import BASES, Base
from ada_dynamics.model.model import Model
from ada_dynamics.robots.load import load
from ada_tools.browser.device_panel import DevicePanel
from ada_tools.browser.page import Page
from ada_tools.browser.robot_node import Follower, Observation, ObservedState, RobotNode
from ada_tools.browser.robot_page import RobotPage

AUTO = "auto"
_WAITED = 1.0  # [s] settling time for related messages
_FINISHED = 10.0  # [s] timeout for a running model construction at the end


class ModelInputs(NamedTuple):
    """Inputs that determine a model."""

    text: str
    base: str  # requested base: one of BASES, or "auto"
    sizes: tuple[int, int] | None  # numbers of positions and velocities, if the full state is received
    gravity: tuple[float, ...] | None  # None: gravity of the description
    is_driven: bool = False  # a hardware node was detected: only its controls move robots


def _start_thread(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work, name="robot", daemon=True)
    thread.start()
    return thread


class RemotePage:
    """Page that shows the robot currently published by a plant node."""

    def __init__(
        self,
        page: Page,
        plant: RobotNode,
        *,
        base: str = AUTO,
        pose_sliders: bool = False,
        follower: Follower | None = None,
        start: Callable[[Callable[[], None]], Any] = _start_thread,
    ) -> None:
        """Show the waiting message.

        Args:
            page: page to draw on.
            plant: node that moves the robot.
            base: attachment of the root link: one of `BASES`, or "auto" to infer it from the messages.
            pose_sliders: sliders set the configuration of the robot instead of commanding its motors.
            follower: controller that moves the robot, if any.
            start: starts model construction in the background; returns an object with `join(timeout)`.
        """
        self.page, self.plant, self._follower = page, plant, follower
        self._start = start
        self.devices = DevicePanel(page, plant)
        self.robot: RobotPage | None = None
        self.problem = ""  # reason why the present description cannot be shown
        self._base, self._pose_sliders = base, pose_sliders
        self._asked: ModelInputs | None = None  # request that is in progress, complete or failed
        self._maker: Any = None
        self._text, self._since = "", 0.0  # description, and time of its arrival
        self._shown_text = ""
        self._differs_since: float | None = None
        self._was_lost = False
        self._said = ""
        self._waiting = page.gui.add_markdown("")
        self._show_waiting()

    def tick(self) -> None:
        """Per-frame update: process received messages and update the display."""
        seen, text = self.plant.newest(), self.plant.description
        if text is not None:
            self._make_if_needed(text, seen)
        self.devices.tick()
        if self.robot is None:
            self._show_waiting()
            return
        self.robot.tick()
        self._watch()

    def close(self) -> None:
        """Stop commands, and wait for a running model construction to complete its kernel files."""
        self.devices.close()
        if self._maker is not None:
            self._maker.join(_FINISHED)

    # --- presence -----------------------------------------------------------------------------------------------
    def _watch(self) -> None:
        """Report when the plant is lost and when it returns."""
        assert self.robot is not None
        is_lost = self.robot.is_lost and self.robot.seen is not None
        if is_lost != self._was_lost:
            self._was_lost = is_lost
            name = self.plant.name
            self.page.say(f"{name} stopped sending; waiting for it." if is_lost else f"{name} sends again.")

    def _show_waiting(self) -> None:
        text = f"**{self.problem}**" if self.problem else self.plant.waiting_text
        if self._maker is not None:
            text = "Loading the robot model."
        if text != self._said:
            self._said = self._waiting.content = text

    # --- the robot ----------------------------------------------------------------------------------------------
    def _make_if_needed(self, text: str, seen: Observation | None) -> None:
        """Start building the model that matches the messages, unless it is already shown."""
        now = self.page.clock.now()
        if text != self._text:
            self._text, self._since = text, now
        if self._maker is not None:
            return
        if seen is not None and seen.arrived < self._since:
            seen = None  # state of the previous robot
        sizes = (len(seen.q), len(seen.v)) if isinstance(seen, ObservedState) else None
        wanted = ModelInputs(text, self._base, sizes, self._gravity(), self.devices.is_seen)
        if wanted == self._asked or self._is_shown(wanted):
            self._differs_since = None
            return
        self._differs_since = self._differs_since or now
        is_settled = seen is not None and (self._asked is None or text != self._asked.text)
        if not is_settled and now - self._differs_since < _WAITED:
            return  # a state before its description, or a description before its first state
        self._asked, self._differs_since = wanted, None
        self._maker = self._start(partial(self._make, wanted))

    def _is_shown(self, wanted: ModelInputs) -> bool:
        """Return True if the displayed robot matches the request."""
        if self.robot is None or self._shown_text != wanted.text:
            return False
        if self.devices.is_seen and self.robot.is_simulated:
            return False
        model = self.robot.model
        is_same_size = wanted.sizes is None or wanted.sizes == (model.nq, model.nv)
        return is_same_size and (wanted.gravity is None or np.array_equal(wanted.gravity, model.gravity))

    def _gravity(self) -> tuple[float, ...] | None:
        gravity = self.plant.parameters.get("gravity")
        if isinstance(gravity, Sequence) and not isinstance(gravity, str) and len(gravity) == 3:
            return tuple(float(x) for x in gravity)
        return None

    def _make(self, wanted: ModelInputs) -> None:
        """Load and compile on a background thread, so that the page remains responsive."""
        try:
            dynamics = dynamics_of(wanted)
        except AdaError as problem:
            text = str(problem)
            self.page.note("made", lambda: self._refuse(text))
        except BaseException as failure:
            self.page.note("made", partial(_raise, failure))
        else:
            self.page.note("made", lambda: self._show(wanted, dynamics))

    def _show(self, wanted: ModelInputs, dynamics: Dynamics) -> None:
        self._maker, self.problem = None, ""
        self._clear()
        try:
            self.robot = RobotPage(
                self.page,
                self.plant,
                dynamics,
                ground=None if dynamics.model.floating_joint is None else 0.0,
                is_simulated=not wanted.is_driven,
                has_com=not wanted.is_driven,
                sliders="poses" if self._pose_sliders else "commands",
                follower=self._follower,
            )
        except AdaError as problem:  # for example an unavailable mesh or kernel
            self._refuse(str(problem))
            return
        self._shown_text = wanted.text
        self.page.look()

    def _refuse(self, problem: str) -> None:
        self._maker = None
        self.problem = f"The robot of {self.plant.name} cannot be shown: {problem}"
        self._clear()
        self._waiting, self._said = self.page.gui.add_markdown(""), ""
        self._show_waiting()

    def _clear(self) -> None:
        if self.robot is not None:
            self.robot.close()
            self.robot = None
        self.page.clear()
        self.devices.build()


def dynamics_of(wanted: ModelInputs) -> Dynamics:
    """Dynamics of the requested model, with the kernels that a page needs.

    Raises:
        AdaError: the description is invalid or does not match the received state.
    """
    bases = tuple(BASES) if wanted.base == AUTO else (wanted.base,)
    models: list[Model] = []
    for base in bases:
        model = load(wanted.text, cast("Base", base), wanted.gravity)
        models.append(model)
        if wanted.sizes in (None, (model.nq, model.nv)):
            return _compiled(model)
    sizes = ", ".join(f"{base}: {(m.nq, m.nv)}" for base, m in zip(bases, models, strict=True))
    raise ModelError(
        f"received state has {wanted.sizes} positions and velocities, its description has {sizes}. "
        "Check for two publishing nodes and the parameter `base` of this node."
    )


def _compiled(model: Model) -> Dynamics:
    """Compile all kernels that a page uses, to avoid delays later."""
    dynamics = Dynamics(model)
    q = model.neutral()
    dynamics.forward_kinematics(q)
    dynamics.energy(q, np.zeros(model.nv))
    dynamics.com(q)
    return dynamics


def _raise(failure: BaseException) -> None:
    raise failure
