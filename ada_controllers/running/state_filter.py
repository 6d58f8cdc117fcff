# SPDX-License-Identifier: Apache-2.0
"""Measured states: read from joint states by name, refused if late or invalid, checked for discontinuities; no ROS."""

from __future__ import annotations

import math
from enum import Enum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ada_controllers.controller import Controller
from ada_controllers.state import State, StateRefused
from ada_dynamics.arrays import Array
from ada_dynamics.clock import SYSTEM_CLOCK, Clock
from ada_dynamics.errors import InputError
from ada_dynamics.model.model import Model
from ada_robot.limits import CLOCKS, LATE
from ada_robot.node.loop_states import LoopStates, LoopStateSettings

_ROUNDED = 1.0 + 1e-9  # tolerance for rounded differences of stamps


class ReceivedState(NamedTuple):
    """Received state.

    Attributes:
        state: measured state.
        stamp: time of the measurement on the publisher's clock [s], used by the controller.
        age: age at reception on that clock [s]; negative if the publisher's clock is ahead.
        effort: motor efforts, (nv,) [N m, N]; NaN if unknown.
        problem: reason why the message could not be read; "" if it was.
    """

    state: State
    stamp: float
    age: float = 0.0
    effort: Array | None = None
    problem: str = ""


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
        """Start without a state of the robot."""
        self.latest: ReceivedState | None = None
        self.latest_at = -math.inf
        self.reason = self.text = self.break_text = ""
        single = [name for name in model.joint_names if model.joints[name].nq == model.joints[name].nv == 1]
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
        state, stamp, age, _, problem = measured
        if problem:
            return self._refuse("not whole", problem)
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
        except StateRefused as refused:
            return self._refuse("not possible", str(refused))
        before = self.latest
        kind = StateKind.NEW
        if before is not None and stamp == before.stamp:
            kind = StateKind.REPEATED
        elif before is not None and stamp < before.stamp:
            back = before.stamp - stamp
            if back <= (min(timeout, gap) if gap else timeout):
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


class JointStateReader:
    """Reads sensor_msgs/JointState messages that contain all joints of a model, in any order.

    If the model has loops and joints with several positions, such as ball joints, these follow from loop closure.
    """

    def __init__(self, model: Model, clock: Clock = SYSTEM_CLOCK) -> None:
        """Set the joints.

        Args:
            model: robot model.
            clock: steady clock.

        Raises:
            AdaError: if a joint with several positions does not follow from the others by loop closure.
        """
        self._names, self._clock = model.joint_names, clock
        other = [name for name in self._names if model.joints[name].nq != 1 or model.joints[name].nv != 1]
        is_closed = bool(model.loops) and model.floating_joint is None
        self._loops = LoopStates(model, None, LoopStateSettings()) if other and is_closed else None
        if other and not is_closed:
            raise InputError(
                f"joint {other[0]!r} of {model.name!r} has several positions, which joint_states cannot represent. Use "
                "the exact state (state_source: state), or base: fixed for a fixed robot.",
                joint=other[0],
            )
        self._given: list[str] = []
        self._order: NDArray[np.intp] = np.zeros(0, dtype=np.intp)

    def read(self, message: Any) -> tuple[Array, Array, Array | None]:
        """Return positions, velocities and, if available, efforts of the model's joints.

        Raises:
            AdaError: if joints or values are missing, or the loops cannot be closed with them.
        """
        names, position, velocity, effort = message.name, message.position, message.velocity, message.effort
        if self._loops is not None:
            state = self._loops.complete(self._clock.now(), names, position, velocity, effort)
            if state is None or np.isnan(state.v).any():
                raise InputError("joint state without joints of the robot, or without velocities.", field="velocity")
            return state.q, state.v, state.tau
        if names != self._given:
            self._order = self._order_of(names)
            self._given = list(names)
        count = len(names)
        given = {"position": position, "velocity": velocity, **({"effort": effort} if len(effort) else {})}
        for field, values in given.items():
            if len(values) != count:
                text = f"joint state with {count} names has {len(values)} values in {field}; one per name is needed."
                raise InputError(text, field=field, value=len(values), allowed=count)
        order = self._order
        return (
            np.array(position)[order],
            np.array(velocity)[order],
            np.array(effort)[order] if len(effort) else None,
        )

    def _order_of(self, names: list[str]) -> NDArray[np.intp]:
        place = {name: i for i, name in enumerate(names)}
        if len(place) != len(names):
            raise InputError("duplicate joint names; name each joint once.", field="name", value=names)
        missing = [name for name in self._names if name not in place]
        if missing:
            text = f"missing joints {', '.join(missing)}; one message must contain all joints of the model."
            raise InputError(text, field="name", joint=missing[0], value=missing)
        return np.array([place[name] for name in self._names], dtype=np.intp)
