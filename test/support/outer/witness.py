# SPDX-License-Identifier: Apache-2.0
"""An emulated PA-10 that remembers when it was last told to move, and when it last moved."""

from __future__ import annotations

import numpy as np

from ada_hardware.emulation.emulator import TimedReply
from ada_hardware.pa10.cyclic import BRAKE, SERVO, SPEED_COUNT, decode_command
from ada_hardware.pa10.emulator import Pa10Emulator
from ada_hardware.pa10.packets import Packet
from ada_hardware.pa10.settings import Pa10EmulatorSettings

SLOW = 0.01  # [rad/s] up to which an axis holds its place


class WitnessedPa10(Pa10Emulator):
    """Attributes: told_at, moved_at: see above, on the steady clock of this machine [s]; 0 where it never was."""

    def __init__(self, settings: Pa10EmulatorSettings) -> None:
        super().__init__(settings)
        self.told_at = self.moved_at = 0.0

    def _cycle(self, packet: Packet) -> Packet | None:
        axes = decode_command(packet.payload, self._variant).axes
        if any(mode & (SERVO | BRAKE) == SERVO and abs(speed) * SPEED_COUNT > SLOW for mode, _, speed in axes):
            self.told_at = self._time
        return super()._cycle(packet)

    def advance(self, now: float) -> list[TimedReply]:
        replies = super().advance(now)
        if np.abs(self.arm.v).max() > SLOW:
            self.moved_at = self._time
        return replies

    def state(self) -> dict[str, object]:
        return {**super().state(), "told_at": self.told_at, "moved_at": self.moved_at}
