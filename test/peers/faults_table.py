# SPDX-License-Identifier: Apache-2.0
"""All faults of all peers."""

from __future__ import annotations

from peers import khr1_scene, pa10_faults, pa10_motion_faults, sensor_faults, udp_faults
from peers.trial import Fault


def all_faults() -> list[Fault]:
    """Every row of the table."""
    of_arm = [*pa10_faults.device_faults(), *pa10_motion_faults.motion_faults(), *udp_faults.faults()]
    return [*of_arm, *khr1_scene.faults(), *sensor_faults.faults()]
