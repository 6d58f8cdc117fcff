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
    "slowing down in torque mode is zero torque with open brakes": (
        "cycle late by 8 ms, torque",
        "device silent for 10 ms, torque",
        "device silent, torque",
        "50 % of packets lost, torque",
        "wrong sequence numbers, torque",
    ),
    "nothing limits how fast torques change": ("a command jumps by 100 N m",),
    "beside the device's watchdog the host has no bound of its own": (
        "cycle late by 250 ms of a device that waits 400 ms",
    ),
    "a stop at once is a step to speed zero": (
        "device silent, velocity",
        "device silent, position",
        "answers late by 3 ms",
        "answers late by 8 ms",
        "answers: ",
        "wrong sequence numbers, velocity",
        "alarm 060 of axis 1, position",
        "alarm 0E0 of axis 4",
        "alarm 090 of axis 7",
        "alarm 0F0 of axis 3",
        "alarm 100 of axis 5",
        "alarm 0B0 of axis 2",
    ),
    "position mode keeps the device's acceleration, not the user's": (
        "a position drifts by 0.5 rad/s, position",
        "an axis is held for 0.15 s at 0.05 rad/s, and freed, position",
        "an axis is held for 0.15 s at 0.3 rad/s, and freed, position",
        "an axis is held for 0.15 s at 0.9 rad/s, and freed, position",
        "an axis is held at 0.3 rad/s, position",
        "an axis is held at 0.9 rad/s, position",
    ),
    "position mode runs over a limit": ("full speed into every limit, position",),
    "position mode runs away from a position that stands still": ("positions stand still, position",),
    "the controller's words are shown, not obeyed": (
        "emergency stop, the word alone",
        "limit switch, the word alone",
        "teaching, the word alone",
        "not controllable, the word alone",
        "no motor voltage, the word alone",
    ),
    "the enabling device is not watched unless it is asked for": ("dead-man switch let go",),
    "the pose beyond a limit is refused where it must be held": ("a joint ",),
    "a held axis is unnoticed below a fifth of its speed": ("an axis is held at 0.3 rad/s, velocity",),
    "others on the wire are not noticed": (
        "a stranger is heard: E, S",
        "a stranger is heard: S",
        "a second program opens",
    ),
    "a stranger's C is taken for a late answer": ("a stranger is heard: C",),
    "a KHR-1 is blind for longer than it may be without a program": (
        "KHR-1: answers late by 60 ms",
        "KHR-1: wrong check sums",
        "KHR-1: answers of the other board",
        "KHR-1: answers a byte short",
    ),
    "servos that the map leaves out are driven home": ("KHR-1: a servo that the map leaves out",),
    "a KHR-1 a count or two beyond a limit is locked out": ("KHR-1: a servo 2 degrees beyond",),
    "a sensor behind a Net F/T that has stopped is not noticed": ("Net F/T: its sensor has stopped",),
}


def why_unsafe(name: str) -> str:
    """The cause, where a row is known to be unsafe today; else ""."""
    return next((why for why, starts in UNSAFE_TODAY.items() if name.startswith(starts)), "")
