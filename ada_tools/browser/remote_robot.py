# SPDX-License-Identifier: Apache-2.0
"""One robot that moves elsewhere: what is seen of it, and the controls by which it is asked to do something.

A simulation can be paused, set back to its start, slowed down and pushed. A device, real or emulated, cannot: it is
moved by the panel of its node alone, and by a controller whose target is here.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import AdaError
from ada_dynamics.model.description import ROOT_JOINT
from ada_dynamics.model.model import Model
from ada_tools.browser.command_sliders import CommandSliders, JointTargets
from ada_tools.browser.follower import Follower
from ada_tools.browser.ghost import Ghost
from ada_tools.browser.grabs import Pull
from ada_tools.browser.marks_layer import MarksPanel
from ada_tools.browser.motion_page import PUSH, SPEEDS, MotionPage
from ada_tools.browser.page import Page
from ada_tools.browser.pose_sliders import PoseSliders
from ada_tools.browser.posing import Knob, Posing
from ada_tools.browser.robot_node import RobotNode
from ada_tools.browser.seen import Seen, SeenMotion, SeenState, pose_of
from ada_tools.browser.target_gizmo import TargetGizmo

LOST = 1.5  # [s] without a state, after which the plant counts as gone
_BELIEVED = 1.0  # [s] that an answer of the plant counts more than what is seen of its time
DRAWN = 0.0  # [s] between drawings, at least; browsers without a GPU want more
_IDLE = 0.25  # [s] between drawings of a robot that stands still, or that nobody looks at
_FOLLOWED = 1.0  # [s] that the robot has to follow its sliders, before these follow the robot


class RemoteRobotPage(MotionPage):
    """Controls and plots beside a robot that moves elsewhere."""

    status_lines = 5  # it may be gone, or seen in parts

    def __init__(
        self,
        page: Page,
        plant: RobotNode,
        dynamics: Dynamics,
        seen: Seen | None,
        has_pose_sliders: bool = False,
        follower: Follower | None = None,
        *,
        is_simulated: bool = True,
    ) -> None:
        """Draw the robot.

        Args:
            page: to draw on.
            plant: that moves it.
            dynamics: of its model.
            seen: of its state, if anything was.
            has_pose_sliders: sliders that put the robot into a pose, rather than command its motors.
            follower: the controller that moves it, if there may be one.
            is_simulated: False: it is a device.
        """
        model = dynamics.model
        self._began: float | None = None  # [s] time of the first reading of a device
        self.plant, self.seen, self.follower = plant, seen, follower
        self.motion = SeenMotion()
        self.commands: CommandSliders | None = None
        self.targets: JointTargets | None = None
        self.gizmo: TargetGizmo | None = None
        self.pose_sliders: PoseSliders | None = None
        self.t, self.q = 0.0, model.neutral()
        self.v: Array | None = None
        self._partly = ""  # what of the robot is not seen
        self._has_pose_sliders = has_pose_sliders
        self._posed_at = self._answered_at = self._drawn_at = -np.inf
        self._answer = self._is_closed = False
        self._pulled: str | None = None
        if seen is not None:
            self._begin(dynamics, seen)
        super().__init__(page, model, self.q, dynamics, 0.0 if _floats(model) else None, is_simulated=is_simulated)
        self.ghost = None if is_simulated else Ghost(page, self.scene)
        if is_simulated:
            self._show_speed()
        self.show()

    # --- what is seen -------------------------------------------------------------------------------------------
    def _begin(self, dynamics: Dynamics, seen: Seen) -> None:
        """Begin at a state; at the neutral pose where it is none."""
        self._read(dynamics.model, seen)
        try:
            dynamics.poses(self.q)
        except AdaError:
            self.seen, self.q, self.v = None, dynamics.model.neutral(), None

    def tick(self, seen: Seen | None) -> None:
        """Once a frame.

        Args:
            seen: the newest state, if there is any.
        """
        now = time.monotonic()
        is_new = seen is not None and seen is not self.seen
        if is_new and seen is not None:
            self.seen = seen
            self.motion.look(seen)
            is_new = self._read(self.model, seen)
        lost = self.is_lost
        believed = now - self._answered_at < _BELIEVED
        self.is_playing = not lost and (self._answer if believed else self.motion.is_going_on)
        if self._pull is not None:
            self._pull_on(PUSH)
        self._tick_sliders(lost)
        if self.pose_sliders and now - self._posed_at > _FOLLOWED:
            self.pose_sliders.posing.q = self.q.copy()
        since = now - self._drawn_at
        if (is_new and self.page.is_looked_at and since >= DRAWN) or since > max(_IDLE, DRAWN):
            self.show()
        self.marks.tick()
        if self.gizmo:
            self.gizmo.tick(self.scene.poses)

    def _tick_sliders(self, lost: bool) -> None:
        """Joints are told where to go by a controller, where there is one."""
        if self.commands and lost:
            self.commands.end(f"{self.plant.name} sends no state")
        elif self.commands:
            self.commands.offer(self.follower is None or not self.follower.is_there)
            self.commands.tick(self.q)
        if self.targets:
            self.targets.tick(self.q)

    def _read(self, model: Model, seen: Seen) -> bool:
        """Take a state over; whether it differs from the last one."""
        before = self.t, self.q
        if isinstance(seen, SeenState):
            q, self.v, self._partly = seen.q, seen.v, ""
        else:
            q, self.v, missing, foreign = pose_of(model, seen, self.q)
            self._partly = _what_is_not_seen(missing, foreign)
        self.t, self.q = seen.t, q
        return self.t != before[0] or not np.array_equal(q, before[1])

    @property
    def is_lost(self) -> bool:
        """True if no state arrived for a while."""
        return self.seen is None or time.monotonic() - self.seen.arrived > LOST

    def show(self) -> None:
        """Show the present state, everywhere."""
        if self._is_closed:
            return
        self._drawn_at = time.monotonic()
        self.remark = self._remark()
        pace = ", paused"
        if self.is_playing:
            pace = f", **{self.motion.factor:.2f}** x real time, {self.plant.rate():.0f} states/s"
        t = self.t
        if not self.is_simulated:  # stamps of devices are seconds since 1970
            if self._began is None and self.seen is not None:
                self._began = t
            t -= self._began or t
        try:
            self._draw(t, self.q, self.v, ", stopped" if self.is_lost else pace)
        except AdaError as problem:
            self.status.content = f"**A state of {self.plant.name} cannot be drawn:** {problem}"
        if self.pose_sliders:
            with self.page.server.atomic():
                self.pose_sliders.show()

    def _remark(self) -> str:
        if self.seen is None:
            return f"**{self.plant.name} has sent no state yet.**"
        if self.is_lost:
            age = time.monotonic() - self.seen.arrived
            return f"**{self.plant.name} has sent nothing for {age:.0f} s.** This is its last state; waiting for it."
        return self._partly

    # --- what is asked for --------------------------------------------------------------------------------------
    def toggle(self) -> None:
        """Play or pause."""
        is_paused = self.is_playing
        self.plant.pause(is_paused, lambda problem: self._paused(is_paused, problem))

    def one_step(self) -> None:
        """Pause, and take one step."""
        if not self.is_playing:
            self.plant.step(self._said)
            return

        def then(problem: str | None) -> None:
            self._paused(True, problem)
            if problem is None:
                self.plant.step(self._said)

        self.plant.pause(True, then)

    def reset(self) -> None:
        """Back to the start."""
        self.plant.reset(self._said)

    def _set_speed(self) -> None:
        self.plant.set_speed(float(self.speed.value), self._said)

    def _show_speed(self) -> None:
        factor = self.plant.parameters().get("real_time_factor")
        name = f"{factor:g}" if isinstance(factor, float) else ""
        if name in SPEEDS:
            self.speed.value = name

    def _said(self, problem: str | None) -> None:
        if problem is not None:
            self.page.say(problem)

    def _paused(self, is_paused: bool, problem: str | None) -> None:
        self._said(problem)
        if problem is None:
            self._answered_at, self._answer = time.monotonic(), not is_paused
            self.motion.forget()
            self.is_playing = not is_paused
            self.show()

    def _apply(self, link: str, wrench: Array, duration: float) -> None:
        R = self.scene.poses[link][:3, :3]
        self.plant.push(link, np.concatenate([R.T @ wrench[:3], R.T @ wrench[3:]]))

    def _set_pull(self, pull: Pull) -> None:
        super()._set_pull(pull)
        if self._pull is not None:
            self._pulled = pull.link
            return
        last, self._pulled = self._pulled, None
        if last is not None and not self._is_pull_refused:  # the last pull would act a little longer
            self.plant.push(last, np.zeros(6))

    # --- controls -----------------------------------------------------------------------------------------------
    def _add_own(self, gui: Any) -> None:
        self.com.value = self.is_simulated
        self.marks = MarksPanel(self.page, self.plant)
        if self.follower is not None:
            self.gizmo = TargetGizmo(self.page, self.follower, self.scene.size)
            self.targets = JointTargets(self.page, self.model, self.follower)
        if not self.is_simulated:
            return
        if not self._has_pose_sliders:
            self.commands = CommandSliders(self.page, self.model, self.plant.command)
            return
        try:
            posing = Posing(self.model, self.q, self.scene.dynamics)
        except AdaError as problem:
            gui.add_markdown(f"no sliders: {problem}")
            return
        self.pose_sliders = PoseSliders(self.page, posing, self._posed, self._can_be_sent)

    def _can_be_sent(self, knob: Knob) -> bool:
        """A message has one number per joint."""
        return self.model.joints[knob.joint].nq == 1

    def _posed(self, remark: str) -> None:
        """A slider was moved: the robot is asked to go there."""
        assert self.pose_sliders is not None
        if remark:
            self.page.say(remark.replace("**", ""))
        q = self.pose_sliders.posing.q
        names = [n for n in self.model.joint_names if self.model.joints[n].nq == 1]
        self._posed_at = time.monotonic()
        self.plant.set_state({n: float(q[self.model.q_index(n).start]) for n in names})
        self.pose_sliders.show()

    def close(self) -> None:
        """Take everything of this robot off the page."""
        self._is_closed = True
        self.plant.command(None)
        self.marks.close()
        if self.gizmo:
            self.gizmo.remove()
        if self.ghost:
            self.ghost.remove()
        self.page.clear()
        self.scene.remove()


def _floats(model: Model) -> bool:
    return ROOT_JOINT in model.joints and model.joints[ROOT_JOINT].type.leaves_free()


def _what_is_not_seen(missing: tuple[str, ...], foreign: tuple[str, ...]) -> str:
    texts = []
    if missing:
        texts.append(f"Not seen: joints {_some(missing)}; they are drawn where they were.")
    if foreign:
        texts.append(f"No joints of this robot: {_some(foreign)}.")
    return " ".join(texts)


def _some(names: tuple[str, ...]) -> str:
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
