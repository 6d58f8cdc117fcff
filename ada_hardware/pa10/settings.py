# SPDX-License-Identifier: Apache-2.0
"""Settings of a PA-10; the defaults are those of a PA10-7CE."""

from __future__ import annotations

from dataclasses import dataclass

from ada_dynamics.errors import InputError
from ada_hardware.pa10.arm import RATED_TORQUE, model_name
from ada_hardware.pa10.variants import AXES, VARIANTS, variant
from ada_robot.settings import setting


@dataclass(frozen=True)
class Pa10Settings:
    """Where the arm is, which one it is, and how it is driven."""

    url: str = setting("", "where the arm is: arcnet:arc0, udp://host:port, dry:", read_only=True)
    variant: str = setting(
        "ce", "controller: ce (PA10-6CE, PA10-7CE) or 7c (old PA-10-7C)", choices=tuple(VARIANTS), read_only=True
    )
    axes: int = setting(AXES, "7, or 6 for a PA10-6CE", choices=(6, AXES), read_only=True)
    period: float = setting(0.002, "between cycles", unit="s", lower=0.001, upper=0.006, read_only=True)
    reply_timeout: float = setting(
        0.0015, "how long a cycle waits for the arm's answer; less than the period", unit="s", lower=1e-4, upper=0.006
    )
    command_timeout: float = setting(
        0.008, "how long answers to single commands are waited for, such as S and A", unit="s", lower=1e-3, upper=0.1
    )
    start_timeout: float = setting(
        1.0, "how long all servos may take to come on, and how long an arm is looked for", unit="s", lower=0.01
    )
    device_timeout: float = setting(
        0.010,
        "silence after which the arm is taken to stop by itself: 10 ms on a CE; RobWork says 400 ms of an old 7C, "
        "another source 10 ms, so that the small one counts until it is found out on the robot",
        unit="s",
        lower=0.004,
        upper=0.4,
        read_only=True,
    )
    rated_torque: tuple[float, ...] = setting(
        RATED_TORQUE, "of the seven motors", unit="N m", lower=1e-3, upper=100.0, read_only=True
    )
    position_gain: float = setting(
        20.0, "positions: speed by how far a joint is from its command", unit="1/s", lower=0.1, upper=100.0
    )
    feedforward: float = setting(
        1.0, "positions: share of the speed at which commands move on that is added", lower=0.0, upper=1.0
    )
    position_acceleration: float = setting(
        0.0, "positions: greatest; 0: each joint's velocity limit within 0.1 s", unit="rad/s^2", lower=0.0
    )
    dead_man: bool = setting(
        True,
        "enabling device: while servos are on the controller watches the dead-man switch, and without it held the arm "
        "is not activated; false: nobody need hold anything",
        read_only=True,
    )
    stop_together: bool = setting(
        True, "let the controller stop all axes on the alarm of one; the host does so in any case", read_only=True
    )
    obey_switches: bool = setting(
        True,
        "what the controller says about emergency stop, motor power, limit, teaching and dead-man switch stops the arm "
        "and keeps it from being activated; false: it is shown alone, for a 7c whose words mean something else",
        read_only=True,
    )

    @property
    def robot(self) -> str:
        """The robot of the catalogue that the arm is."""
        return model_name(self.variant)

    def __post_init__(self) -> None:
        """Refuse what does not fit together.

        Raises:
            InputError: which values, and what is allowed.
        """
        if len(self.rated_torque) != AXES:
            text = (
                f"rated_torque has {len(self.rated_torque)} numbers; give {AXES}, one per motor; a 6CE's third is not "
                "used."
            )
            raise InputError(text, field="rated_torque", value=len(self.rated_torque), allowed=AXES)
        if self.axes != AXES and self.variant != "ce":
            text = f"axes is {self.axes} with variant {self.variant!r}; only a CE has six. Set variant: ce."
            raise InputError(text, field="axes", value=self.axes)
        if self.reply_timeout >= self.period:
            text = f"reply_timeout is {self.reply_timeout:g} s; it must be less than the period, {self.period:g} s."
            raise InputError(text, field="reply_timeout", value=self.reply_timeout, allowed=self.period)
        known = variant(self.variant).watchdog
        if self.device_timeout > known:
            text = (
                f"device_timeout is {self.device_timeout:g} s; the controller of variant {self.variant!r} stops after "
                f"{known:g} s of silence. Set it to {known:g} or less."
            )
            raise InputError(text, field="device_timeout", value=self.device_timeout, allowed=known)
        if 2.0 * self.period > self.device_timeout:
            text = (
                f"period is {self.period:g} s with device_timeout {self.device_timeout:g} s; one lost packet must not "
                f"stop the arm: set the period to {0.5 * self.device_timeout:g} s or less."
            )
            raise InputError(text, field="period", value=self.period, allowed=0.5 * self.device_timeout)
