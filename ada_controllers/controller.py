# SPDX-License-Identifier: Apache-2.0
"""Base of all controllers: settings, a law, checked states and references, commands within limits."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic, Literal, TypeVar

import numpy as np

from ada_controllers.errors import ReferenceRefused
from ada_controllers.kit.reference_check import ReferenceCheck
from ada_controllers.kit.shaping import Shaper, ShapingSettings
from ada_controllers.kit.state_check import LATEST, StateCheck
from ada_controllers.state import JointReference, Reference, State
from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_dynamics.model.model import Model, motor_joints
from ada_robot.contract import Command
from ada_robot.limits import joint_limits
from ada_robot.settings import as_mapping, checked

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
        SETTINGS: class of its settings: a frozen dataclass of `ada_robot.settings.setting` fields.
        model: the robot.
        joints: those that it commands.
        settings: values in use.
        shaping: what commands are held to beside the limits of the robot.
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
            settings: of the law; a mapping is checked, as `ada_robot.settings.checked` does.
            shaping: what commands are held to beside the limits of the robot description.

        Raises:
            InputError: settings that are not allowed, or a robot that the law is not for.
        """
        if not isinstance(model, Model):
            raise InputError(
                f"{self.NAME}: model is {model!r:.80}; a controller needs a Model, such as ada.load('pa10') returns.",
                field="model",
                value=model,
                allowed=Model,
            )
        self.model = model
        self.settings: S = _checked(self.SETTINGS, settings, f"{self.NAME}: settings")
        self.joints = self._commanded_joints()
        if not self.joints:
            raise InputError(
                f"{self.NAME}: robot {model.name!r} has no joint with a motor; there is nothing to command.",
                field="model",
                value=model.name,
                allowed="a robot with a motor",
            )
        self.q_index = np.array([model.q_index(name).start for name in self.joints], dtype=np.intp)
        self.v_index = np.array([model.v_index(name).start for name in self.joints], dtype=np.intp)
        by_name = {limit.name: limit for limit in joint_limits(model, self.joints)}
        self.limits = [by_name[name] for name in self.joints]
        self._refuse_powerless_joints()
        held_to = self.shaping = _checked(ShapingSettings, shaping, f"{self.NAME}: shaping")
        self._shaper = Shaper(self.limits, held_to, self.q_index, self.v_index, self.NAME)
        self._shaper.prepare(self.KIND)
        self._states = StateCheck(self.NAME, model)
        self._numbers = self._states.numbers
        self._references = ReferenceCheck(self.NAME, self.limits)
        self.reference: Reference | None = None
        self._prepare()

    def _commanded_joints(self) -> tuple[str, ...]:
        """Joints that the law commands; all motors by default."""
        return tuple(motor_joints(self.model))

    def _refuse_powerless_joints(self) -> None:
        """Refuse efforts for joints whose effort limit is 0: the law counts on efforts that would be cut to nothing."""
        powerless = [limit.name for limit in self.limits if self.KIND == "effort" and limit.effort == 0.0]
        if powerless:
            raise InputError(
                f"{self.NAME}: joint {powerless[0]!r} of robot {self.model.name!r} counts as a joint with a motor, but "
                f"its effort limit is 0{f' ({len(powerless)} joints in all)' if len(powerless) > 1 else ''}. Name the "
                "joints with motors (`actuated: [...]` in the file of the loops), or give the real limit.",
                field="effort",
                joint=powerless[0],
                value=0.0,
                allowed="effort limits above 0 at all joints with motors",
            )

    # --- helpers of laws ----------------------------------------------------------------------------------------------
    def per_joint(self, setting: str, values: Sequence[float]) -> Array:
        """Gains as users give them, one number for all joints or one for each, as one for each commanded joint.

        Raises:
            InputError: neither one number nor as many as joints.
        """
        count = len(self.joints)
        if len(values) not in (1, count):
            raise InputError(
                f"{self.NAME}: {setting} has {len(values)} numbers; give one for all joints, or {count}, one for each "
                f"of {', '.join(self.joints)}.",
                field=setting,
                value=values,
                allowed=f"1 or {count} numbers",
            )
        return np.full(count, values[0]) if len(values) == 1 else np.array(values)

    def refuse_free_joints(self) -> None:
        """Refuse a robot without loops that its motors do not determine.

        Raises:
            InputError: a joint without a motor, or a base that is not fixed.
        """
        model, motors = self.model, len(self.joints)
        if model.nv != motors:
            raise InputError(
                f"{self.NAME}: robot {model.name!r} has {model.nv} velocities and {motors} motors; this law is for "
                "robots with a fixed base whose motors determine the motion of all joints. Give each joint a motor, "
                "or join the links by loops.",
                field="model",
                value=model.name,
                allowed="a motor at every joint and a fixed base, or loops by which the other joints follow",
            )

    # --- use --------------------------------------------------------------------------------------------------------
    def reset(self, state: State, time: float, command: Command | None = None) -> None:
        """Begin here: what is measured is the first reference, so that nothing jumps.

        Args:
            state: measured.
            time: [s].
            command: last command of the joints, which the first command continues; None: none.

        Raises:
            StateRefused: the state cannot be.
            InputError: the command is none, or the law cannot begin here.
        """
        self.check_state(state)
        if not -math.inf < time < math.inf:
            raise self._states.wrong_time(time, math.nan)
        shaper = self._shaper
        before = shaper.before, shaper.then, shaper.count
        shaper.begin(time, command)
        try:
            self._begin(state, time)
            self.reference = self._reference_at(state)
        except Exception:
            shaper.before, shaper.then, shaper.count = before
            raise

    def update(self, state: State, reference: Reference | None, time: float) -> Command:
        """The command for the joints now.

        Args:
            state: measured.
            reference: what to follow; None, or the one of the last call again: as before. Its arrays are not to be
                changed afterwards.
            time: [s], not before that of the last call.

        Raises:
            StateRefused: the state or its time cannot be, or `reset` has not been called.
            ReferenceRefused: the reference cannot be followed.
            CommandRefused: the law returned an invalid command.
        """
        q, v, wrench = state
        shaper = self._shaper
        if not shaper.then <= time < LATEST:
            raise self._states.wrong_time(time, shaper.then)
        self._numbers(q, v)
        if wrench is not None:
            self._states.wrench(wrench)
        if reference is not None and reference is not self.reference:
            self.check(reference)
            self.reference = self._accept(reference, state, time) or reference
        return shaper(self._law(state, time), state, time)

    def check_state(self, state: State) -> None:
        """Refuse a state that is not finite or of another robot.

        Raises:
            StateRefused: which value, and what was expected.
        """
        q, v, wrench = state
        self._states.numbers(q, v)
        if wrench is not None:
            self._states.wrench(wrench)

    def check(self, reference: Reference) -> None:
        """Refuse a reference that cannot be followed, before anything uses it.

        Raises:
            ReferenceRefused: what is wrong with it.
        """
        if not isinstance(reference, self.REFERENCES):
            kinds = " or ".join(kind.__name__ for kind in self.REFERENCES) or "none at all"
            raise ReferenceRefused(
                f"{self.NAME} takes references of the kind {kinds}; this is a {type(reference).__name__}.",
                field="reference",
                value=reference,
                allowed=self.REFERENCES,
            )
        self._references(reference)
        self._check_reference(reference)

    def check_from(self, reference: Reference, time: float) -> None:
        """Refuse a checked reference that cannot be followed from the commanded joint positions at a time.

        Raises:
            ReferenceRefused: what is wrong with it.
        """

    def before_ends(self, command: Command, state: State) -> Command:
        """A command whose velocities let the joints stop at their ends from where they are; positions do that alone."""
        if command.velocity is None or command.position is not None:
            return command
        return command._replace(velocity=self._shaper.before_ends(command.velocity, state))

    # --- own plans ----------------------------------------------------------------------------------------------------
    def planned(self, time: float) -> JointReference | None:
        """Joints at a time by its own plan; None for a law that plans nothing: it follows its reference."""
        return None

    @property
    def remaining(self) -> float:
        """Time until its own plan is over [s]."""
        return 0.0

    def brake(self, time: float) -> None:
        """Leave the plan: bring the joints to rest within their limits, and hold them there; without a plan, nothing.

        Args:
            time: of the last command [s].
        """

    def resting(self, time: float) -> Array | None:
        """Where `brake` would bring the joints; None without a plan."""
        return None

    @property
    def preferred(self) -> Array | None:
        """Joint positions that it tends to beside what it follows; None without any."""
        return None

    # --- status -------------------------------------------------------------------------------------------------------
    def signals(self) -> dict[str, Array]:
        """Inner quantities of the last update by name, for plots; each always of the same length."""
        return {}

    @property
    def last_command(self) -> Command:
        """The command of the last `update`, or the one given to `reset`; empty if there is neither."""
        return self._shaper.before

    @property
    def saturated(self) -> tuple[str, ...]:
        """Joints whose last command had to be cut to their limits."""
        return self._shaper.saturated

    @property
    def saturations(self) -> int:
        """Commands that had to be cut since `reset`."""
        return self._shaper.count

    def target_positions(self, positions: Array) -> dict[str, float]:
        """Positions of joints, by name, where the commanded ones are at a target. Args: those of the commanded ones."""
        return dict(zip(self.joints, positions.tolist(), strict=True))

    # --- implemented by laws -----------------------------------------------------------------------------------------
    def _prepare(self) -> None:
        """Make what the law needs of robot and settings, once; raise InputError where it is not for this robot."""

    @abstractmethod
    def _law(self, state: State, time: float) -> Command:
        """The command before its limits, for the present `reference`; its arrays are given away: new ones each time."""

    def _begin(self, state: State, time: float) -> None:
        """Reset the state of the law."""

    def _reference_at(self, state: State) -> Reference | None:
        """The reference that holds a state."""
        return JointReference(state.q[self.q_index]) if JointReference in self.REFERENCES else None

    def _accept(self, reference: Reference, state: State, time: float) -> Reference | None:
        """Prepare to follow a new, checked reference; what is returned, if anything, is followed in its place."""

    def _check_reference(self, reference: Reference) -> None:
        """Raise ReferenceRefused for what this law cannot follow."""


def _checked(cls: type[Any], given: object, what: str) -> Any:
    """Settings, whether they were given as such or by name.

    Raises:
        InputError: they are neither, or a value is not allowed.
    """
    if given is not None and not isinstance(given, (cls, Mapping)):
        raise InputError(
            f"{what} is {given!r:.80}; give values by name, as {{'name': value}}, or a {cls.__name__}.",
            field=what.rpartition(" ")[2],
            value=given,
            allowed=cls,
        )
    values = {} if given is None else given if isinstance(given, Mapping) else as_mapping(given)
    return checked(cls, values)
