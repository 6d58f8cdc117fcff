# SPDX-License-Identifier: Apache-2.0
"""Filter of measured states: drops those that are late, impossible, or older than the last one."""

from __future__ import annotations

import math
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from ada_controllers.controller import Controller
from ada_controllers.errors import StateRefused
from ada_controllers.state import State
from ada_dynamics.arrays import Array
from ada_dynamics.model.model import Model
from ada_robot.command.lateness import CLOCKS, Lateness

_ROUNDED = 1.0 + 1e-9  # differences of stamps are rounded


class Measured(NamedTuple):
    """A state as it came.

    Attributes:
        state: what was measured.
        stamp: when, on the clock of who measured [s]: the controller's time.
        age: by that clock when it came [s]; negative where the sender's clock is ahead.
        effort: of the motors, as the model has velocities (nv) [N m, N]; NaN where it is not known.
    """

    state: State
    stamp: float
    age: float = 0.0
    effort: Array | None = None


class Verdict(Enum):
    """Verdict on a state."""

    NEW = "new"
    AGAIN = "again"  # the same state once more: the sender is alive
    BEGINS = "begins"  # robot moved elsewhere, clock set back, gap in time: no continuity with earlier states
    REFUSED = "refused"


class StateWatch:
    """Judges states one after another.

    Attributes:
        latest: the newest one that was not refused.
        latest_at: when that was, on the receiver's steady clock [s].
        reason: of the last refusal, in a word or two.
        text: of the last refusal.
        break_text: why there is no continuity, where the last verdict was `BEGINS`.
    """

    def __init__(self, model: Model) -> None:
        """Args: the robot."""
        self.latest: Measured | None = None
        self.latest_at = -math.inf
        self.reason = self.text = self.break_text = ""
        self._time = -math.inf  # present, on the receiver's steady clock [s]
        self._lateness = Lateness(lambda: self._time)
        single = [name for name in model.joint_names if model.joints[name].nq == model.joints[name].nv == 1]
        self._single = single
        self._q = np.array([model.q_index(name).start for name in single], dtype=np.intp)
        self._v = np.array([model.v_index(name).start for name in single], dtype=np.intp)

    def judge(
        self, controller: Controller[Any], measured: Measured, time: float, timeout: float, jump: float, gap: float
    ) -> Verdict:
        """The verdict on a state; it is the latest one afterwards, unless it is refused.

        Args:
            controller: that shall see it.
            measured: as it came.
            time: present, on the receiver's steady clock [s].
            timeout: greatest age [s].
            jump: greatest change of a position that its velocity does not explain [rad, m]; 0: any.
            gap: longest time from one state to the next, by their stamps [s]; 0: any.
        """
        state, stamp, age, _ = measured
        self._time = time
        if not math.isfinite(stamp):
            return self._refuse("not finite", f"the stamp of the state is {stamp}; it must be finite.")
        self._lateness.note(age, timeout, time)
        if age < -timeout:
            return self._refuse(
                "from the future",
                f"the stamp of the state is {-age:.6g} s ahead of this clock; at most {timeout:.6g} s are allowed "
                f"(state_timeout). {CLOCKS}",
            )
        if not age <= timeout:
            return self._refuse(
                "late",
                f"the state is {age:.6g} s old; at most {timeout:.6g} s are allowed (state_timeout). "
                f"{self._lateness.advice(timeout, time)}",
            )
        try:
            controller.check_state(state)
        except StateRefused as problem:
            return self._refuse("not possible", str(problem))
        before = self.latest
        verdict = Verdict.NEW
        if before is not None and stamp == before.stamp:
            verdict = Verdict.AGAIN
        elif before is not None and stamp < before.stamp:
            back = before.stamp - stamp
            if back <= timeout:
                return self._refuse(
                    "backward in time",
                    f"the state is {back:.6g} s older than the one before it; it came late, or two nodes send states.",
                )
            verdict = self._broken(f"the clock of the states was set back by {back:.3g} s")
        elif before is not None and gap and stamp - before.stamp > gap * _ROUNDED:
            verdict = self._broken(f"there was no state for {stamp - before.stamp:.3g} s, max_gap is {gap:g} s")
        elif before is not None and jump and self._jumped(before, measured, jump):
            verdict = self._broken(f"the robot was put elsewhere, farther than max_position_jump, {jump:g} [rad, m]")
        self.latest_at = time
        if verdict is not Verdict.AGAIN:
            self.latest = measured
        return verdict

    def _refuse(self, reason: str, text: str) -> Verdict:
        self.reason, self.text = reason, text
        return Verdict.REFUSED

    def _broken(self, text: str) -> Verdict:
        self.break_text = text
        return Verdict.BEGINS

    def _jumped(self, before: Measured, now: Measured, jump: float) -> bool:
        """True if a joint is where no motion can have brought it."""
        way = np.abs(now.state.q[self._q] - before.state.q[self._q])
        speed = np.maximum(np.abs(before.state.v[self._v]), np.abs(now.state.v[self._v]))
        return bool(np.any(way > jump + 2.0 * speed * (now.stamp - before.stamp)))
