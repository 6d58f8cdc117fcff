# SPDX-License-Identifier: Apache-2.0
"""Filter of measured states: refuses late, invalid and outdated states, and detects discontinuities."""

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
from ada_robot.limits import CLOCKS, LATE

_ROUNDED = 1.0 + 1e-9  # tolerance for rounded differences of stamps


class ReceivedState(NamedTuple):
    """Received state.

    Attributes:
        state: measured state.
        stamp: time of the measurement on the publisher's clock [s], used by the controller.
        age: age at reception on that clock [s]; negative if the publisher's clock is ahead.
        effort: motor efforts, (nv,) [N m, N]; NaN if unknown.
    """

    state: State
    stamp: float
    age: float = 0.0
    effort: Array | None = None


class StateKind(Enum):
    """Result of the check of a state."""

    NEW = "new"
    REPEATED = "again"  # repeated state: the publisher is alive
    DISCONTINUOUS = "begins"  # discontinuous: robot moved by others, clock set back, or gap in time
    REFUSED = "refused"


class StateFilter:
    """Checks consecutive states.

    Attributes:
        latest: latest accepted state.
        latest_at: time of its reception on the steady clock [s].
        reason: category of the last refusal.
        text: message of the last refusal.
        break_text: description of the discontinuity, if the last result was `DISCONTINUOUS`.
    """

    def __init__(self, model: Model) -> None:
        """Args: robot model."""
        self.latest: ReceivedState | None = None
        self.latest_at = -math.inf
        self.reason = self.text = self.break_text = ""
        single = [name for name in model.joint_names if model.joints[name].nq == model.joints[name].nv == 1]
        self._single = single
        self._q = np.array([model.q_index(name).start for name in single], dtype=np.intp)
        self._v = np.array([model.v_index(name).start for name in single], dtype=np.intp)

    def judge(
        self, controller: Controller[Any], measured: ReceivedState, time: float, timeout: float, jump: float, gap: float
    ) -> StateKind:
        """Check a state, and store it unless it is refused.

        Args:
            controller: controller of the robot.
            measured: received state.
            time: present time on the steady clock [s].
            timeout: maximum age [s].
            jump: maximum change of a position that is not explained by its velocity [rad, m]; 0 for any.
            gap: maximum time between two states, by their stamps [s]; 0 for any.
        """
        state, stamp, age, _ = measured
        if not math.isfinite(stamp):
            return self._refuse("not finite", f"the stamp of the state is {stamp}; it must be finite.")
        if age < -timeout:
            return self._refuse(
                "from the future",
                f"the stamp of the state is {-age:.6g} s ahead of this clock; the maximum is {timeout:.6g} s "
                f"(state_timeout). {CLOCKS}",
            )
        if not age <= timeout:
            return self._refuse(
                "late",
                f"the state is {age:.6g} s old; the maximum age is {timeout:.6g} s (state_timeout). {LATE}",
            )
        try:
            controller.check_state(state)
        except StateRefused as problem:
            return self._refuse("not possible", str(problem))
        before = self.latest
        kind = StateKind.NEW
        if before is not None and stamp == before.stamp:
            kind = StateKind.REPEATED
        elif before is not None and stamp < before.stamp:
            back = before.stamp - stamp
            if back <= timeout:
                return self._refuse(
                    "backward in time",
                    f"the state is {back:.6g} s older than the previous one: it was late, or two nodes publish states.",
                )
            kind = self._discontinuous(f"the clock of the states was set back by {back:.3g} s")
        elif before is not None and gap and stamp - before.stamp > gap * _ROUNDED:
            kind = self._discontinuous(f"no states for {stamp - before.stamp:.3g} s, max_gap is {gap:g} s")
        elif before is not None and jump and self._jumped(before, measured, jump):
            kind = self._discontinuous(f"a position jumped by more than max_position_jump, {jump:g} [rad, m]")
        self.latest_at = time
        if kind is not StateKind.REPEATED:
            self.latest = measured
        return kind

    def _refuse(self, reason: str, text: str) -> StateKind:
        self.reason, self.text = reason, text
        return StateKind.REFUSED

    def _discontinuous(self, text: str) -> StateKind:
        self.break_text = text
        return StateKind.DISCONTINUOUS

    def _jumped(self, before: ReceivedState, now: ReceivedState, jump: float) -> bool:
        """Return True if a joint has moved farther than its velocity explains."""
        way = np.abs(now.state.q[self._q] - before.state.q[self._q])
        speed = np.maximum(np.abs(before.state.v[self._v]), np.abs(now.state.v[self._v]))
        return bool(np.any(way > jump + 2.0 * speed * (now.stamp - before.stamp)))
