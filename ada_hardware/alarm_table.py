# SPDX-License-Identifier: Apache-2.0
"""Tables of alarm meanings and remedies, for drivers, emulators and the pages in docs/."""

from __future__ import annotations

from typing import NamedTuple

from ada_robot.driver import Alarm


class Meaning(NamedTuple):
    """Meaning of an alarm."""

    text: str  # description
    remedy: str  # remedy for the user
    is_stop: bool = False  # a person must act before a reset can succeed

    def alarm(self, code: int, joint: str = "") -> Alarm:
        """Create the alarm with a code."""
        return Alarm(code, f"{self.text}; {self.remedy}", joint, self.is_stop)
