# SPDX-License-Identifier: Apache-2.0
"""Parameters of the target node."""

from __future__ import annotations

from dataclasses import dataclass

from ada_dynamics.errors import InputError
from ada_robot.settings import setting

_POSE = 6  # numbers of a pose


@dataclass(frozen=True)
class TargetSettings:
    """Parameters of the target node."""

    controller: str = setting("controller_node", "controller node", read_only=True)
    scale: float = setting(0.3, "size of the handles in RViz", unit="m", lower=1e-3, upper=100.0, read_only=True)
    joints: tuple[str, ...] = setting((), "joints with an initial target; empty: none", read_only=True)
    positions: tuple[float, ...] = setting((), "initial target of each of these joints", unit="rad, m", read_only=True)
    pose: tuple[float, ...] = setting(
        (), "initial target x, y, z, roll, pitch, yaw in the base frame; empty: none", unit="m, rad", read_only=True
    )

    def __post_init__(self) -> None:
        """Check the list lengths."""
        if len(self.positions) != len(self.joints):
            raise InputError(
                f"parameter positions has {len(self.positions)} values and parameter joints {len(self.joints)} names; "
                "give one value per joint."
            )
        if len(self.pose) not in (0, _POSE):
            raise InputError(
                f"parameter pose has {len(self.pose)} numbers; it must have {_POSE} (x, y, z, roll, pitch, yaw) or "
                "none."
            )
