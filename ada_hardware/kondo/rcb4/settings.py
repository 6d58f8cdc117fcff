# SPDX-License-Identifier: Apache-2.0
"""Settings of the KHR-3HV and KXR driver."""

from __future__ import annotations

from dataclasses import dataclass

from ada_hardware.kondo.rcb4.bus import COM_SPEEDS
from ada_hardware.kondo.servo_settings import ServoSettings, fixed


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
