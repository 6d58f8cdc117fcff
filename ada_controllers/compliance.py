# SPDX-License-Identifier: Apache-2.0
"""Compliant end effector by force control (Yamada, sec. 4.2), based on the pose servo.

The sensor measures the contact wrench w_fs = [f, n], in the frame of the hand w_h = ʰH_fs w_fs. There H is the
transform of wrenches; the document prints that of velocities, which omits the lever arm. The hand shall be
displaced by x_h = C_h w_h, C_h = K_h⁻¹: from a fixed target (mode `displaced`), or by moving the target as long as the
force acts (mode `moved`). Mode `moved` oscillates in stiff contacts; with both (mode `relaxed`) the contact force
decays without oscillation.

Stability in contact: in one direction, measured from the wall, the hand is at x and the wall exerts f = k x. The
controller reads both every T seconds, f possibly delayed and filtered (y), and commands the velocity
v = P (d - y/K - x). For an ideal robot this is stable for

    P T (1 + k/K) < 2               without delay
    P T k/K < 1 (and P T < 2)       with a delay of one period

The stiffest stable contact grows with K and decreases with P and T. A filter with time constant τ raises it by about
1 + P τ, and causes oscillation on the approach to a constant force. A moving target (mode `moved`, time τ_m) causes
oscillation for k > K P τ_m / 4, for any T; both together (mode `relaxed`) do not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

import numpy as np

from ada_controllers.pose_servo import PoseServo, PoseServoSettings
from ada_controllers.state import PoseReference, Reference, State, StateRefused
from ada_dynamics.arrays import Array
from ada_dynamics.dynamics.poses import inverse, length, moved, wrench_matrix
from ada_dynamics.errors import InputError, unknown_name
from ada_robot.contract import Command
from ada_robot.settings import setting

_STIFFEST = 1e12  # upper bound of the search for a stiff contact [N/m]


@dataclass(frozen=True)
class ComplianceSettings(PoseServoSettings):
    """Compliance and force sensor, in addition to the settings of the pose servo."""

    stiffness: tuple[float, ...] = setting(
        (1000.0, 1000.0, 1000.0, 50.0, 50.0, 50.0),
        "K_h: six stiffnesses along and about the hand's axes, or the 36 entries of a symmetric matrix by rows",
        unit="N/m, N m/rad",
    )
    mode: str = setting(
        "displaced",
        "displaced: the hand is displaced from a fixed target; moved: the target moves; relaxed: both",
        choices=("displaced", "moved", "relaxed"),
    )
    moving_time: float = setting(
        0.5,
        "time in which a moved target covers the displacement of the spring (Yamada: one period)",
        unit="s",
        lower=1e-3,
    )
    sensor_link: str = setting("", "link that carries the force sensor; empty: the link of the tool")
    sensor_xyz: tuple[float, ...] = setting((0.0, 0.0, 0.0), "position of the sensor frame in its link", unit="m")
    sensor_rpy: tuple[float, ...] = setting((0.0, 0.0, 0.0), "roll, pitch and yaw of the sensor frame", unit="rad")
    bias_at_reset: bool = setting(False, "whether the first measurement is used as the zero of the sensor")
    dead_band: tuple[float, ...] = setting(
        (0.0, 0.0),
        "dead band of force and moment, which is also subtracted from larger values",
        unit="N, N m",
        lower=0.0,
    )
    filter_time: float = setting(0.0, "time constant of the wrench filter; 0: no filter", unit="s", lower=0.0)
    largest_shift: float = setting(0.2, "limit of the displacement from the target", unit="m", lower=0.0)
    largest_turn: float = setting(0.5, "limit of the rotation from the target", unit="rad", lower=0.0)
    contact_stiffness: float = setting(
        0.0, "largest expected contact stiffness; settings that would be unstable are refused; 0: no check", unit="N/m",
        lower=0.0,
    )  # fmt: skip
    period: float = setting(1e-3, "control period, for the check by contact_stiffness", unit="s", lower=1e-6)


class Compliance(PoseServo):
    """Pose servo with the target T_d exp(C_h w_h).

    Each state needs a wrench. `reset` chooses the target such that the hand keeps its pose under the present force.
    """

    NAME = "compliance"
    SUMMARY = "hand that is displaced by measured forces like a spring, or guided by them"
    SETTINGS = ComplianceSettings

    def _prepare(self) -> None:
        super()._prepare()
        model = self.model
        use = self.settings
        self._sensor_link = use.sensor_link or self.arm.link
        if self._sensor_link not in model.links:
            raise unknown_name("link", use.sensor_link, model.link_names)
        self._sensor = self._frame("sensor")
        self._compliance = np.linalg.inv(self._stiffness())
        if use.contact_stiffness > 0.0:
            self._refuse_unstable(use)
        self._dead_band = self.numbers("dead_band", use.dead_band, 2).tolist()
        self._bias, self._felt, self._hand_wrench = np.zeros(6), np.zeros(6), np.zeros(6)
        self._shift, self._moved, self._then = np.zeros(6), np.eye(4), math.nan

    def _stiffness(self) -> Array:
        """Return K_h as a matrix.

        Raises:
            InputError: if it is not symmetric and positive definite.
        """
        values = self.numbers("stiffness", self.settings.stiffness, 6, 36)
        K = np.diag(values) if len(values) == 6 else np.reshape(values, (6, 6))
        if not np.allclose(K, K.T, rtol=1e-9, atol=0.0) or np.min(np.linalg.eigvalsh(K)) <= 0.0:
            raise InputError(
                f"{self.NAME}: stiffness is {values.tolist()!r:.120}; its values must be positive, and a matrix must "
                "be symmetric with positive eigenvalues.",
                field="stiffness",
                value=self.settings.stiffness,
                allowed="a symmetric matrix with positive eigenvalues",
            )
        return K

    def _refuse_unstable(self, use: ComplianceSettings) -> None:
        softest = 1.0 / float(np.max(np.linalg.eigvalsh(self._compliance[:3, :3])))
        limit = stiffest_contact(
            gain=use.gain, stiffness=softest, period=use.period, delay=1, filter_time=use.filter_time
        )
        if use.contact_stiffness > limit:
            raise InputError(
                f"{self.NAME}: a contact of {use.contact_stiffness:g} N/m is too stiff: with gain {use.gain:g} 1/s, "
                f"stiffness {softest:g} N/m and period {use.period:g} s the contact is unstable above {limit:.4g} N/m. "
                "Reduce gain, period or filter_time, or increase stiffness.",
                field="contact_stiffness",
                value=use.contact_stiffness,
                allowed=f"below {limit:.4g} N/m",
            )

    # --- use --------------------------------------------------------------------------------------------------------
    def check_state(self, state: State) -> None:
        """Refuse an invalid state, or one without a wrench; see `Controller.check_state`."""
        super().check_state(state)
        self._sense_needed(state)

    def update(self, state: State, reference: Reference | None, time: float) -> Command:
        """Compute the command; each state needs a wrench. See `Controller.update`."""
        self._sense_needed(state)
        return super().update(state, reference, time)

    def _sense_needed(self, state: State) -> None:
        if state.wrench is None:
            raise StateRefused(
                f"{self.NAME}: the state has no wrench of the force sensor at {self._sensor_link!r}. "
                "Without a sensor, use pose_servo.",
                link=self._sensor_link,
                field="wrench",
            )

    def _begin(self, state: State, time: float) -> None:
        self._bias = np.zeros(6)
        self._then = math.nan
        seen = cast(Array, state.wrench)
        if self.settings.bias_at_reset:
            self._bias = seen
        self._felt = seen - self._bias
        super()._begin(state, time)

    def _reference_at(self, state: State) -> Reference:
        """Return the target at which the hand keeps its pose."""
        pose = self.arm.pose(state.q)
        self._moved = pose
        if self.settings.mode != "moved":
            self._shift = self._give_way(state, pose)
            turn = moved(np.eye(4), self._shift)[:3, :3]  # rotation from the target's axes to the hand's
            self._moved = moved(pose, -np.concatenate([turn @ self._shift[:3], self._shift[3:]]))
        return PoseReference(self._moved)

    def _accept(self, reference: Reference, state: State, time: float) -> Reference | None:
        if isinstance(reference, PoseReference):
            self._moved = reference.pose
        return super()._accept(reference, state, time)

    # --- law --------------------------------------------------------------------------------------------------------
    def _target(self, state: State, pose: Array, time: float) -> tuple[Array, Array | None]:
        dt = 0.0 if math.isnan(self._then) else time - self._then
        self._then = time
        use = self.settings
        share = 1.0 if use.filter_time <= 0.0 else 1.0 - math.exp(-dt / use.filter_time)
        self._felt = self._felt + share * (cast(Array, state.wrench) - self._bias - self._felt)
        shift = self._give_way(state, pose)
        twist = cast(PoseReference, self.reference).twist
        self._shift = shift
        if use.mode != "displaced":
            self._moved = _shifted(self._moved, pose, min(dt / use.moving_time, 1.0) * shift)
        return self._moved if use.mode == "moved" else _shifted(self._moved, pose, shift), twist

    def _give_way(self, state: State, pose: Array) -> Array:
        """Return x_h = C_h w_h in the hand's axes, limited to its bounds."""
        use = self.settings
        sensor = inverse(pose) @ self.arm.link_pose(self._sensor_link, state.q) @ self._sensor
        parts = zip((self._felt[:3], self._felt[3:]), self._dead_band, strict=True)
        beyond = [part * (max(length(part) - band, 0.0) / max(length(part), 1e-300)) for part, band in parts]
        wrench = np.concatenate(beyond)
        self._hand_wrench = wrench_matrix(sensor) @ wrench
        x = self._compliance @ self._hand_wrench
        return np.concatenate([_within(x[:3], use.largest_shift), _within(x[3:], use.largest_turn)])

    def signals(self) -> dict[str, Array]:
        """Return the signals of the pose servo, the wrench on the hand [N, N m], and its displacement [m, rad]."""
        return {**super().signals(), "wrench": self._hand_wrench, "shift": self._shift}


def _shifted(target: Array, hand: Array, shift: Array) -> Array:
    """Displace a target by a vector in the axes of the hand."""
    turn = target[:3, :3].T @ hand[:3, :3]
    return moved(target, (np.reshape(shift, (2, 3)) @ turn.T).ravel())


def _within(part: Array, most: float) -> Array:
    """Limit the magnitude of a vector."""
    size = length(part)
    return part if size <= most else part * (most / size)


# --- stability in contact ---------------------------------------------------------------------------------------------
def stiffest_contact(
    *, gain: float, stiffness: float, period: float, delay: int = 0, filter_time: float = 0.0
) -> float:
    """Return the contact stiffness at the stability limit [N/m].

    Args:
        gain: gain P of the pose servo [1/s].
        stiffness: desired stiffness K of the hand [N/m].
        period: control period T [s].
        delay: delay of the force in periods.
        filter_time: time constant of the force filter [s].

    Raises:
        InputError: if the loop is unstable without contact.
    """
    share = 1.0 - math.exp(-period / filter_time) if filter_time > 0.0 else 1.0

    def is_unstable(contact: float) -> bool:
        step = np.zeros((2 + delay, 2 + delay))  # of the state (x, y, delayed forces, latest first)
        step[1, 1 + delay if delay else 0] = share if delay else share * contact
        step[1, 1] += 1.0 - share
        step[0] = -period * gain / stiffness * step[1]
        step[0, 0] += 1.0 - period * gain
        if delay:
            step[2, 0] = contact
            step[range(3, 2 + delay), range(2, 1 + delay)] = 1.0
        return float(np.max(np.abs(np.linalg.eigvals(step)))) > 1.0 + 1e-12

    if is_unstable(0.0):
        raise InputError(
            f"gain {gain:g} 1/s is too large for a period of {period:g} s; reduce it.", field="gain", value=gain
        )
    low, high = 0.0, stiffness
    while not is_unstable(high):
        low, high = high, 2.0 * high
        if high > _STIFFEST:
            return math.inf
    while high - low > 1e-9 * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if is_unstable(middle) else (middle, high)
    return low
