# SPDX-License-Identifier: Apache-2.0
"""Encoding of sensor_msgs/JointState for commands and states; no ROS."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.simulation.record.cdr import Message
from ada_dynamics.simulation.record.messages import joint_state

_NOTHING = np.zeros(0)


class JointStateLayouts:
    """Encoder with one message layout per set of joints and quantities."""

    def __init__(self) -> None:
        """Start without layouts."""
        self._layouts: dict[tuple[tuple[str, ...], tuple[bool, ...]], Message] = {}

    def filled(self, names: tuple[str, ...], parts: Sequence[Array | None], stamp_ns: int) -> bytes:
        """Encode a message.

        Args:
            names: joint names.
            parts: positions, velocities and efforts; None for those left empty.
            stamp_ns: time in the header [ns].
        """
        key = names, tuple(part is not None for part in parts)
        layout = self._layouts.get(key)
        if layout is None:
            layout = self._layouts[key] = joint_state(*key)
        return layout.fill_one(stamp_ns, np.concatenate([_NOTHING, *(part for part in parts if part is not None)]))
