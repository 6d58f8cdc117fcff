# SPDX-License-Identifier: Apache-2.0
"""Display and controls of one moving robot.

The robot is moved by its source: a simulation in this process (live.py), or a ROS node. A simulation can be paused,
reset, slowed down and pushed. A device, real or emulated, can only be moved by the panel of its node and by a
controller, whose target is shown here.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import AdaError
from ada_dynamics.simulation.scene import floats
from ada_tools.browser.drag_forces import DragForces
from ada_tools.browser.marks_layer import MarksPanel
from ada_tools.browser.overlays import Overlays
from ada_tools.browser.page import Page, TextBox
from ada_tools.browser.plots import Signal, SignalPlot
from ada_tools.browser.posing import Posing
from ada_tools.browser.robot_node import (
    Follower,
    Moment,
    Observation,
    ObservedMotion,
    ObservedState,
    Positions,
    RobotSource,
    fits,
    pose_of,
)
from ada_tools.browser.scene import Scene
from ada_tools.browser.sliders import MotorSliders, PoseSliders, motors_of
from ada_tools.browser.target_gizmo import TargetGizmo

Sliders = Literal["none", "commands", "poses"]

PLAY, STEP, RESET = "▶ ❚❚", "▶|", "↺"
KEYS = ("space", "arrowright", "backspace")
SPEEDS = ("0.05", "0.1", "0.25", "0.5", "1", "2", "4")
LOST = 1.5  # [s] timeout of state messages
# [s] minimum time between frames; browsers without a GPU need more
DRAWN = float(os.environ.get("ADA_DRAWING_PERIOD") or 0.0)
_BELIEVED = 1.0  # [s] a reply of the source overrides the observed time for this long
_IDLE = 0.25  # [s] time between frames of a robot at rest, or of a page that is not open
_FOLLOWED = 1.0  # [s] time for the robot to follow its sliders before they display its configuration again
_PLOTS_PER_SECOND = 10.0
_ROOM = 0.2  # margin of the camera view, in robot sizes
_FRAMED = 20  # configurations of a recording that are visible initially
_STATUS_LINES = 3  # includes the messages of a lost or incomplete state


class RobotPage:
    """Controls and plots of a moving robot.

    Attributes:
        seen: latest received state; None before the first.
        is_playing: whether the motion is running.
        pushes: forces of the mouse; None if the robot cannot be pushed.
        commands: sliders that command motors, or None.
        pose_sliders: sliders that set the configuration, or None.
        targets: sliders for the joint targets of a controller, or None.
        gizmo: handles for the target pose of a controller, or None.
        plot: plot of a signal that the user chooses.
    """

    def __init__(
        self,
        page: Page,
        source: RobotSource,
        dynamics: Dynamics,
        *,
        ground: float | None = None,
        is_simulated: bool = True,
        sliders: Sliders = "none",
        has_com: bool = False,
        follower: Follower | None = None,
        recorded: Sequence[Moment] = (),
    ) -> None:
        """Draw the robot.

        Args:
            page: page to draw on.
            source: source of the motion.
            dynamics: dynamics of the robot model.
            ground: height of the grid [m].
            is_simulated: False for a device.
            sliders: function of the sliders of a simulation.
            has_com: mark the centre of mass initially.
            follower: controller that moves the robot, if any.
            recorded: states of a recording, which cannot be pushed.
        """
        self.page, self.source, self.follower, self._recorded = page, source, follower, recorded
        self.model, self.is_simulated = dynamics.model, is_simulated
        self.motion = ObservedMotion()
        self.seen: Observation | None = None
        self.now = Moment(0.0, self.model.neutral())
        self.is_playing = False
        self._began: float | None = None  # [s] time stamp of the first state of a device
        self._partly = ""  # message about joints without data
        self._posed_at = self._answered_at = self._drawn_at = self._plotted_at = -np.inf
        self._answer = self._is_closed = False
        self._begin(dynamics)
        self.scene = Scene(page.server, self.model, dynamics, ground)
        step = max(1, len(recorded) // _FRAMED)
        several = [moment.q for moment in recorded[::step]] or [self.now.q]
        self.scene.frame(several, margin=0.0 if recorded else _ROOM * self.scene.size)
        self._add_controls(page.gui, sliders, has_com)
        self.show()

    def _begin(self, dynamics: Dynamics) -> None:
        """Read the present state; without one, use the neutral configuration."""
        seen = self._newest()
        if seen is None:
            return
        self._read(seen)
        try:
            dynamics.forward_kinematics(self.now.q)
        except AdaError:
            self.now = Moment(0.0, self.model.neutral())
        else:
            self.seen = seen

    # --- controls -----------------------------------------------------------------------------------------------
    def _add_controls(self, gui: Any, sliders: Sliders, has_com: bool) -> None:
        page, model = self.page, self.model
        self.status = TextBox(gui, _STATUS_LINES)
        if self.is_simulated:
            self._add_buttons(gui)
        with gui.add_folder("plot"):
            self.plot = SignalPlot(page, self._signals(), self._recorded)
        self.overlays = Overlays(page, self.scene, self.show, has_com=has_com, follows=floats(model))
        can_be_pushed = self.is_simulated and not self._recorded
        self.pushes = DragForces(page, self.scene, self.source) if can_be_pushed else None
        self.marks = MarksPanel(page, self.source)
        self.gizmo: TargetGizmo | None = None
        self.targets: MotorSliders | None = None
        self._sent: Mapping[str, float] | None = None  # joint targets sent to the controller
        if self.follower is not None:
            self.gizmo = TargetGizmo(page, self.follower, self.scene.size)
            self.targets = MotorSliders(page, "joint targets", motors_of(model), self._follow, "send targets")
            self.targets.offer(False)
        self.commands: MotorSliders | None = None
        if self.is_simulated and sliders == "commands":
            self.commands = MotorSliders(page, "joint commands", motors_of(model), self.source.command, "command")
        is_posed = self.is_simulated and sliders == "poses"
        self.pose_sliders = self._posing_sliders(gui) if is_posed else None

    def _add_buttons(self, gui: Any) -> None:
        actions = {PLAY: self.toggle, STEP: self.one_step, RESET: self.reset}
        self.buttons = self.page.add_row("motion", actions)
        for label, key, action in zip(("play or pause", "one step", "reset"), KEYS, actions.values(), strict=True):
            self.page.add_key(label, key, action)
        factor = self.source.parameters.get("real_time_factor")
        name = f"{factor:g}" if isinstance(factor, float) else ""
        self.speed = gui.add_dropdown("speed", SPEEDS, initial_value=name if name in SPEEDS else "1")
        self.page.when(self.speed, self.set_speed)

    def _posing_sliders(self, gui: Any) -> PoseSliders | None:
        try:
            posing = Posing(self.model, self.now.q)
        except AdaError as problem:
            gui.add_markdown(f"no sliders: {problem}")
            return None
        # messages have one number per joint
        return PoseSliders(self.page, posing, self._posed, lambda one: self.model.joints[one.joint].nq == 1)

    def _signals(self) -> dict[str, Signal]:
        """Quantities for the plot."""
        dynamics = self.scene.dynamics
        names = [n for n in self.model.joint_names if self.model.joints[n].nq == 1]
        rows = [self.model.q_index(n).start for n in names]
        speeds = [self.model.v_index(n).start for n in names]

        def energy(moment: Moment) -> list[float] | None:
            if moment.v is None:
                return None
            kinetic, potential = (float(e) for e in dynamics.energy(moment.q, moment.v))
            return [kinetic, potential, kinetic + potential]

        def picked(field: str, places: list[int]) -> Signal:
            def values(moment: Moment) -> list[float] | None:
                found = getattr(moment, field)
                return None if found is None else [float(found[i]) for i in places]

            return Signal(names, values)

        def loads(part: slice) -> Signal:
            def values(moment: Moment) -> list[float] | None:
                found = self.source.loads(moment.t)
                return None if found is None else [float(np.linalg.norm(w[part])) for w in found.values()]

            return Signal(self.source.loaded, values)

        signals = {"energy [J]": Signal(("kinetic", "potential", "total"), energy)}
        if names:
            signals["joint positions [rad, m]"] = picked("q", rows)
            signals["joint velocities [rad/s, m/s]"] = picked("v", speeds)
            signals["joint torques [N m, N]"] = picked("tau", speeds)
        if self.source.loaded:
            signals["joint forces [N]"] = loads(slice(0, 3))
            signals["joint moments [N m]"] = loads(slice(3, 6))
        return signals

    # --- state --------------------------------------------------------------------------------------------------
    def tick(self) -> None:
        """Per-frame update."""
        now = self.page.clock.now()
        if self.pushes:
            self.pushes.tick()
        seen = self._newest()
        is_new = seen is not None and seen is not self.seen
        if is_new and seen is not None:
            self.seen = seen
            self.motion.look(seen)
            is_new = self._read(seen)
        for moment in self.source.passed():
            self.plot.add(moment)
        lost = self.is_lost
        self.is_playing = not lost and self._is_running(now)
        self._tick_sliders(lost)
        if self.pose_sliders and now - self._posed_at > _FOLLOWED:
            self.pose_sliders.posing.q = self.now.q.copy()
        since = now - self._drawn_at
        if (is_new and self.page.is_looked_at and since >= DRAWN) or since > max(_IDLE, DRAWN):
            self.show()
        self.marks.tick()
        if self.gizmo:
            self.gizmo.tick(self.scene.poses)

    def _newest(self) -> Observation | None:
        """Latest state; None if it belongs to another robot."""
        seen = self.source.newest()
        return seen if seen is None or fits(seen, self.model) else None

    def _is_running(self, now: float) -> bool:
        known = self.source.is_running
        if known is not None:
            return known
        return self._answer if now - self._answered_at < _BELIEVED else self.motion.is_running

    def _tick_sliders(self, lost: bool) -> None:
        """Update the joint sliders; they are hidden while a controller is available."""
        if self.commands and lost:
            self.commands.end(f"{self.source.name} sends no state")
        elif self.commands:
            self.commands.offer(self.follower is None or not self.follower.is_there)
            self._tick_motors(self.commands)
        if self.targets and self.follower:
            self.targets.offer(self.follower.target_joints() is not None)
            self._tick_motors(self.targets)

    def _tick_motors(self, sliders: MotorSliders) -> None:
        places = [self.model.q_index(motor.name).start for motor in sliders.motors]
        sliders.tick(self.now.q[places])

    def _follow(self, positions: Positions | None) -> None:
        """Send changed joint targets to the controller; joints without a new position keep their last target."""
        targets = self.follower.target_joints() if self.follower else None
        if self.follower is None or positions is None or targets is None:
            self._sent = None
            return
        actuated = self.model.actuated
        wanted = {name: positions.get(name, target) for name, target in targets.items() if name in actuated}
        if wanted != self._sent:
            self.follower.follow_joints(wanted)
            self._sent = wanted

    def _read(self, seen: Observation) -> bool:
        """Take over a received state; return True if it differs from the last one."""
        before = self.now
        if isinstance(seen, ObservedState):
            self.now, self._partly = Moment(seen.t, seen.q, seen.v, seen.tau), ""
        else:
            q, v, missing, foreign = pose_of(self.model, seen, before.q)
            self.now, self._partly = Moment(seen.t, q, v), _unshown(missing, foreign)
        return self.now.t != before.t or not np.array_equal(self.now.q, before.q)

    @property
    def is_lost(self) -> bool:
        """Return True if no state arrived within the timeout."""
        return self.seen is None or self.page.clock.now() - self.seen.arrived > LOST

    # --- display ------------------------------------------------------------------------------------------------
    def show(self) -> None:
        """Update the scene, status and plots to the present state."""
        if self._is_closed:
            return
        self._drawn_at = self.page.clock.now()
        t = self.now.t
        if not self.is_simulated:  # time stamps of devices count from 1970
            if self._began is None and self.seen is not None:
                self._began = t
            t -= self._began or t
        try:
            self._draw(t)
        except AdaError as problem:
            self.status.content = f"**A state of {self.source.name} cannot be displayed:** {problem}"
        if self.pose_sliders:
            with self.page.server.atomic():
                self.pose_sliders.show()

    def _draw(self, t: float) -> None:
        with self.page.server.atomic():
            self.scene.show(self.now.q, self.pushes.arrows if self.pushes else ())
            self.overlays.show(self.now.q)
        self.plot.add(self.now._replace(t=t))
        now = self.page.clock.now()
        if self.is_playing and now < self._plotted_at + 1.0 / _PLOTS_PER_SECOND:
            return
        self._plotted_at = now
        remark, words = self._remark(), f"t = **{t:.3f}** s{self._pace()}{self._quantities()}"
        with self.page.server.atomic():
            self.status.content = f"{remark}\n\n{words}" if remark else words
            self.plot.plot.draw()

    def _remark(self) -> str:
        """Message shown above the status line."""
        name = self.source.name
        if self.seen is None:
            return f"**{name} has sent no state yet.**"
        if self.is_lost:
            age = self.page.clock.now() - self.seen.arrived
            return f"**{name} has sent no state for {age:.0f} s;** its last state is shown."
        return self._partly

    def _pace(self) -> str:
        if self.is_lost:
            return ", stopped"
        if not self.is_playing:
            return ", paused"
        return f", **{self.motion.factor:.2f}** x real time"

    def _quantities(self) -> str:
        """Energy, if velocities are known, and the largest closure error."""
        energy = ""
        if self.now.v is not None:
            energy = f", energy {sum(float(e) for e in self.scene.dynamics.energy(self.now.q, self.now.v)):.6g} J"
        gap = f", closure error {self.scene.gap:.1e} [m, rad]" if self.model.loops else ""
        return energy + gap

    # --- requests -----------------------------------------------------------------------------------------------
    def toggle(self) -> None:
        """Toggle play and pause."""
        is_paused = self.is_playing
        self.source.ask("pause" if is_paused else "resume", lambda problem: self._paused(is_paused, problem))

    def one_step(self) -> None:
        """Pause and take one step."""
        if not self.is_playing:
            self.source.ask("step", self._say)
            return

        def then(problem: str | None) -> None:
            self._paused(True, problem)
            if problem is None:
                self.source.ask("step", self._say)

        self.source.ask("pause", then)

    def reset(self) -> None:
        """Restart from the initial state."""
        self.source.ask("reset", self._say)

    def set_speed(self) -> None:
        """Apply the selected speed."""
        self.source.set_speed(float(self.speed.value), self._say)

    def _say(self, problem: str | None) -> None:
        if problem is not None:
            self.page.say(problem)

    def _paused(self, is_paused: bool, problem: str | None) -> None:
        self._say(problem)
        if problem is None:
            self._answered_at, self._answer = self.page.clock.now(), not is_paused
            self.motion.forget()
            self.is_playing = not is_paused
            self.show()

    def _posed(self, remark: str) -> None:
        """Send the configuration set by a slider to the source."""
        assert self.pose_sliders is not None
        if remark:
            self.page.say(remark.replace("**", ""))
        q = self.pose_sliders.posing.q
        names = [n for n in self.model.joint_names if self.model.joints[n].nq == 1]
        self._posed_at = self.page.clock.now()
        self.source.set_state({n: float(q[self.model.q_index(n).start]) for n in names})
        self.pose_sliders.show()

    def close(self) -> None:
        """Remove the robot and its controls from the page."""
        self._is_closed = True
        self.source.command(None)
        self.marks.close()
        if self.gizmo:
            self.gizmo.remove()
        self.page.clear()
        self.overlays.remove()
        self.scene.remove()


def _unshown(missing: tuple[str, ...], foreign: tuple[str, ...]) -> str:
    """Message about joints without data, and about received joints that the model does not have."""
    texts = [f"No data for joints {', '.join(missing)}; they are shown at their last positions."] if missing else []
    return " ".join([*texts, *([f"Unknown joints: {', '.join(foreign)}."] if foreign else [])])
