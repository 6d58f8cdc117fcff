# SPDX-License-Identifier: Apache-2.0
"""State of the oracle node: robot description, latest states and comparison results; no ROS.

Messages and reports are handled by one thread, comparisons by another; shared objects are replaced as a whole.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias, cast

import numpy as np

from ada_dynamics.clock import SYSTEM_CLOCK
from ada_dynamics.errors import AdaError, InputError
from ada_dynamics.model.description import Base
from ada_dynamics.model.model import Model
from ada_dynamics.robots.load import load
from ada_robot.messages.incoming import StateNumbers
from ada_robot.ros.robot_settings import AUTO
from ada_robot.ros.status import Level, Status
from ada_tools.engines.pinocchio_tree import pinocchio
from ada_tools.nodes.oracle import Oracle, Verdict, base_of_sizes, is_described_by_joints, state_of_joints
from ada_tools.nodes.settings import OracleSettings

JointNumbers: TypeAlias = tuple[Sequence[str], Sequence[float], Sequence[float], Sequence[float]]
"""Fields of a joint state: names, positions, velocities, efforts."""


class ReceivedMessage(NamedTuple):
    """A serialized message with its arrival time."""

    at: float  # [s], steady clock
    raw: bytes


class StateComparison:
    """Compares the latest state on request.

    Attributes:
        description: latest robot description; None before the first.
        joints: latest joint state.
        state: latest complete state.
        has_states: whether complete states are published.
        model: model of the latest state; None before the first.
        labels: names of its velocity coordinates.
        verdict: latest comparison.
        problem: reason why no comparison is possible; None without one.
    """

    def __init__(
        self,
        settings: Callable[[], OracleSettings],
        read_joints: Callable[[bytes], JointNumbers],
        read_state: Callable[[bytes], StateNumbers],
        clock: Callable[[], float] = SYSTEM_CLOCK,
    ) -> None:
        """Args: present settings; message decoders, which raise InputError for invalid messages; clock."""
        self._clock = clock
        self._settings, self._read_joints, self._read_state = settings, read_joints, read_state
        self.description: str | None = None
        self.joints: ReceivedMessage | None = None
        self.state: ReceivedMessage | None = None
        self.has_states = False
        self.model: Model | None = None
        self.labels: list[str] = []
        self.verdict: Verdict | None = None
        self.problem: str | None = None
        self._text: str | None = None  # description in use
        self._models: dict[str, Model] = {}  # by attachment of the root link; with "fixed" if the description is valid
        self._oracles: dict[str, Oracle] = {}
        self._has_pinocchio: bool | None = None  # None: not checked yet
        self._seen: tuple[ReceivedMessage | None, ReceivedMessage | None] = (None, None)
        self._compared_at = -math.inf  # [s], steady clock
        self._refusal = ""  # error of the latest message; empty without one
        self._over: str | None = None  # since the last report
        self.counts = {"compared": 0, "over tolerance": 0, "not comparable": 0, "refused messages": 0}

    # --- in the thread that compares ----------------------------------------------------------------------------
    def compare(self) -> Verdict | None:
        """Compare the latest state; None if it is not new or incomplete."""
        seen = self.joints, self.state
        if not self._is_ready() or self._seen == seen:
            return None
        self._seen = seen
        try:
            verdict = self._verdict(*seen)
        except AdaError as problem:
            self.counts["refused messages"] += 1
            self._refusal = str(problem)
            return None
        if verdict is not None:
            self._count(verdict)
            self._compared_at = self._clock()
            self.verdict = verdict
        return verdict

    def _is_ready(self) -> bool:
        """Load a new description; return True if a robot and pinocchio are available."""
        try:
            if self._has_pinocchio is None:
                self._has_pinocchio = False
                pinocchio()
                self._has_pinocchio = True
            text = self.description
            if text is not self._text and self._has_pinocchio:
                self._text, self.problem, self.model, self.verdict = text, None, None, None
                self._seen = (None, None)
                self._models, self._oracles = {}, {}
                self._model("fixed")
        except AdaError as problem:
            self.problem = str(problem)
        return bool(self._models)

    def _model(self, base: str) -> Model:
        """Model of the description with an attachment of its root link."""
        if base not in self._models:
            text, gravity = self._text or "", self._settings().gravity
            if not text.lstrip().startswith("<"):
                raise InputError(f"the robot description starts with {text[:40]!r}; it must be URDF text.")
            self._models[base] = load(text, base=cast("Base", base), gravity=gravity or None)
        return self._models[base]

    def _verdict(self, joints: ReceivedMessage | None, state: ReceivedMessage | None) -> Verdict | None:
        """Comparison at the complete state or, without a recent one, at the joint state."""
        settings = self._settings()
        base = settings.base
        if state is not None and (joints is None or state.at > joints.at - settings.stale_after):
            _, q, v, tau = self._read_state(state.raw)
            if base == AUTO:
                base = base_of_sizes(self._model("fixed"), len(q), len(v))
            model = self.model = self._model(base)
            if (len(q), len(v), len(tau)) != (model.nq, model.nv, model.nv):
                raise InputError(
                    f"state with {len(q)} positions, {len(v)} velocities and {len(tau)} efforts; model {model.name!r} "
                    f"has {model.nq}, {model.nv} and {model.nv}."
                )
        elif joints is None or (state is None and self.has_states):  # the first complete state shows the base
            return None
        else:
            base = "fixed" if base == AUTO else base
            model = self.model = self._model(base)
            if not is_described_by_joints(model):
                return None
            q, v, tau = state_of_joints(model, *self._read_joints(joints.raw))
        if base not in self._oracles:
            self._oracles[base] = Oracle(model, q, settings.algorithm)
        self.labels = self._oracles[base].labels
        return self._oracles[base].compare(q, v, tau)

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
        """Description of differences beyond the tolerances; empty without any."""
        settings = self._settings()
        found = []
        for name, one in (("accelerations", verdict.accelerations), ("efforts", verdict.efforts)):
            if one is not None and not one.is_within(settings.absolute_tolerance, settings.relative_tolerance):
                found.append(
                    f"{name} differ from pinocchio by {one.absolute:.3g} ({one.relative:.1e} of the largest), "
                    f"most at {one.worst}"
                )
        return "; ".join(found)

    # --- for the report -----------------------------------------------------------------------------------------
    def status(self) -> Status:
        """Status of the comparisons since the last report."""
        over, self._over = self._over, None
        level, text = self._level(over)
        return Status(level, text, self._values())

    def _level(self, over: str | None) -> tuple[Level, str]:
        if self.problem is not None:
            return Level.ERROR, self.problem
        if self.description is None:
            return Level.STALE, "waiting for robot_description"
        silence = self._missing_messages()
        if silence is not None:
            return Level.STALE, silence
        if over:
            return Level.WARN, over
        if self._refusal:
            return Level.WARN, self._refusal
        verdict = self.verdict
        if verdict is None:
            return Level.STALE, "first comparison in progress, including kernel compilation"
        age, settings = self._clock() - self._compared_at, self._settings()
        if age > settings.stale_after + 1.0 / settings.rate:  # after a gap in the states, or a slow comparison
            return Level.STALE, f"latest comparison is {age:.1f} s old; the next one is in progress"
        if verdict.reason:
            return Level.WARN, f"not comparable: {verdict.reason}"
        return Level.OK, "both engines agree"

    def _missing_messages(self) -> str | None:
        """Missing messages; None if all arrive."""
        late = self._settings().stale_after
        newest = max((one.at for one in (self.joints, self.state) if one is not None), default=None)
        if newest is None:
            return f"waiting for joint_states or {self._settings().state_topic}"
        if self._clock() - newest > late:
            return f"no states for {self._clock() - newest:.1f} s"
        if self.model is not None and self.state is None and not is_described_by_joints(self.model):
            return (
                f"joint_states do not define the full state of this robot: waiting for {self._settings().state_topic}"
            )
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
