# SPDX-License-Identifier: Apache-2.0
"""What every controller is: settings, a law, checked states and references, commands within limits."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Generic, Literal, TypeVar

import numpy as np

from ada_controllers.errors import ReferenceRefused, StateRefused
from ada_controllers.shaping import Shaper, ShapingSettings
from ada_controllers.state import Array, Command, JointReference, Reference, State
from ada_dynamics.commanding.limits import joint_limits, motor_joints
from ada_dynamics.commanding.rules import refused_number
from ada_dynamics.errors import InputError
from ada_dynamics.model.model import Model
from ada_dynamics.settings import checked

S = TypeVar("S")


class Controller(ABC, Generic[S]):
    """A control law for one robot; no ROS, no simulator.

    Example::

        controller = make("computed_torque", model, {"stiffness": [100.0]})
        controller.reset(State(q, v), time=0.0)
        command = controller.update(State(q, v), JointReference(q_wanted), time=0.001)

    A controller keeps the last reference that it took; `update` with None goes on with it. What is refused raises an
    InputError and changes nothing: the controller goes on with what it had.

    Attributes:
        NAME: as users choose it.
        SUMMARY: what it does, in a line.
        KIND: which part of a `Command` it gives: "effort", "position" or "velocity".
        REFERENCES: kinds of references that it takes.
        SETTINGS: class of its settings: a frozen dataclass of `ada_dynamics.settings.setting` fields.
        model: the robot.
        joints: those that it commands.
        settings: values in use.
        reference: what it follows.
    """

    NAME: ClassVar[str]
    SUMMARY: ClassVar[str]
    KIND: ClassVar[Literal["effort", "position", "velocity"]]
    REFERENCES: ClassVar[tuple[type, ...]]
    SETTINGS: ClassVar[type[Any]]

    def __init__(
        self,
        model: Model,
        settings: S | Mapping[str, object] | None = None,
        shaping: ShapingSettings | Mapping[str, object] | None = None,
    ) -> None:
        """Prepare for a robot; `reset` begins.

        Args:
            model: of the robot.
            settings: of the law; a mapping is checked, as `ada_dynamics.settings.checked` does.
            shaping: what commands are held to beside the limits of the robot description.

        Raises:
            InputError: settings that are not allowed, or a robot that the law is not for.
        """
        self.model = model
        given = {} if settings is None else settings
        self.settings: S = checked(self.SETTINGS, given) if isinstance(given, Mapping) else given
        self.joints = self._commanded_joints()
        if not self.joints:
            raise InputError(
                f"{self.NAME}: robot {model.name!r} has no joint with a motor; there is nothing to command."
            )
        self.q_index = np.array([model.q_index(name).start for name in self.joints], dtype=np.intp)
        self.v_index = np.array([model.v_index(name).start for name in self.joints], dtype=np.intp)
        by_name = {limit.name: limit for limit in joint_limits(model, self.joints)}
        self.limits = [by_name[name] for name in self.joints]
        held_to = {} if shaping is None else shaping
        self._shaper = Shaper(
            self.limits,
            checked(ShapingSettings, held_to) if isinstance(held_to, Mapping) else held_to,
            self.q_index,
        )
        self._shapes = (model.nq,), (model.nv,)
        self.reference: Reference | None = None

    def _commanded_joints(self) -> tuple[str, ...]:
        """Those that the law commands; all motors where a law says nothing else."""
        return tuple(motor_joints(self.model))

    # --- use --------------------------------------------------------------------------------------------------------
    def reset(self, state: State, time: float, command: Command | None = None) -> None:
        """Begin here: what is measured is the first reference, so that nothing jumps.

        Args:
            state: measured.
            time: [s].
            command: what the joints were told last, which the first command joins; None: nothing.

        Raises:
            StateRefused: the state cannot be.
        """
        self.check_state(state)
        self._begin(state, time)
        self.reference = self._reference_at(state)
        self._shaper.begin(time, command)

    def update(self, state: State, reference: Reference | None, time: float) -> Command:
        """What the joints shall do now.

        Args:
            state: measured.
            reference: what to follow; None: as before.
            time: [s], not before that of the last call.

        Raises:
            StateRefused: the state cannot be.
            ReferenceRefused: the reference cannot be followed.
        """
        self.check_state(state)
        if reference is not None and reference is not self.reference:
            self.check(reference)
            self._accept(reference, state, time)
            self.reference = reference
        return self._shaper(self._law(state, time), state, time)

    def check_state(self, state: State) -> None:
        """Refuse a state that is not finite or of another robot.

        Raises:
            StateRefused: which value, and what was expected.
        """
        q, v, wrench = state
        if (q.shape, v.shape) != self._shapes:
            raise StateRefused(
                f"{self.NAME}: the state has {q.shape} positions and {v.shape} velocities; robot "
                f"{self.model.name!r} has {self._shapes[0]} and {self._shapes[1]}."
            )
        if not math.isfinite(q.dot(q) + v.dot(v)):
            raise StateRefused(f"{self.NAME}: {_not_finite(self.model, q, v)}")
        if wrench is not None and (wrench.shape != (6,) or not math.isfinite(wrench.dot(wrench))):
            raise StateRefused(
                f"{self.NAME}: the measured wrench is {wrench.tolist()!r:.80}; it must be six finite numbers "
                "[fx, fy, fz, nx, ny, nz] [N, N m]."
            )

    def check(self, reference: Reference) -> None:
        """Refuse a reference that cannot be followed, before anything uses it.

        Raises:
            ReferenceRefused: what is wrong with it.
        """
        if not isinstance(reference, self.REFERENCES):
            kinds = " or ".join(kind.__name__ for kind in self.REFERENCES) or "none at all"
            raise ReferenceRefused(
                f"{self.NAME} takes references of the kind {kinds}; this is a {type(reference).__name__}."
            )
        if isinstance(reference, JointReference):
            self._check_joint_reference(reference)
        self._check_reference(reference)

    def signals(self) -> dict[str, Array]:
        """Inner quantities of the last update by name, for plots; each always of the same length."""
        return {}

    @property
    def saturated(self) -> tuple[str, ...]:
        """Joints whose last command had to be cut to their limits."""
        return self._shaper.saturated

    @property
    def saturations(self) -> int:
        """Commands that had to be cut since `reset`."""
        return self._shaper.count

    # --- what a law says ---------------------------------------------------------------------------------------------
    @abstractmethod
    def _law(self, state: State, time: float) -> Command:
        """The command before its limits, for the present `reference`."""

    def _begin(self, state: State, time: float) -> None:
        """Forget the past."""

    def _reference_at(self, state: State) -> Reference | None:
        """The reference that keeps a state."""
        return JointReference(state.q[self.q_index]) if JointReference in self.REFERENCES else None

    def _accept(self, reference: Reference, state: State, time: float) -> None:
        """Prepare to follow a new, checked reference."""

    def _check_reference(self, reference: Reference) -> None:
        """Raise ReferenceRefused for what this law cannot follow."""

    def _check_joint_reference(self, reference: JointReference) -> None:
        for what, values in zip(("position", "velocity", "acceleration"), reference, strict=True):
            if values is None and what != "position":
                continue
            if not isinstance(values, np.ndarray) or values.shape != (len(self.joints),):
                raise ReferenceRefused(
                    f"{self.NAME}: the reference's {what} is {values!r:.80}; it must be a float64 vector of "
                    f"{len(self.joints)} numbers, one for each of {', '.join(self.joints)}."
                )
            for limit, value in zip(self.limits, values.tolist(), strict=True):
                refusal = refused_number(limit, what, value)
                if refusal is not None:
                    raise ReferenceRefused(f"{self.NAME}: reference: {refusal.text}")


def _not_finite(model: Model, q: Array, v: Array) -> str:
    for what, values, where in (("position", q, model.q_index), ("velocity", v, model.v_index)):
        for name in model.joint_names:
            part = values[where(name)]
            if not np.isfinite(part).all():
                return (
                    f"the {what} of joint {name!r} is {part.tolist()}; it must be finite. The last good command holds."
                )
    return "the state is too large to be of a robot; positions and velocities are in SI units."
