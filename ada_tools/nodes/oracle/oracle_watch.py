# SPDX-License-Identifier: Apache-2.0
"""State of the oracle node: the robot's description, the newest states, and results of comparisons. No ROS.

One thread brings what arrives and asks for the report, another one compares: what they share are whole objects that
take the place of older ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias, cast

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.clock import SYSTEM_CLOCK
from ada_dynamics.errors import AdaError, InputError
from ada_dynamics.model.description import Base
from ada_dynamics.model.model import Model
from ada_dynamics.robots.load import load
from ada_robot.messages.state_message import StateNumbers
from ada_robot.ros.robot_settings import AUTO
from ada_robot.ros.status import Level, Status
from ada_tools.engines.pinocchio_tree import pinocchio
from ada_tools.nodes.oracle.oracle import Oracle, Verdict, base_of_sizes, is_described_by_joints, state_of_joints
from ada_tools.nodes.oracle.oracle_settings import OracleSettings

PATIENCE = 1.0  # [s] of joint states without whole states, after which the base counts as fixed


JointNumbers: TypeAlias = tuple[Sequence[str], Sequence[float], Sequence[float], Sequence[float]]
"""Numbers of a joint state: names, positions, velocities, efforts."""


class Arrived(NamedTuple):
    """A message that has not been read yet."""

    at: float  # [s], steady clock
    raw: bytes


class OracleWatch:
    """Compares the newest state each time that it is asked to.

    Attributes:
        description: newest text of the robot's description; None before the first one.
        joints: newest joint state.
        state: newest whole state.
        has_states: whether whole states are published.
        model: the robot; None until it is known.
        verdict: newest comparison.
        problem: why nothing can be compared at all; None where something can, or nothing came yet.
    """

    def __init__(
        self,
        settings: Callable[[], OracleSettings],
        read_joints: Callable[[bytes], JointNumbers],
        read_state: Callable[[bytes], StateNumbers],
        clock: Callable[[], float] = SYSTEM_CLOCK,
    ) -> None:
        """Args: present settings; what makes numbers of messages, and raises InputError for unusable ones; clock."""
        self._clock = clock
        self._settings, self._read_joints, self._read_state = settings, read_joints, read_state
        self.description: str | None = None
        self.joints: Arrived | None = None
        self.state: Arrived | None = None
        self.has_states = False
        self.model: Model | None = None
        self.verdict: Verdict | None = None
        self.labels: list[str] = []
        self._text: str | None = None  # of the description in use
        self._fixed: Model | None = None  # the robot on a fixed base
        self._is_guessed = False  # whether the base is fixed for lack of other information
        self._oracle: Oracle | None = None
        self._has_pinocchio: bool | None = None  # None: not looked for yet
        self.problem: str | None = None
        self._first_joints: float | None = None
        self._seen: tuple[Arrived | None, Arrived | None] = (None, None)
        self._compared_at = -math.inf  # [s], steady clock
        self._refusal = ""  # of the newest message; empty where it was good
        self._over: str | None = None  # since the last report
        self.counts = {"compared": 0, "over tolerance": 0, "not comparable": 0, "refused messages": 0}

    # --- in the thread that compares ----------------------------------------------------------------------------
    def compare(self) -> Verdict | None:
        """Compare the newest state; None where there is no new one, or it says too little."""
        if not self._is_ready() or self._seen == (self.joints, self.state):
            return None
        seen = self.joints, self.state
        try:
            state = self._newest()
            self._seen = seen
            verdict = None if state is None else self._judge(*state)
        except AdaError as problem:
            self._seen = seen
            self.counts["refused messages"] += 1
            self._refusal = str(problem)
            return None
        if verdict is not None:
            self._count(verdict)
            self._compared_at = self._clock()
            self.verdict = verdict
        return verdict

    def _is_ready(self) -> bool:
        """Load a description that is new; whether there is one, and an engine to compare with."""
        try:
            if self._has_pinocchio is None:
                self._has_pinocchio = False
                pinocchio()
                self._has_pinocchio = True
            text = self.description
            if text is not self._text and self._has_pinocchio:
                self._text, self.problem, self._fixed = text, None, None
                self._forget()
                self._fixed = self._load("fixed")
        except AdaError as problem:
            self.problem = str(problem)
        return self._fixed is not None

    def _forget(self) -> None:
        self.model = self._oracle = self.verdict = None
        self._seen = (None, None)

    def _load(self, base: str) -> Model:
        text, gravity = self._text or "", self._settings().gravity
        if not text.lstrip().startswith("<"):
            raise InputError(f"the robot's description begins with {text[:40]!r}; it must be the text of a URDF.")
        return load(text, base=cast("Base", base), gravity=gravity or None)

    def _base(self) -> str | None:
        """How the root is held; None where it is not known yet."""
        wanted = self._settings().base
        if wanted != AUTO:
            return wanted
        self._is_guessed = False
        if self.state is not None:
            assert self._fixed is not None
            _, q, v, _ = self._read_state(self.state.raw)
            return base_of_sizes(self._fixed, len(q), len(v))
        if self.joints is None or self.has_states:
            return None
        self._first_joints = self._first_joints or self.joints.at
        self._is_guessed = self.joints.at - self._first_joints > PATIENCE
        return "fixed" if self._is_guessed else None

    def _newest(self) -> tuple[Array, Array, Array] | None:
        """The newest state that is wholly known; None where there is none yet."""
        if self._is_guessed and self.state is not None:
            self._forget()
        if self.model is None:
            base = self._base()
            if base is None:
                return None
            self.model = self._fixed if base == "fixed" else self._load(base)
        assert self.model is not None
        joints, state = self.joints, self.state
        late = self._settings().stale_after
        if joints is not None and is_described_by_joints(self.model) and (state is None or joints.at > state.at - late):
            return self._of_joints(joints.raw)
        return None if state is None else self._of_state(state.raw)

    def _of_joints(self, raw: bytes) -> tuple[Array, Array, Array]:
        assert self.model is not None
        return state_of_joints(self.model, *self._read_joints(raw))

    def _of_state(self, raw: bytes) -> tuple[Array, Array, Array]:
        _, q, v, tau = self._read_state(raw)
        model = self.model
        assert model is not None
        if (len(q), len(v), len(tau)) != (model.nq, model.nv, model.nv):
            self._forget()  # the robot may have started anew with another base
            raise InputError(
                f"a state has {len(q)} positions, {len(v)} velocities and {len(tau)} efforts; model {model.name!r} has "
                f"{model.nq}, {model.nv} and {model.nv}."
            )
        return q, v, tau

    def _judge(self, q: Array, v: Array, tau: Array) -> Verdict:
        if self._oracle is None:
            assert self.model is not None
            self._oracle = Oracle(self.model, q, self._settings().algorithm)
            self.labels = self._oracle.labels
        return self._oracle.compare(q, v, tau)

    def _count(self, verdict: Verdict) -> None:
        self.counts["compared"] += 1
        self._refusal = ""
        if verdict.reason:
            self.counts["not comparable"] += 1
        over = self.over_tolerance(verdict)
        if over:
            self.counts["over tolerance"] += 1
            self._over = over

    def over_tolerance(self, verdict: Verdict) -> str:
        """Differences beyond the tolerances, in words; empty where there are none."""
        settings = self._settings()
        found = []
        for name, one in (("accelerations", verdict.accelerations), ("efforts", verdict.efforts)):
            if one is not None and not one.is_within(settings.absolute_tolerance, settings.relative_tolerance):
                found.append(
                    f"our {name} differ from pinocchio's by {one.absolute:.3g} ({one.relative:.1e} of the largest), "
                    f"most at {one.worst}"
                )
        return "; ".join(found)

    # --- for the report -----------------------------------------------------------------------------------------
    def status(self) -> Status:
        """How the comparisons went since the last report."""
        over, self._over = self._over, None
        level, text = self._level(over)
        return Status(level, text, self._values())

    def _level(self, over: str | None) -> tuple[Level, str]:
        if self.problem is not None:
            return Level.ERROR, self.problem
        if self.description is None:
            return Level.STALE, "no robot's description yet: waiting for robot_description"
        silence = self._silence()
        if silence is not None:
            return Level.STALE, silence
        if over:
            return Level.WARN, over
        if self._refusal:
            return Level.WARN, self._refusal
        verdict = self.verdict
        if verdict is None:
            return Level.STALE, "the first comparison is under way; kernels may have to be compiled for it"
        age, settings = self._clock() - self._compared_at, self._settings()
        if age > settings.stale_after + 1.0 / settings.rate:  # states come again after a silence, or it takes long
            return Level.STALE, f"the newest comparison is {age:.1f} s old; the next one is under way"
        if verdict.reason:
            return Level.WARN, f"not comparable: {verdict.reason}"
        return Level.OK, "both engines agree"

    def _silence(self) -> str | None:
        """The missing messages, in words; None where all arrive."""
        late = self._settings().stale_after
        newest = max((one.at for one in (self.joints, self.state) if one is not None), default=None)
        if newest is None:
            return f"no states yet: waiting for joint_states or {self._settings().state_topic}"
        if self._clock() - newest > late:
            return f"no states for {self._clock() - newest:.1f} s"
        if self.model is not None and self.state is None and not is_described_by_joints(self.model):
            return f"joint_states do not say everything of this robot: waiting for {self._settings().state_topic}"
        return None

    def _values(self) -> dict[str, object]:
        values: dict[str, object] = dict(self.counts)
        verdict = self.verdict
        for name in ("accelerations", "efforts"):
            one = None if verdict is None else getattr(verdict, name)
            if one is not None:
                values[f"{name}: largest difference"] = one.absolute
                values[f"{name}: largest number"] = float(np.max(np.abs(one.theirs), initial=0.0))
                values[f"{name}: joint"] = one.worst
        if self.model is not None:
            values["robot"] = self.model.name
            values["velocities"] = self.model.nv
        return values
