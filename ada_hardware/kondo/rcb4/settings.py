# SPDX-License-Identifier: Apache-2.0
"""Settings of the driver of a KHR-3HV or KXR."""

from __future__ import annotations

from dataclasses import dataclass

from ada_hardware.kondo.rcb4.bus import COM_SPEEDS
from ada_hardware.kondo.servo_settings import ServoSettings, fixed


@dataclass(frozen=True)
class Rcb4Settings(ServoSettings):
    """Where the robot is, how its servos are wired, how often it is asked; see the descriptions."""

    angle_map: str = fixed("", "file with the servos' ids, sios, signs and limits; empty: that of the KHR-3HV")
    com_speed: int = fixed(
        COM_SPEEDS[0], "of the line, as HeartToHeart4 has set it on the board", unit="baud", choices=COM_SPEEDS
    )
    frame_time: float = fixed(0.015, "of one frame of a servo's motion", unit="s", lower=0.001, upper=0.1)
    stretch: int = fixed(0, "of all servos at the start, 1 soft to 127 stiff; 0: as it is", lower=0, upper=127)
    servo_speed: int = fixed(0, "of all servos at the start, 1 to 127; 0: as it is", lower=0, upper=127)
    current_limit: int = fixed(0, "of all servos at the start, 1 to 127; 0: as it is", lower=0, upper=127)
    temperature_limit: int = fixed(
        0, "of all servos at the start, 1 to 127, less is hotter; 0: as it is", lower=0, upper=127
    )
    battery_low: float = fixed(9.0, "of the supply, below which there is an alarm; 0: never", unit="V", lower=0.0)
    battery_interval: float = fixed(1.0, "between readings of the supply", unit="s", lower=0.0, upper=3600.0)
