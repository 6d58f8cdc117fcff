# SPDX-License-Identifier: Apache-2.0
"""Settings of the PA-10; the defaults are those of a PA10-7CE."""

from __future__ import annotations

from dataclasses import dataclass

from ada_dynamics.errors import InputError
from ada_hardware.pa10.variants import AXES, RATED_TORQUE, VARIANTS, variant
from ada_robot.settings import setting


@dataclass(frozen=True)
class Pa10Settings:
    """Connection, type and control of a PA-10."""

    url: str = setting("", "address of the arm: arcnet:arc0, udp://host:port, dry:", read_only=True)
    variant: str = setting(
        "ce", "controller: ce (PA10-6CE, PA10-7CE) or 7c (old PA-10-7C)", choices=tuple(VARIANTS), read_only=True
    )
    axes: int = setting(AXES, "7, or 6 for a PA10-6CE", choices=(6, AXES), read_only=True)
    period: float = setting(0.002, "cycle period", unit="s", lower=0.001, upper=0.006, read_only=True)
    reply_timeout: float = setting(
        0.0015, "timeout of the answer in a cycle; less than the period", unit="s", lower=1e-4, upper=0.006
    )
    command_timeout: float = setting(
        0.008, "timeout of single commands such as S and A", unit="s", lower=1e-3, upper=0.1
    )
    start_timeout: float = setting(1.0, "timeout for connecting and for switching the servos on", unit="s", lower=0.01)
    device_timeout: float = setting(
        0.010,
        "watchdog timeout of the arm: 10 ms on a CE; for a 7C sources differ (RobWork 400 ms, another 10 ms), use the "
        "smaller value until measured on the robot",
        unit="s",
        lower=0.004,
        upper=0.4,
        read_only=True,
    )
    rated_torque: tuple[float, ...] = setting(
        RATED_TORQUE, "rated torques of the seven motors", unit="N m", lower=1e-3, upper=100.0, read_only=True
    )
    position_gain: float = setting(
        20.0, "position control: speed per position error", unit="1/s", lower=0.1, upper=100.0
    )
    position_acceleration: float = setting(
        0.0, "position control: acceleration limit; 0: velocity limit within 0.1 s", unit="rad/s^2", lower=0.0
    )
    dead_man: bool = setting(
        True,
        "enabling device: the controller monitors the dead-man switch while servos are on, and the arm is activated "
        "only while it is held; false: not monitored",
        read_only=True,
    )
    stop_together: bool = setting(
        True, "let the controller stop all axes on an alarm of one; the host always does", read_only=True
    )
    obey_switches: bool = setting(
        True,
        "emergency stop, motor power, limit, teaching and dead-man switch reported by the controller stop the arm and "
        "inhibit activation; false: display only, for a 7c with different status words",
        read_only=True,
    )

    @property
    def robot(self) -> str:
        """Catalogue name of the arm."""
        return variant(self.variant).model

    def __post_init__(self) -> None:
        """Check the combination of values; raises InputError."""
        if len(self.rated_torque) != AXES:
            text = (
                f"rated_torque has {len(self.rated_torque)} numbers; {AXES} are required, one per motor; the third is "
                "unused on a 6CE."
            )
            raise InputError(text, field="rated_torque", value=len(self.rated_torque), allowed=AXES)
        _check_axes(self.axes, self.variant)
        if self.reply_timeout >= self.period:
            text = f"reply_timeout is {self.reply_timeout:g} s; it must be less than the period, {self.period:g} s."
            raise InputError(text, field="reply_timeout", value=self.reply_timeout, allowed=self.period)
        known = variant(self.variant).watchdog
        if self.device_timeout > known:
            text = (
                f"device_timeout is {self.device_timeout:g} s; the watchdog of variant {self.variant!r} has "
                f"{known:g} s. Set it to {known:g} or less."
            )
            raise InputError(text, field="device_timeout", value=self.device_timeout, allowed=known)
        if 2.0 * self.period > self.device_timeout:
            text = (
                f"period is {self.period:g} s with device_timeout {self.device_timeout:g} s; a single lost packet must "
                f"not stop the arm: set the period to {0.5 * self.device_timeout:g} s or less."
            )
            raise InputError(text, field="period", value=self.period, allowed=0.5 * self.device_timeout)


def _check_axes(axes: int, variant: str) -> None:
    """Check the number of axes of a variant; raises InputError."""
    if axes != AXES and variant != "ce":
        text = f"axes is {axes} with variant {variant!r}; only a CE can have six. Set variant: ce."
        raise InputError(text, field="axes", value=axes)


@dataclass(frozen=True)
class Pa10EmulatorSettings:
    """Emulated arm, initial configuration, response times, and thresholds of the violation checks."""

    variant: str = setting("ce", "controller: ce or 7c", choices=tuple(VARIANTS), read_only=True)
    axes: int = setting(AXES, "7, or 6 for a PA10-6CE", choices=(6, AXES), read_only=True)
    start: tuple[float, ...] = setting(
        (0.0, 0.6, 0.0, 1.5, 0.0, 1.04, 0.0), "initial angles of the seven axes", unit="rad"
    )
    watchdog: float = setting(
        0.0, "watchdog timeout; 0: that of the variant (10 ms for ce, 400 ms for 7c)", unit="s", lower=0.0
    )
    servo_on_time: float = setting(
        0.02, "delay between the servo-on command and motion", unit="s", lower=0.0, upper=10.0
    )
    speed_time_constant: float = setting(
        0.005, "time constant of the first-order speed drives; 0: none", unit="s", lower=0.0, upper=1.0
    )
    rated_torque: tuple[float, ...] = setting(
        RATED_TORQUE, "rated torques of the seven motors", unit="N m", lower=1e-3, upper=100.0, read_only=True
    )
    max_acceleration: float = setting(
        0.0,
        "violation threshold: change of speed per second; 0: velocity limit within 0.1 s",
        unit="rad/s^2",
        lower=0.0,
    )
    alarm_grace: float = setting(
        0.03,
        "violation threshold: time between the first report of an alarm and the last motion command",
        unit="s",
        lower=0.0,
    )

    def __post_init__(self) -> None:
        """Check the combination of values; raises InputError."""
        for name, given in (("start", self.start), ("rated_torque", self.rated_torque)):
            if len(given) != AXES:
                text = f"{name} has {len(given)} numbers; {AXES} are required, also for an arm of six axes."
                raise InputError(text, field=name, value=len(given), allowed=AXES)
        _check_axes(self.axes, self.variant)
