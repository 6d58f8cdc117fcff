# SPDX-License-Identifier: Apache-2.0
"""Complete states of a robot with closed loops from joint states with some of its joints, or of a device; no ROS.

The positions of the other joints follow from loop closure, v = T(q) y from the velocities y of the given joints.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.analysis import RANK
from ada_dynamics.constraints.closed_configuration import closed_configuration
from ada_dynamics.constraints.coordinates import velocities_of
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.dynamics.loop_closure import BEYOND_LIMITS, NOT_CLOSED, SINGULAR, ClosedPositions
from ada_dynamics.errors import AdaError, InputError, ModelError, SingularConfigurationError
from ada_dynamics.model.model import Model
from ada_robot.driver import Feedback
from ada_robot.messages.incoming import StateNumbers
from ada_robot.ros.robot_settings import DescribedSettings, PlaceSettings
from ada_robot.ros.status import Level, Status
from ada_robot.settings import setting

_PAUSE = 0.05  # time between searches after a failed one, which takes milliseconds [s]
_LONG_PAUSE = 1.0  # the same for devices [s]
_FAILED = "loop closure failed at the motor positions, from the last and the first configuration"
_MOST_SELECTIONS = 32  # different lists of joint names that are remembered


@dataclass(frozen=True)
class LoopStateSettings(PlaceSettings, DescribedSettings):
    """Parameters of loop_state_publisher."""

    reference: tuple[float, ...] = setting(
        (),
        "configuration q near a closed one, in the assembly mode of the robot; empty: start configuration of the robot",
        unit="rad, m",
        read_only=True,
    )
    largest_ratio: float = setting(
        50.0,
        "joint velocity per velocity of the given joints above which a configuration is refused as near singular; "
        "errors of the measured positions are amplified by it",
        lower=1.0,
    )
    largest_disagreement: float = setting(
        0.05,
        "difference between measured and computed position of a joint that is not needed, above which diagnostics warn",
        unit="rad, m",
        lower=0.0,
    )
    stale_after: float = setting(
        1.0, "time without joint states after which diagnostics report STALE", unit="s", lower=0.01
    )
    publish_tf: bool = setting(True, "publish /tf and /tf_static", read_only=True)
    world_frame: str = setting(
        "", "frame above the root link on /tf_static; empty: none, as robot_state_publisher", read_only=True
    )


class LoopFollower:
    """Computes the positions of all joints from the measured positions of joints that determine the motion.

    Attributes:
        joints: names of these joints.
        q: last closed configuration.
    """

    def __init__(self, dynamics: Dynamics, joints: Sequence[str], reference: ArrayLike | None, pause: float) -> None:
        """Compile the loop closure.

        Args:
            dynamics: of the robot.
            joints: joints with one position each.
            reference: configuration near a closed one, in the assembly mode of the robot.
            pause: time between searches from the reference after a failed one [s].

        Raises:
            InputError: the joints do not determine the motion.
            ModelError: the loops cannot be closed near the reference.
        """
        self.joints = list(joints)
        self._constraints = dynamics.constraints
        self._closure = self._constraints.loop_closure(self.joints, reference)
        self.q = self._closure.reference
        self._pause, self._failed_at = pause, -math.inf
        with suppress(SingularConfigurationError):  # compiles it
            self.tangent_map()

    def solve(self, time: float, position: ArrayLike) -> ClosedPositions | None:
        """Close the loops, from the last configuration or else from the reference.

        Args:
            time: present time [s].
            position: positions of the joints, in their order.

        Returns:
            The positions with their status; None if the last attempt has failed within the pause.
        """
        if time - self._failed_at < self._pause:
            return None
        found = self._closure.solve(position, near=self.q)
        if found.status >= NOT_CLOSED:
            found = self._closure.solve(position)
        if found.status >= NOT_CLOSED:
            self._failed_at = time
        else:
            self.q, self._failed_at = found.q, -math.inf
        return found

    def tangent_map(self) -> Array:
        """T of v = T y in the last configuration, with y the velocities of the joints, in their order.

        Raises:
            SingularConfigurationError: y does not determine v in this configuration.
        """
        return self._constraints.tangent_map(self.q, self.joints)


def independent_joints(dynamics: Dynamics, joints: Sequence[str]) -> list[str]:
    """Return the joints whose velocities are independent, the first ones of dependent joints."""
    chosen: list[str] = []
    for name in joints:
        rows = list(velocities_of(dynamics.model, [*chosen, name]))
        samples = [N[rows] for N in dynamics.constraints.coordinates.samples if len(rows) <= N.shape[1]]
        if any(float(np.linalg.svd(N, compute_uv=False)[-1]) > RANK for N in samples):
            chosen.append(name)
    return chosen


class _Selection(NamedTuple):
    """Joints of the messages with one list of names."""

    follower: LoopFollower
    given: NDArray[np.intp]  # places in the message of the follower's joints
    chosen: NDArray[np.intp]  # their indices in v
    own: NDArray[np.intp]  # places in the message of all joints of the model
    positions: NDArray[np.intp]  # indices of these in q
    motors: NDArray[np.intp]  # places in the message of the motors; empty unless all are named


class LoopStates:
    """Computes full states from joint states; counts refused messages.

    Attributes:
        model: robot model.
        dynamics: dynamics of the model.
        settings: limits.
        counts: numbers of joint states by result.
        problem: reason why the last joint state was refused; "" if it was completed.
    """

    def __init__(self, model: Model, reference: ArrayLike | None, settings: LoopStateSettings) -> None:
        """Close the loops at the reference, and compile for the motors.

        Args:
            model: robot model with a fixed base.
            reference: configuration near a closed one, in the assembly mode of the robot; home configuration if None.
            settings: limits; may be replaced later.

        Raises:
            AdaError: the reference is invalid, or the loops cannot be closed near it.
        """
        self.model, self.dynamics = model, Dynamics(model, q0=reference)
        self.counts = {"published": 0, "not closed": 0, "near singular": 0, "invalid": 0, "beyond limits": 0}
        self.problem = ""
        self._reference, self.settings = reference, settings
        self._selections: dict[tuple[str, ...], _Selection | InputError] = {}
        self._warning = ""  # of the last state
        self._values: dict[str, object] = {}
        self._received_at = -math.inf
        self._reported = 0  # refused messages in the last report
        self._single = [name for name in model.joint_names if model.joints[name].nq == model.joints[name].nv == 1]
        self._motors = list(velocities_of(model, model.actuated))
        self._selection(tuple(name for name in model.actuated if name in self._single))

    def complete(
        self, time: float, names: Sequence[str], position: ArrayLike, velocity: ArrayLike, effort: ArrayLike
    ) -> StateNumbers | None:
        """Return the complete state of a joint state; None if it names no joint of the robot.

        The velocities are NaN if one of those needed is not given, and the efforts if the effort of a motor is not
        given. Passive joints have no effort.

        Args:
            time: time of reception on the steady clock [s].
            names: joint names in any order; joints of other robots are ignored.
            position: positions, one per name.
            velocity: velocities, one per name, or empty.
            effort: efforts, one per name, or empty.

        Raises:
            InputError: the message is invalid, or its joints do not determine the motion.
            ModelError: the loops cannot be closed with these positions.
            SingularConfigurationError: they are near or behind a singular configuration.
        """
        if not any(name in self.model.joints for name in names):
            return None
        self._received_at, reason = time, "invalid"
        try:
            state = self._completed(time, tuple(names), *map(np.asarray, (position, velocity, effort)))
        except AdaError as problem:
            if isinstance(problem, (ModelError, SingularConfigurationError)):
                reason = "not closed" if isinstance(problem, ModelError) else "near singular"
            self.counts[reason] += 1
            self.problem = str(problem)
            raise
        self.counts["published"] += 1
        self.problem = ""
        return state

    def _completed(
        self, time: float, names: tuple[str, ...], position: Array, velocity: Array, effort: Array
    ) -> StateNumbers:
        for field, values in (("position", position), ("velocity", velocity), ("effort", effort)):
            if len(values) != len(names) and (field == "position" or len(values)):
                text = f"joint state with {len(names)} names has {len(values)} values in {field}; give one per name."
                raise InputError(text, field=field, value=len(values), allowed=len(names))
        one = self._selection(names)
        if isinstance(one, InputError):
            raise one
        given = position[one.given]
        if not np.isfinite(given).all():
            wrong = one.follower.joints[int(np.argmin(np.isfinite(given)))]
            raise InputError(f"joint {wrong!r}: its position is not finite.", joint=wrong, field="position")
        found = one.follower.solve(time, given)
        if found is None or found.status == NOT_CLOSED:
            where = ", ".join(f"{name}={x:.4g}" for name, x in zip(one.follower.joints, given.tolist(), strict=True))
            reason = "the search is repeated shortly" if found is None else "the positions are outside of the workspace"
            raise ModelError(f"the loops cannot be closed with {where}: {reason}.", field="position")
        if found.status == SINGULAR:
            text = "a singular configuration is between the last state and this one; the assembly mode is unknown."
            raise SingularConfigurationError(text, field="position")
        v = self._velocities(one, velocity[one.given] if len(velocity) else np.full(len(given), np.nan))
        tau = np.full(self.model.nv, np.nan)
        if len(effort) and len(one.motors):
            tau[:] = 0.0
            tau[self._motors] = effort[one.motors]
        self._compare(one, found, position)
        return StateNumbers(time, found.q.copy(), v, tau)

    def _velocities(self, one: _Selection, given: Array) -> Array:
        """Velocities of all joints; refuses configurations in which they are much larger than the given ones."""
        T, units = one.follower.tangent_map(), self.dynamics.constraints.coordinates.units
        ratios = np.abs(T) * units[one.chosen] / units[:, None]
        self._values["largest velocity ratio"] = largest = float(np.max(ratios, initial=0.0))
        if not largest <= self.settings.largest_ratio:
            joint = self.model.joint_of_velocity(int(np.argmax(ratios) // ratios.shape[1]))
            raise SingularConfigurationError(
                f"near a singular configuration: joint {joint!r} moves {largest:.3g} times as fast as "
                f"{', '.join(one.follower.joints)}; the limit is {self.settings.largest_ratio:g} (largest_ratio).",
                joint=joint,
                field="position",
                value=largest,
                allowed=self.settings.largest_ratio,
            )
        return np.asarray(T @ given)

    def _compare(self, one: _Selection, found: ClosedPositions, position: Array) -> None:
        """Set the warnings of a state: joints beyond limits, and measured joints that disagree with the loops."""
        self._warning = ""
        if found.status == BEYOND_LIMITS:
            self.counts["beyond limits"] += 1
            self._warning = "a joint is beyond its position limits"
        differences = np.abs(position[one.own] - found.q[one.positions])
        if len(differences) > len(one.given):
            k = int(np.argmax(differences))
            joint, most = self.model.joint_of_position(int(one.positions[k])), float(differences[k])
            self._values |= {"largest disagreement": most, "joint of the largest disagreement": joint}
            if not most <= self.settings.largest_disagreement:
                self._warning = (
                    f"the measured position of {joint} differs by {most:.3g} from the one that closes the loops: its "
                    "zero is wrong, or the robot is in another assembly mode"
                )

    # --- joints -------------------------------------------------------------------------------------------------
    def _selection(self, names: tuple[str, ...]) -> _Selection | InputError:
        """Joints of messages with these names, or the reason why they are refused."""
        found = self._selections.get(names)
        if found is None:
            if len(self._selections) >= _MOST_SELECTIONS:
                self._selections.clear()
            try:
                found = self._select(names)
            except InputError as problem:
                found = problem
            self._selections[names] = found
        return found

    def _select(self, names: tuple[str, ...]) -> _Selection:
        """Choose the joints that determine the motion among the names of a message; compiles, at the first start."""
        if len(set(names)) < len(names):
            joint = next(name for name in names if names.count(name) > 1)
            raise InputError(f"joint state contains joint {joint!r} more than once.", joint=joint, field="name")
        motors = self.model.actuated
        own, has_motors = [name for name in self._single if name in names], set(motors) <= set(names)
        chosen = independent_joints(self.dynamics, sorted(own, key=lambda joint: joint not in motors))  # motors first
        return _Selection(
            LoopFollower(self.dynamics, chosen, self._reference, _PAUSE),
            np.array([names.index(name) for name in chosen], dtype=np.intp),
            np.array(velocities_of(self.model, chosen), dtype=np.intp),
            np.array([names.index(name) for name in own], dtype=np.intp),
            np.array([self.model.q_index(name).start for name in own], dtype=np.intp),
            np.array([names.index(name) for name in motors if has_motors], dtype=np.intp),
        )

    # --- report -------------------------------------------------------------------------------------------------
    def status(self, now: float) -> Status:
        """Status since the last report. Args: present time on the steady clock [s]."""
        refused = sum(self.counts[name] for name in ("not closed", "near singular", "invalid"))
        new, self._reported = refused - self._reported, refused
        values = {**self.counts, **self._values, "robot": self.model.name}
        age = now - self._received_at
        if age > self.settings.stale_after:
            words = f"no joint states for {age:.1f} s" if math.isfinite(age) else "waiting for joint states"
            return Status(Level.STALE, words, values)
        if self.problem:
            return Status(Level.ERROR, self.problem, values)
        if new:
            return Status(Level.WARN, f"{new} joint states were refused since the last report", values)
        return Status(
            Level.WARN if self._warning else Level.OK, self._warning or "complete states are published", values
        )


# --- devices ---------------------------------------------------------------------------------------------------------
class StateEstimator:
    """Estimator of the full state of a robot.

    Attributes:
        model: robot model.
        missing: motors that the device lacks; assumed to be at zero.
        problem: reason why the passive joints do not match the motors; "" if they do.
    """

    def __init__(self, model: Model, joints: Sequence[str], start: Array | None = None) -> None:
        """Select the joints.

        Args:
            model: robot model with a fixed base.
            joints: joints of the device, in the order of its feedback.
            start: configuration near which the loops can be closed; the home configuration by default.

        Raises:
            InputError: if the model lacks a joint of the device.
        """
        unknown = [name for name in joints if name not in model.joint_names or model.joints[name].nq != 1]
        if unknown:
            raise InputError(
                f"the model {model.name!r} has no joint {unknown[0]!r} with one position; the device has "
                f"{', '.join(joints)}, the model {', '.join(model.joint_names)}. Use the robot's model, or none."
            )
        self.model = model
        self.missing = tuple(name for name in model.actuated if name not in joints)
        self.problem = ""
        self._names = list(joints)
        self._rows = np.array([model.q_index(name).start for name in joints], dtype=np.intp)
        self._speeds = np.array([model.v_index(name).start for name in joints], dtype=np.intp)
        self._start = model.home() if start is None else np.array(start)
        self._q = self._start.copy()
        self._follower: LoopFollower | None = None  # once the loops are closed
        self._chosen: list[int] = []  # places of its joints among those of the device

    def of(self, feedback: Feedback) -> StateNumbers:
        """Return the state of a feedback with all positions; unknown velocities and efforts are NaN."""
        q, v, tau = self._q.copy(), np.zeros(self.model.nv), np.zeros(self.model.nv)
        q[self._rows], v[self._speeds], tau[self._speeds] = feedback.position, feedback.velocity, feedback.effort
        if self.model.loops:
            q, v = self._with_passive(feedback, q, v)
        return StateNumbers(feedback.time, q, v, tau)

    def close_loops(self) -> None:
        """Close the loops at the start, and compile the dynamics; takes seconds.

        Raises:
            InputError: if the joints of the device do not determine the passive joints.
            ModelError: if the loops cannot be closed near the start configuration.
        """
        if self.model.loops and self._follower is None:
            self._q = np.array(closed_configuration(self.model, self._start, self._names))
            dynamics = Dynamics(self.model, q0=self._q)
            joints = independent_joints(dynamics, self._names)
            self._chosen = [self._names.index(name) for name in joints]
            self._follower = LoopFollower(dynamics, joints, self._q, _LONG_PAUSE)

    def _with_passive(self, feedback: Feedback, q: Array, v: Array) -> tuple[Array, Array]:
        """Return configuration and velocities, including the passive joints by loop closure."""
        self.close_loops()
        assert self._follower is not None
        found = self._follower.solve(feedback.time, feedback.position[self._chosen])
        if found is None or found.status >= NOT_CLOSED:
            self.problem = _FAILED
            return q, v
        self._q, self.problem = found.q, ""
        try:
            v = self._follower.tangent_map() @ v[self._speeds[self._chosen]]
        except SingularConfigurationError:
            self.problem = "singular configuration: the motors do not determine the velocities of the passive joints"
        return found.q.copy(), v
