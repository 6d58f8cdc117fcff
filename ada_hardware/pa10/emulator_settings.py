# SPDX-License-Identifier: Apache-2.0
"""Settings of an emulated PA-10."""

from __future__ import annotations

from dataclasses import dataclass

from ada_dynamics.errors import InputError
from ada_hardware.pa10.arm import RATED_TORQUE
from ada_hardware.pa10.variants import AXES, VARIANTS
from ada_robot.settings import setting


@dataclass(frozen=True)
class Pa10EmulatorSettings:
    """The emulated arm, its initial pose, its response times, and the host errors it reports."""

    variant: str = setting("ce", "controller: ce or 7c", choices=tuple(VARIANTS), read_only=True)
    axes: int = setting(AXES, "7, or 6 for a PA10-6CE", choices=(6, AXES), read_only=True)
    start: tuple[float, ...] = setting(
        (0.0, 0.6, 0.0, 1.5, 0.0, 1.04, 0.0), "angles of the seven axes when it is switched on", unit="rad"
    )
    reply_time: float = setting(0.0003, "from a packet to its answer", unit="s", lower=0.0, upper=1.0)
    watchdog: float = setting(
        0.0, "silence after which it stops; 0: 10 ms of a ce, 400 ms of a 7c, as their sources say", unit="s", lower=0.0
    )
    servo_on_time: float = setting(
        0.02, "from the command for servo on until it follows", unit="s", lower=0.0, upper=10.0
    )
    speed_time_constant: float = setting(
        0.005, "of the speed drives, which are of first order; 0: none", unit="s", lower=0.0, upper=1.0
    )
    friction: float = setting(0.0, "viscous friction of each axis, by its rotor's inertia", unit="1/s", lower=0.0)
    payload: tuple[float, ...] = setting(
        (0.0, 0.0, 0.0, 0.0), "mass [kg] and centre of mass in the flange's frame [m] of what the hand holds"
    )
    limit_overrun: float = setting(
        1e-3,
        "how far beyond its limit an axis is before the controller stops it there",
        unit="rad",
        lower=0.0,
        upper=0.01,
    )
    rated_torque: tuple[float, ...] = setting(
        RATED_TORQUE, "of the seven motors", unit="N m", lower=1e-3, upper=100.0, read_only=True
    )
    answers_before_start: bool = setting(
        True, "answer C before S, saying that nothing can be controlled; else be silent: no source says which is so"
    )
    max_acceleration: float = setting(
        0.0,
        "judge: greatest change of speeds per second; 0: each axis' greatest speed within 0.1 s",
        unit="rad/s^2",
        lower=0.0,
    )
    alarm_grace: float = setting(
        0.03,
        "judge: how long after an alarm was first reported motion may still be demanded; answers may have been lost",
        unit="s",
        lower=0.0,
    )

    def __post_init__(self) -> None:
        """Refuse what does not fit together.

        Raises:
            InputError: which value.
        """
        for name, given in (("start", self.start), ("rated_torque", self.rated_torque)):
            if len(given) != AXES:
                text = f"{name} has {len(given)} numbers; give {AXES}, also for an arm of six axes."
                raise InputError(text, field=name, value=len(given), allowed=AXES)
        if len(self.payload) != 4 or not self.payload[0] >= 0.0:
            text = f"payload is {self.payload}; give its mass, 0 or more, and x, y, z of its centre of mass."
            raise InputError(text, field="payload", value=self.payload)
        if self.axes != AXES and self.variant != "ce":
            text = f"axes is {self.axes} with variant {self.variant!r}; only a CE has six. Set variant: ce."
            raise InputError(text, field="axes", value=self.axes)
