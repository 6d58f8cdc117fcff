# SPDX-License-Identifier: Apache-2.0
"""Settings of the Kondo drivers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from ada_dynamics.errors import InputError
from ada_hardware.kondo.rcb4.bus import COM_SPEEDS
from ada_robot.settings import setting

READ, COMMANDED = "read", "commanded"  # values of `feedback`

fixed = partial(setting, read_only=True)


@dataclass(frozen=True)
class ServoSettings:
    """Settings common to the Kondo drivers."""

    url: str = fixed("", 'serial line such as /dev/ttyUSB0; "dry:" opens none')
    angle_map: str = fixed("", "file with channels, signs and limits of the servos; empty: that of the robot")
    robot: str = fixed("", "robot with the joints of the map, by name or file; empty: any joints")
    period: float = fixed(
        0.0,
        "cycle period; 0: from the transmission time, at least 0.025 for RCB-1 and 0.015 for RCB-4",
        unit="s",
        lower=0.0,
        upper=1.0,
    )
    latency: float = fixed(
        0.008,
        "latency of the port per request, for the computed period; FTDI adapters have 0.016 unless their latency_timer "
        "is 1 ms",
        unit="s",
        lower=0.0,
        upper=0.1,
    )
    feedback: str = fixed(READ, "positions as measured by the servos or as commanded", choices=(READ, COMMANDED))
    reply_timeout: float = fixed(0.05, "timeout of a reply", unit="s", lower=0.001, upper=1.0)
    blind_time: float = fixed(
        0.25,
        "time without plausible readings after which nothing more is commanded and the robot is stopped",
        unit="s",
        lower=0.02,
        upper=2.0,
    )
    retries: int = fixed(4, "retries of a request; none within cycles", lower=0)
    retry_pause: float = fixed(0.010, "pause before a retry", unit="s", lower=0.0, upper=1.0)


CHOSEN = -1  # value of `speed`


@dataclass(frozen=True)
class Rcb1Settings(ServoSettings):
    """Settings of the KHR-1 driver."""

    robot: str = fixed("khr1", "robot whose joints the map must have, by name or file; empty: any joints")
    first_id: int = fixed(0, "ID of the board with channels 1 to 12", lower=0, upper=31)
    second_id: int = fixed(1, "ID of the board with channels 13 to 24", lower=0, upper=31)
    speed: int = fixed(
        CHOSEN, "servo speed, 0 fastest to 7 slowest; -1: slowest that reaches each step in a period", lower=-1, upper=7
    )
    feedback: str = fixed(
        READ,
        "positions as read from the boards, or as commanded; it is not documented whether boards measure positions "
        "while servos hold",
        choices=(READ, COMMANDED),
    )
    reply_timeout: float = fixed(0.030, "timeout of a reply", unit="s", lower=0.001, upper=1.0)

    def __post_init__(self) -> None:
        """Check that the two IDs differ; raises InputError."""
        if self.first_id == self.second_id:
            text = (
                f"first_id and second_id are both {self.first_id}; boards on one line need different IDs. Connect one "
                "board only and set its ID (ada hw service khr1 set-id)."
            )
            raise InputError(text, field="second_id", value=self.second_id)


@dataclass(frozen=True)
class Rcb4Settings(ServoSettings):
    """Settings of the KHR-3HV and KXR driver."""

    angle_map: str = fixed("", "file with ids, sios, signs and limits of the servos; empty: that of the KHR-3HV")
    com_speed: int = fixed(
        COM_SPEEDS[0], "rate of the line, as set on the board with HeartToHeart4", unit="baud", choices=COM_SPEEDS
    )
    frame_time: float = fixed(0.015, "duration of a servo frame", unit="s", lower=0.001, upper=0.1)
    stretch: int = fixed(0, "stretch of all servos set at start, 1 soft to 127 stiff; 0: unchanged", lower=0, upper=127)
    servo_speed: int = fixed(0, "speed of all servos set at start; 0: unchanged", lower=0, upper=127)
    current_limit: int = fixed(0, "current limit of all servos set at start; 0: unchanged", lower=0, upper=127)
    temperature_limit: int = fixed(
        0, "temperature limit of all servos set at start, 1 hottest to 127; 0: unchanged", lower=0, upper=127
    )
    battery_low: float = fixed(9.0, "supply voltage below which an alarm is raised; 0: never", unit="V", lower=0.0)
    battery_interval: float = fixed(1.0, "interval of supply voltage readings", unit="s", lower=0.0, upper=3600.0)
