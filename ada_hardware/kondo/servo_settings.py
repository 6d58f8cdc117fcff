# SPDX-License-Identifier: Apache-2.0
"""Settings that the drivers of all boards share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from ada_dynamics.settings import setting

READ, COMMANDED = "read", "commanded"  # of `feedback`

fixed = partial(setting, read_only=True)


@dataclass(frozen=True)
class ServoSettings:
    """Where the robot is, how its servos are wired, how often it is asked; see the descriptions."""

    url: str = fixed("", 'serial line, such as /dev/ttyUSB0; "dry:" opens none')
    angle_map: str = fixed("", "file with the servos' channels, signs and limits; empty: that of the robot")
    robot: str = fixed("", "robot whose joints the map must have, by name or file; empty: any joints")
    period: float = fixed(
        0.0,
        "between cycles; 0: what the line needs, 0.025 at least with an RCB-1, 0.015 with an RCB-4",
        unit="s",
        lower=0.0,
        upper=1.0,
    )
    latency: float = fixed(
        0.008,
        "of the port per question and answer, for the period; adapters of FTDI have 0.016 unless their latency_timer "
        "is set to 1 ms",
        unit="s",
        lower=0.0,
        upper=0.1,
    )
    feedback: str = fixed(
        READ, "positions as servos measure them, or as they were commanded", choices=(READ, COMMANDED)
    )
    reply_timeout: float = fixed(0.05, "of an answer", unit="s", lower=0.001, upper=1.0)
    blind_time: float = fixed(
        0.25,
        "from the first of several questions in a row that nothing believable answers, after which nothing more is "
        "commanded and the robot is stopped",
        unit="s",
        lower=0.02,
        upper=2.0,
    )
    retries: int = fixed(4, "further tries of a question, except in cycles, where the next cycle is one", lower=0)
    retry_pause: float = fixed(0.010, "before each of them", unit="s", lower=0.0, upper=1.0)
