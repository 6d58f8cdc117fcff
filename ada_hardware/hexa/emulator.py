# SPDX-License-Identifier: Apache-2.0
"""Emulated HEXA table: closed-chain dynamics, servos and brakes, controlled by the packets of `packets`.

    table = HexaEmulator(HexaEmulatorSettings(stiffness=800.0, probe=(0.0, 0.0, -0.561)))
    replies = table.receive(packet, now)
    table.plant.pose, table.plant.plate_wrench

The computer of the table samples and outputs torques every 2 ms: a command takes effect at the start of the next
period, and an answer contains the measurement of the last one; STOP takes effect at once. The table stops (brakes on,
alarm) after a timeout of its host, for a command beyond the motor limits, without a pose or at a singular one, and if a
crank does not follow its servo.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import AdaError, InputError
from ada_dynamics.robots.mechanisms.parallel_robots import LEGS
from ada_dynamics.spatial.orientation import pose_of
from ada_hardware.emulation.emulator import Emulator, TimedReply
from ada_hardware.hexa.alarms import AxisAlarm, TableAlarm
from ada_hardware.hexa.kinematics import HOME, NoPose
from ada_hardware.hexa.packets import (
    CommandPacket,
    TableRequest,
    TableState,
    TableStatus,
    decode_command,
    encode_status,
    is_newer,
)
from ada_hardware.hexa.plant import (
    LEAST_HOLD,
    LIMITS,
    LOWER,
    PERIOD,
    RATE_LIMIT,
    TORQUE_LIMIT,
    UPPER,
    WATCHDOG,
    HexaPlant,
    Probe,
)
from ada_robot.contract import Mode
from ada_robot.limits import Limits
from ada_robot.settings import setting

DAMPING = 5.0  # [N m s/rad], an assumption: damping ratios from 0.3 to 1.2 for all stiffnesses and motions
_STIFFEST = 2000.0  # [N m/rad]; a stiffer servo with a hold time of 2 ms oscillates
_ROUNDING = 1e-9  # [rad]
_BOUNDS = Limits(LIMITS)
_NO_ALARM, _NO_AXIS_ALARM = TableAlarm(0), AxisAlarm(0)
_DRIVEN = (TableState.POSITION, TableState.EFFORT)
_LONGEST_CATCH_UP = 0.1  # [s]; longer delays of this process are skipped
_NEAR = 1e-6  # of a period: tolerance for rounding errors
_RATES_LAST = 3  # periods after a command in which the servo uses its target rates
_GRACE = 0.1  # [s] after an alarm in which the host may not have received it yet
_BEYOND = 0.05  # [rad] beyond its range at which a crank raises an alarm
_FOLLOWING = 0.3  # [rad] position error that raises an alarm
_OVER_SPEED = 1.5  # times the rate limit


@dataclass(frozen=True)
class HexaEmulatorSettings:
    """Settings of the emulated table."""

    stiffness: float = setting(
        400.0, "K_p of the servos; 200, 400 and 800 in figs. 12-14", unit="N m/rad", lower=1.0, upper=_STIFFEST
    )
    damping: float = setting(DAMPING, "K_d of the servos", unit="N m s/rad", lower=0.1, upper=15.0)
    rate_reference: str = setting(
        "difference",
        "rate reference of the damping term: difference of successive targets (as eq. 10), or none",
        choices=("difference", "none"),
    )
    plate_mass: float = setting(0.5, "mass of the plate and everything mounted on it", unit="kg", lower=0.01, upper=5.0)
    position: tuple[float, ...] = setting((0.0, 0.0, -0.55), "initial position of the plate", unit="m")
    rpy: tuple[float, ...] = setting((0.0, 0.0, 0.0), "initial roll, pitch and yaw of the plate", unit="rad")
    probe: tuple[float, ...] = setting((), "tip of a probe under the plate; empty: none", unit="m")
    probe_stiffness: float = setting(3e5, "stiffness of the contact with the probe", unit="N/m", lower=1e3, upper=2e6)
    probe_dissipation: float = setting(0.0, "loss of restitution by impact speed", unit="s/m", lower=0.0, upper=100.0)
    probe_friction: float = setting(0.0, "coefficient of friction of the contact", lower=0.0, upper=2.0)
    watchdog: float = setting(WATCHDOG, "watchdog timeout of a driven table", unit="s", lower=0.004, upper=10.0)
    reply_delay: float = setting(2e-4, "delay of an answer", unit="s", lower=0.0, upper=0.1)
    substep: float = setting(5e-4, "step of the integrator; 2 ms must be a multiple of it", unit="s", upper=2e-3)

    def __post_init__(self) -> None:
        """Check the lengths of lists; raises InputError."""
        for name, values, allowed in (
            ("position", self.position, (3,)),
            ("rpy", self.rpy, (3,)),
            ("probe", self.probe, (0, 3)),
        ):
            if len(values) not in allowed:
                raise InputError(
                    f"parameter {name} is {list(values)}; required are three numbers.", field=name, value=values
                )


def servo_torques(
    kp: float, kd: float, wanted: Array, wanted_rates: Array, angles: Array, rates: Array, weight: Array
) -> Array:
    """τ = K_p (q* - q) + K_d (q̇* - q̇) + weight compensation, clipped to the torque limit [N m].

    Args:
        kp: K_p [N m/rad].
        kd: K_d [N m s/rad].
        wanted: q* [rad].
        wanted_rates: q̇* [rad/s].
        angles: q [rad].
        rates: q̇ [rad/s].
        weight: weight compensation torques [N m].
    """
    asked = kp * (wanted - angles) + kd * (wanted_rates - rates) + weight
    return np.asarray(np.clip(asked, -TORQUE_LIMIT, TORQUE_LIMIT))


def invalid_reason(command: CommandPacket, present: Array, cycles: int) -> str:
    """Return why the motors cannot execute a command; "" if they can.

    Args:
        command: POSITION or EFFORT command.
        present: present targets [rad].
        cycles: cycles since the last command, including lost ones.
    """
    values, what, is_effort = np.array(command.values), command.request.name, command.request is TableRequest.EFFORT
    refusal = _BOUNDS.refusal(Mode.EFFORT if is_effort else Mode.POSITION, values, present)  # return motion is allowed
    if refusal is not None:
        return f"{what}, {refusal.reason.value}: {refusal.text}"
    steps, most = np.abs(values - present), RATE_LIMIT * PERIOD * cycles + _ROUNDING
    if is_effort or (steps <= most).all():
        return ""
    i = int(np.argmax(steps))
    return f"{what}: a step of {steps[i]:.6g} rad for leg {i + 1} in {cycles} cycles, at most {most:.6g}"


class HexaEmulator(Emulator[HexaEmulatorSettings]):
    """Emulated table with a computer that implements the packets.

    Attributes:
        plant: mechanism and contacts.
        state_now: state of the table.
        target: angles held by the servos [rad].
        ignored: number of invalid, old or foreign packets.
    """

    NAME: ClassVar[str] = "hexa"
    SETTINGS: ClassVar[type] = HexaEmulatorSettings
    WIRE: ClassVar[str] = "packets"
    tick = PERIOD
    FAULTS: ClassVar[Mapping[str, str]] = {
        "emergency_stop": "1: pressed",
        "over_current": "number of the axis (1 to 6) whose motor driver trips",
        "resolver": "number of the axis whose resolver fails, detected by the table",
        "weak": "fraction by which motor torque is reduced",
        "mute": "1: operates, but does not answer",
        "power_cut": "1: off; back to 0: restart with brakes on",
    }

    def __init__(self, settings: HexaEmulatorSettings) -> None:
        """Start with brakes on; raises InputError for a pose out of reach, or another invalid value."""
        super().__init__(settings)
        probe = None
        if settings.probe:
            x, y, z = settings.probe
            probe = Probe((x, y, z), settings.probe_stiffness, settings.probe_dissipation, settings.probe_friction)
        self.plant = HexaPlant(
            pose_of(settings.position, settings.rpy),
            probe,
            plate_mass=settings.plate_mass,
            substep=settings.substep,
        )
        # compile now: the table would be silent at its first command, and its watchdog would act
        angles = self.plant.kinematics.inverse(HOME)
        self.plant.kinematics.jacobians(self.plant.kinematics.forward(angles).pose, angles)
        self.ignored = 0
        self._zero: float | None = None  # start time of the periods
        self._done = 0  # periods since then
        self._switch_on()

    def _switch_on(self) -> None:
        self.state_now = TableState.BRAKED
        self._session, self._number = 0, 0
        self._alarms, self._axis_alarms, self._alarm_time = _NO_ALARM, [_NO_AXIS_ALARM] * LEGS, math.inf
        self._last_command_time = -math.inf
        self.target = self.plant.angles
        self._target_configuration = self.plant.simulation.q
        self._target_rates, self._rates_age = np.zeros(LEGS), _RATES_LAST
        self._efforts = np.zeros(LEGS)
        self._on_since = self._done
        self.plant.brake()

    # --- time -----------------------------------------------------------------------------------------------------
    def advance(self, now: float) -> list[TimedReply]:  # noqa: D102
        if self._zero is None:
            self._zero = now
        due = math.floor((now - self._zero) / PERIOD + _NEAR)
        if (due - self._done) * PERIOD > _LONGEST_CATCH_UP:
            lost = due - self._done - round(_LONGEST_CATCH_UP / PERIOD)
            self._zero += lost * PERIOD
            due -= lost
        while self._done < due:
            self._period()
        return []

    def _period(self) -> None:
        """Advance the mechanism by one period, then measure and output torques."""
        try:
            self.plant.run()
        except AdaError:  # the simulation cannot leave this configuration: stop there
            self.plant.stand_still()
            self._alarm(TableAlarm.OUT_OF_REACH)
        self._done += 1
        if self.faults["power_cut"]:
            return
        if self.state_now in _DRIVEN:
            if self._now - self._last_command_time > self.settings.watchdog + _NEAR * PERIOD:
                self._alarm(TableAlarm.HOST_SILENT)
            self._watch_axes()
        if self.state_now in _DRIVEN:
            self._drive()

    @property
    def _now(self) -> float:
        """Time of the last period [s]."""
        return (self._zero or 0.0) + self._done * PERIOD

    def _drive(self) -> None:
        if self.state_now is TableState.POSITION:
            wanted_rates = self._target_rates if self._rates_age < _RATES_LAST else np.zeros(LEGS)
            self._rates_age += 1
            use, plant = self.settings, self.plant
            state = self.target, wanted_rates, self.plant.angles, plant.rates, plant.weight_torques
            torques = servo_torques(use.stiffness, use.damping, *state)
        else:
            torques = self._efforts
        self.plant.drive((1.0 - self.faults["weak"]) * torques)

    def _watch_axes(self) -> None:
        angles, rates = self.plant.angles, self.plant.rates
        is_held = self.state_now is not TableState.POSITION or np.abs(self.target - angles).max() <= _FOLLOWING
        is_inside = angles.min() >= LOWER - _BEYOND and angles.max() <= UPPER + _BEYOND
        if is_held and is_inside and np.abs(rates).max() <= _OVER_SPEED * RATE_LIMIT:
            return  # fast path
        found = (
            (AxisAlarm.ANGLE_LIMIT, (angles < LOWER - _BEYOND) & (rates < 0.0)),
            (AxisAlarm.ANGLE_LIMIT, (angles > UPPER + _BEYOND) & (rates > 0.0)),  # return motion is allowed
            (AxisAlarm.OVER_SPEED, np.abs(rates) > _OVER_SPEED * RATE_LIMIT),
            (
                AxisAlarm.FOLLOWING,
                (np.abs(self.target - angles) > _FOLLOWING) & (self.state_now is TableState.POSITION),
            ),
        )
        for alarm, where in found:
            for axis in np.flatnonzero(where).tolist():
                self._alarm(axis=axis, axis_alarm=alarm)

    def _alarm(self, alarm: TableAlarm = _NO_ALARM, axis: int = 0, axis_alarm: AxisAlarm = _NO_AXIS_ALARM) -> None:
        self._alarms |= alarm
        self._axis_alarms[axis] |= axis_alarm
        if self.state_now is not TableState.ALARM:
            self._alarm_time = self._now
        self.state_now = TableState.ALARM
        self.plant.brake()

    # --- the wire -------------------------------------------------------------------------------------------------
    def receive(self, data: bytes, now: float) -> list[TimedReply]:  # noqa: D102
        self.advance(now)
        self._time = now
        command = decode_command(data)
        if command is None or self.faults["power_cut"]:
            self.ignored += 1
            return []
        is_own = command.session == self._session
        if is_own and not is_newer(command.number, self._number):
            self.ignored += 1  # duplicate or out of order
            return []
        if is_own:
            self._last_command_time = now
        elif self.state_now in _DRIVEN and command.request not in (TableRequest.READ, TableRequest.STOP):
            self.ignored += 1
            self._report_violation(f"{command.request.name} of a second host, session {command.session:08x}")
            return self._answer(command)
        self._execute(command, now, is_own)
        if is_own:
            self._number = command.number
        return self._answer(command)

    def _execute(self, command: CommandPacket, now: float, is_own: bool) -> None:
        request = command.request
        if request is TableRequest.START:
            self._start(command, now)
        elif request is TableRequest.STOP and self.state_now in _DRIVEN:
            self.state_now = TableState.BRAKED
            self.plant.brake()
        elif request is TableRequest.CLEAR and self.state_now is TableState.ALARM:
            self._alarms, self._axis_alarms = _NO_ALARM, [_NO_AXIS_ALARM] * LEGS
            self.state_now, self._alarm_time = TableState.BRAKED, math.inf
            self._show_faults()
        elif request in (TableRequest.POSITION, TableRequest.EFFORT):
            if self.state_now not in _DRIVEN or not is_own:
                self._report_undriven(command)
                return
            self._follow(command)

    def _start(self, command: CommandPacket, now: float) -> None:
        if self.state_now is TableState.ALARM:
            self._report_undriven(command)
        if self.state_now is not TableState.BRAKED:
            return
        self._session, self._number, self._last_command_time = command.session, command.number, now
        self.target, self._target_configuration = self.plant.angles, self.plant.simulation.q
        self._rates_age = _RATES_LAST
        self.state_now = TableState.POSITION

    def _report_undriven(self, command: CommandPacket) -> None:
        """Record a motion command during an alarm or with brakes on."""
        since = self._time - self._alarm_time
        if self.state_now is not TableState.ALARM:
            self._report_violation(f"{command.request.name} with the brakes on")
        elif since > _GRACE:
            self._report_violation(f"{command.request.name} {since:.3f} s after an alarm that was not cleared")

    def _follow(self, command: CommandPacket) -> None:
        """Execute a motion command of the host in control."""
        values = np.array(command.values)
        cycles = (command.number - self._number) % (1 << 32)
        from_where = self.target if self.state_now is TableState.POSITION else self.plant.angles
        problem = invalid_reason(command, from_where, cycles)
        if problem:
            self._report_violation(problem)
            self._alarm(TableAlarm.BAD_COMMAND)
            return
        if command.request is TableRequest.EFFORT:
            self.state_now, self._efforts = TableState.EFFORT, values
            self.target, self._target_configuration = self.plant.angles, self.plant.simulation.q
            return
        try:
            found = self.plant.kinematics.forward(values, self._target_configuration)
        except NoPose:
            self._alarm(TableAlarm.OUT_OF_REACH)
            return
        if self.plant.kinematics.jacobians(found.pose, values).hold < LEAST_HOLD:
            self._alarm(TableAlarm.OUT_OF_REACH)
            return
        if self.settings.rate_reference == "difference":
            self._target_rates, self._rates_age = (values - from_where) / (cycles * PERIOD), 0
        self.state_now, self.target, self._target_configuration = TableState.POSITION, values, found.configuration

    def _answer(self, command: CommandPacket) -> list[TimedReply]:
        if self.faults["mute"]:
            return []
        status = TableStatus(
            self.state_now,
            command.number,
            self._session,
            int(self._alarms),
            tuple(map(int, self._axis_alarms)),
            (self._done - self._on_since) * PERIOD,
            tuple(self.plant.angles.tolist()),
            tuple(self.plant.rates.tolist()),
            tuple(self.plant.torques.tolist()),
        )
        return [TimedReply(encode_status(status), self.settings.reply_delay)]

    # --- faults ---------------------------------------------------------------------------------------------------
    def fault(self, name: str, value: float) -> None:  # noqa: D102
        super().fault(name, value)
        if name == "power_cut":
            self._switch_on()
        self._show_faults()

    def _show_faults(self) -> None:
        if self.faults["emergency_stop"]:
            self._alarm(TableAlarm.EMERGENCY_STOP)
        for name, alarm in (("over_current", AxisAlarm.OVER_CURRENT), ("resolver", AxisAlarm.RESOLVER)):
            axis = int(self.faults[name])
            if axis:
                self._alarm(axis=axis - 1, axis_alarm=alarm)

    def state(self) -> dict[str, object]:  # noqa: D102
        plant = self.plant
        return {
            "state": self.state_now.name,
            "session": self._session,
            "alarms": [one.name for one in TableAlarm if one in self._alarms],
            "axis_alarms": [int(word) for word in self._axis_alarms],
            "time": plant.time,
            "angles": plant.angles.tolist(),
            "rates": plant.rates.tolist(),
            "torques": plant.torques.tolist(),
            "target": self.target.tolist(),
            "pose": plant.pose.tolist(),
            "plate_wrench": plant.plate_wrench.tolist(),
            "ignored": self.ignored,
        }
