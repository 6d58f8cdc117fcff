# SPDX-License-Identifier: Apache-2.0
"""Settings of the driver of a KHR-1."""

from __future__ import annotations

from dataclasses import dataclass

from ada_dynamics.errors import InputError
from ada_hardware.kondo.servo_settings import COMMANDED, READ, ServoSettings, fixed

CHOSEN = -1  # of `speed`


@dataclass(frozen=True)
class Rcb1Settings(ServoSettings):
    """Where the KHR-1 is, how its servos are wired, how often it is asked; see the descriptions."""

    robot: str = fixed("khr1", "robot whose joints the map must have, by name or file; empty: any joints")
    first_id: int = fixed(0, "ID of the board with channels 1 to 12", lower=0, upper=31)
    second_id: int = fixed(1, "ID of the board with channels 13 to 24", lower=0, upper=31)
    speed: int = fixed(
        CHOSEN, "of servos, 0 fastest to 7 slowest; -1: as slow as each step allows within a period", lower=-1, upper=7
    )
    feedback: str = fixed(
        READ,
        "positions as the boards tell them, or as they were commanded; whether what boards tell is measured while "
        "servos hold is not documented",
        choices=(READ, COMMANDED),
    )
    reply_timeout: float = fixed(0.030, "of an answer", unit="s", lower=0.001, upper=1.0)

    def __post_init__(self) -> None:
        """Check what two fields say together.

        Raises:
            InputError: both boards have one ID.
        """
        if self.first_id == self.second_id:
            text = (
                f"first_id and second_id are both {self.first_id}; boards on one line need different IDs. Connect one "
                "board alone and set its ID (ada hw service khr1 set-id)."
            )
            raise InputError(text, field="second_id", value=self.second_id)
