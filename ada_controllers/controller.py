# SPDX-License-Identifier: Apache-2.0
"""Base class of all controllers: settings, control law, checks of states and references, command limits."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic, Literal, TypeVar

import numpy as np

from ada_controllers.checks import ReferenceCheck, StateCheck
from ada_controllers.command_shaping import Shaper, ShapingSettings
from ada_controllers.state import JointReference, Reference, ReferenceRefused, State
from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_dynamics.model.model import Model, motor_joints
from ada_robot.contract import Command
from ada_robot.limits import joint_limits
from ada_robot.settings import as_mapping, checked

S = TypeVar("S")


class Controller(ABC, Generic[S]):
    """Control law for one robot, independent of ROS and simulators.

    Example::

        controller = make("computed_torque", model, {"stiffness": [100.0]})
        controller.reset(State(q, v), time=0.0)
        command = controller.update(State(q, v), JointReference(q_desired), time=0.001)

    A controller keeps its last reference; `update` with None continues with it. Invalid input raises an InputError and
    does not change the controller.

    Attributes:
        NAME: name in the registry.
        SUMMARY: description in one line.
        KIND: quantity that it commands: "effort", "position" or "velocity".
        REFERENCES: accepted types of references.
        SETTINGS: class of its settings, a frozen dataclass of `ada_robot.settings.setting` fields.
        model: robot model.
        joints: commanded joints.
        settings: settings in use.
        shaping: command limits in addition to those of the robot.
        reference: present reference.
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
        """Prepare the law for a robot; `reset` starts it.

        Args:
            model: robot model.
            settings: settings of the law; mappings are checked by `ada_robot.settings.checked`.
            shaping: command limits in addition to those of the robot description.

        Raises:
            InputError: if a setting is invalid, or the law does not support the robot.
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
            text = f"{self.NAME}: robot {model.name!r} has no joint with a motor."
            raise InputError(text, field="model", value=model.name, allowed="a robot with a motor")
        self.q_index = np.array([model.q_index(name).start for name in self.joints], dtype=np.intp)
        self.v_index = np.array([model.v_index(name).start for name in self.joints], dtype=np.intp)
        by_name = {limit.name: limit for limit in joint_limits(model, self.joints)}
        self.limits = [by_name[name] for name in self.joints]
        self._refuse_powerless_joints()
        held_to = self.shaping = _checked(ShapingSettings, shaping, f"{self.NAME}: shaping")
        self._shaper = Shaper(self.limits, held_to, (self.q_index, self.v_index), self.NAME, self.KIND)
        self._states = StateCheck(self.NAME, model)
        self._numbers = self._states.numbers
        self._references = ReferenceCheck(self.NAME, self.limits)
        self.reference: Reference | None = None
        self._prepare()

    def _commanded_joints(self) -> tuple[str, ...]:
        """Return the joints commanded by the law; by default all motors."""
        return tuple(motor_joints(self.model))

    def _refuse_powerless_joints(self) -> None:
        """Refuse joints with an effort limit of 0 for effort control, since their commands would be cut to zero."""
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

    # --- helpers of control laws --------------------------------------------------------------------------------------
    def per_joint(self, setting: str, values: Sequence[float]) -> Array:
        """Return one gain per commanded joint, from one value for all joints or one value each; see `numbers`."""
        return self.numbers(
            setting, values, 1, len(self.joints), each=f": one for all, or for each of {', '.join(self.joints)}"
        )

    def numbers(self, setting: str, values: Sequence[float], *counts: int, each: str = "") -> Array:
        """Return a setting as a vector.

        Args:
            setting: name of the setting.
            values: its values.
            counts: allowed lengths; a single value counts for all of the last one.
            each: meaning of the values, for the message.

        Raises:
            InputError: if it has another length.
        """
        if len(values) not in counts:
            allowed = " or ".join(str(count) for count in dict.fromkeys(counts)) + " numbers"
            text = f"{self.NAME}: {setting} has {len(values)} numbers; give {allowed}{each}."
            raise InputError(text, field=setting, value=values, allowed=allowed)
        return np.full(counts[-1], values[0]) if len(values) == 1 else np.array(values)

    # --- use --------------------------------------------------------------------------------------------------------
    def reset(self, state: State, time: float, command: Command | None = None) -> None:
        """Start in a measured state, which becomes the first reference, so that the command does not jump.

        Args:
            state: measured state.
            time: present time [s].
            command: last command to the joints, continued by the first command; None for none.

        Raises:
            StateRefused: if the state is invalid.
            InputError: if the command is invalid, or the law cannot start in this state.
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
        """Compute the command.

        Args:
            state: measured state.
            reference: reference; None, or the same object, to continue. Do not modify its arrays afterwards.
            time: present time [s], not before that of the last call.

        Raises:
            StateRefused: if the state or its time is invalid, or `reset` was not called.
            ReferenceRefused: if the reference is invalid.
            CommandRefused: if the law computed an invalid command.
        """
        q, v, wrench = state
        shaper = self._shaper
        if not shaper.then <= time < math.inf:
            raise self._states.wrong_time(time, shaper.then)
        self._numbers(q, v)
        if wrench is not None:
            self._states.wrench(wrench)
        if reference is not None and reference is not self.reference:
            self.check(reference)
            self.reference = self._accept(reference, state, time) or reference
        return shaper(self._law(state, time), state, time)

    def check_state(self, state: State) -> None:
        """Refuse an invalid state.

        Raises:
            StateRefused: if it is not finite, or has the wrong size.
        """
        q, v, wrench = state
        self._states.numbers(q, v)
        if wrench is not None:
            self._states.wrench(wrench)

    def check(self, reference: Reference) -> None:
        """Refuse an invalid reference. Positions of the present one are allowed beyond the position limits, too.

        Raises:
            ReferenceRefused: if it is of the wrong type, not finite, outside limits or out of reach.
        """
        if not isinstance(reference, self.REFERENCES):
            kinds = " or ".join(kind.__name__ for kind in self.REFERENCES) or "no reference"
            text = f"{self.NAME} accepts {kinds}, not {type(reference).__name__}."
            raise ReferenceRefused(text, field="reference", value=reference, allowed=self.REFERENCES)
        self._references(reference, self.reference)
        self._check_reference(reference)

    def check_from(self, reference: Reference, time: float) -> None:
        """Refuse a valid reference that cannot be followed from the commanded joint positions at a time.

        Raises:
            ReferenceRefused: if it cannot be followed.
        """

    def before_ends(self, command: Command, state: State) -> Command:
        """Limit the velocities of a command so that the joints can stop at their position limits."""
        if command.velocity is None or command.position is not None:
            return command
        return command._replace(velocity=self._shaper.before_ends(command.velocity, state))

    # --- planning controllers -----------------------------------------------------------------------------------------
    def planned(self, time: float) -> JointReference | None:
        """Return the planned joint state at a time; None for controllers without a plan, which follow the reference."""
        return None

    @property
    def remaining(self) -> float:
        """Remaining time of the plan [s]."""
        return 0.0

    def brake(self, time: float) -> None:
        """Discard the plan and bring the joints to rest within their limits; without effect for other controllers.

        Args:
            time: time of the last command [s].
        """

    def resting(self, time: float) -> Array | None:
        """Return the positions at which `brake` would stop; None without a plan."""
        return None

    @property
    def preferred(self) -> Array | None:
        """Secondary joint position target, such as a null-space posture, or None."""
        return None

    # --- status -------------------------------------------------------------------------------------------------------
    def signals(self) -> dict[str, Array]:
        """Return internal quantities of the last update by name, of constant lengths, for plots."""
        return {}

    @property
    def last_command(self) -> Command:
        """Command of the last `update`, or the one passed to `reset`; empty if there is neither."""
        return self._shaper.before

    @property
    def saturated(self) -> tuple[str, ...]:
        """Joints whose last command was cut to a limit."""
        return self._shaper.saturated

    @property
    def saturations(self) -> int:
        """Number of commands cut to a limit since `reset`."""
        return self._shaper.count

    # --- implemented by control laws ----------------------------------------------------------------------------------
    def _prepare(self) -> None:
        """Prepare the law for robot and settings; raise InputError if it does not support the robot."""

    @abstractmethod
    def _law(self, state: State, time: float) -> Command:
        """Compute the command before limits, for the present `reference`, in new arrays."""

    def _begin(self, state: State, time: float) -> None:
        """Reset the internal state."""

    def _reference_at(self, state: State) -> Reference | None:
        """Return the reference that holds a state."""
        return JointReference(state.q[self.q_index]) if JointReference in self.REFERENCES else None

    def _accept(self, reference: Reference, state: State, time: float) -> Reference | None:
        """Prepare for a new, valid reference; return a reference to be followed instead, or None."""

    def _check_reference(self, reference: Reference) -> None:
        """Raise ReferenceRefused for references that this law does not support."""


def _checked(cls: type[Any], given: object, what: str) -> Any:
    """Return checked settings, given as an instance or by name.

    Raises:
        InputError: if they are neither, or a value is invalid.
    """
    if given is not None and not isinstance(given, (cls, Mapping)):
        text = f"{what} is {given!r:.80}; give values by name, as {{'name': value}}, or a {cls.__name__}."
        raise InputError(text, field=what.rpartition(" ")[2], value=given, allowed=cls)
    values = {} if given is None else given if isinstance(given, Mapping) else as_mapping(given)
    return checked(cls, values)
