# SPDX-License-Identifier: Apache-2.0
"""All faults of all peers, and those that are known to be unsafe today."""

from __future__ import annotations

from peers import khr1_scene, pa10_faults, pa10_motion_faults, sensor_faults, udp_faults
from peers.trial import Fault


def all_faults() -> list[Fault]:
    """Every row of the table."""
    of_arm = [*pa10_faults.device_faults(), *pa10_motion_faults.motion_faults(), *udp_faults.faults()]
    return [*of_arm, *khr1_scene.faults(), *sensor_faults.faults()]


# What is unsafe today, by its cause, and how the rows that show it begin. A row that has become safe must be taken out:
# its test says so.
UNSAFE_TODAY: dict[str, tuple[str, ...]] = {
    "a stranger's C is taken for a late answer": ("a stranger is heard: C",),
}


def why_unsafe(name: str) -> str:
    """The cause, where a row is known to be unsafe today; else ""."""
    return next((why for why, starts in UNSAFE_TODAY.items() if name.startswith(starts)), "")
