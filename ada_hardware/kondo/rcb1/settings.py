# SPDX-License-Identifier: Apache-2.0
"""Settings of the KHR-1 driver."""

from __future__ import annotations

from dataclasses import dataclass

from ada_dynamics.errors import InputError
from ada_hardware.kondo.servo_settings import COMMANDED, READ, ServoSettings, fixed

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
