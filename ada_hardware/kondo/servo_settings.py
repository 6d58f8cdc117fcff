# SPDX-License-Identifier: Apache-2.0
"""Settings common to the Kondo drivers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

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
