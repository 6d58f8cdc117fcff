# SPDX-License-Identifier: Apache-2.0
"""Settings of the emulated PA-10."""

from __future__ import annotations

from dataclasses import dataclass

from ada_dynamics.errors import InputError
from ada_hardware.pa10.arm import RATED_TORQUE
from ada_hardware.pa10.variants import AXES, VARIANTS
from ada_robot.settings import setting


@dataclass(frozen=True)
class Pa10EmulatorSettings:
    """Emulated arm, initial configuration, response times, and thresholds of the violation checks."""

    variant: str = setting("ce", "controller: ce or 7c", choices=tuple(VARIANTS), read_only=True)
    axes: int = setting(AXES, "7, or 6 for a PA10-6CE", choices=(6, AXES), read_only=True)
    start: tuple[float, ...] = setting(
        (0.0, 0.6, 0.0, 1.5, 0.0, 1.04, 0.0), "initial angles of the seven axes", unit="rad"
    )
    reply_time: float = setting(0.0003, "delay of an answer", unit="s", lower=0.0, upper=1.0)
    watchdog: float = setting(
        0.0, "watchdog timeout; 0: that of the variant (10 ms for ce, 400 ms for 7c)", unit="s", lower=0.0
    )
    servo_on_time: float = setting(
        0.02, "delay between the servo-on command and motion", unit="s", lower=0.0, upper=10.0
    )
    speed_time_constant: float = setting(
        0.005, "time constant of the first-order speed drives; 0: none", unit="s", lower=0.0, upper=1.0
    )
    friction: float = setting(0.0, "viscous friction relative to the rotor inertia of each axis", unit="1/s", lower=0.0)
    payload: tuple[float, ...] = setting(
        (0.0, 0.0, 0.0, 0.0), "mass [kg] and centre of mass in the flange frame [m] of the payload"
    )
    limit_overrun: float = setting(
        1e-3,
        "distance beyond its limit at which the controller stops an axis",
        unit="rad",
        lower=0.0,
        upper=0.01,
    )
    rated_torque: tuple[float, ...] = setting(
        RATED_TORQUE, "rated torques of the seven motors", unit="N m", lower=1e-3, upper=100.0, read_only=True
    )
    answers_before_start: bool = setting(
        True, 'answer C before S with the status "not controllable"; otherwise do not answer (both undocumented)'
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
        if len(self.payload) != 4 or not self.payload[0] >= 0.0:
            text = f"payload is {self.payload}; required are a mass of 0 or more and x, y, z of its centre of mass."
            raise InputError(text, field="payload", value=self.payload)
        if self.axes != AXES and self.variant != "ce":
            text = f"axes is {self.axes} with variant {self.variant!r}; only a CE can have six. Set variant: ce."
            raise InputError(text, field="axes", value=self.axes)
