# SPDX-License-Identifier: Apache-2.0
"""The settings of safety: watchdogs, limits, ramps, the flight recorder. The defaults suit every robot."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from ada_dynamics.errors import InputError
from ada_robot.settings import setting

MANUAL, AUTOMATIC = "manual", "automatic"
_TOOL_SPEED = {MANUAL: "tool_speed", AUTOMATIC: "automatic_tool_speed"}


@dataclass(frozen=True)
class SafetySettings:
    """Rules that a robot is driven by. Lists have one number per joint of the robot, in its order; empty: the device's.

    Limits may be narrower than the device's, never wider.
    """

    command_timeout: float = setting(
        0.1,
        "time without an accepted command after which the robot stops and is held; older commands are refused",
        unit="s",
        lower=1e-3,
        upper=10.0,
    )
    host_timeout: float = setting(
        0.5,
        "without an accepted command, or any sign of the program that commands, for so long the robot is deactivated",
        unit="s",
        lower=2e-3,
        upper=60.0,
    )
    hold_without_commands: bool = setting(
        False, "remain active and hold the position while the commanding program runs, also without commands"
    )
    arm_within: float = setting(
        0.0,
        "a robot that was activated follows no command before it is armed, which must be within this time; else it is "
        "deactivated again. It is armed until it is deactivated, or, with hold_without_commands, until host_timeout "
        "passes without a command. 0: its activation arms it",
        unit="s",
        lower=0.0,
        upper=3600.0,
    )
    operating_mode: str = setting(
        MANUAL,
        "limits in use; manual: a person may be near, tool_speed and velocity_scale; automatic: no "
        "person can be near, automatic_tool_speed and automatic_velocity_scale. Planes and other limits "
        "apply to both",
        choices=(MANUAL, AUTOMATIC),
    )
    velocity_scale: float = setting(
        1.0, "share of the velocity limits that is used, operating mode manual", lower=0.01, upper=1.0
    )
    automatic_velocity_scale: float = setting(
        1.0, "share of the velocity limits that is used, operating mode automatic", lower=0.01, upper=1.0
    )
    max_acceleration: float = setting(
        0.0,
        "greatest acceleration of demands, every joint; 0: the joint's velocity limit within 0.1 s",
        unit="rad/s^2, m/s^2",
        lower=0.0,
    )
    max_deceleration: float = setting(
        0.0,
        "deceleration of ramps to rest and before position limits, every joint; 0: from its velocity limit in 0.1 s",
        unit="rad/s^2, m/s^2",
        lower=0.0,
    )
    max_effort_rate: tuple[float, ...] = setting(
        (), "greatest change of efforts; empty: the joint's effort limit within 0.1 s", unit="N m/s, N/s", lower=1e-6
    )
    max_step: float = setting(
        0.0,
        "maximum distance of a commanded position from the demanded one; 0: the motion at the velocity "
        "limit in command_timeout",
        unit="rad, m",
        lower=0.0,
    )
    max_following_error: float = setting(
        0.0,
        "maximum distance of the measured position from the demanded one; 0: the motion at the velocity limit in 0.2 s",
        unit="rad, m",
        lower=0.0,
    )
    position_margin: float = setting(
        0.02, "maximum distance of the measured position beyond a position limit", unit="rad, m", lower=0.0
    )
    velocity_margin: float = setting(
        0.25, "share of a velocity limit by which the measured velocity may exceed it", lower=0.0
    )
    drive_lag: float = setting(
        0.02,
        "how long the robot's drives are behind velocity demands; joints brake so much sooner before their limits",
        unit="s",
        lower=0.0,
        upper=1.0,
    )
    standstill: float = setting(
        0.05, "speed of a joint up to which it counts as standing still", unit="rad/s, m/s", lower=1e-6
    )
    max_missed: int = setting(
        10,
        "maximum number of consecutive missing replies of the device; with one more the robot is stopped",
        lower=1,
        upper=1000,
    )
    longest_gap: float = setting(
        0.1,
        "longest time between two cycles while the motors follow demands, or five periods where those are longer; "
        "after a longer one the robot is brought to rest and stopped, however long its device waits by itself",
        unit="s",
        lower=5e-3,
        upper=1.0,
    )
    position_lower: tuple[float, ...] = setting((), "least positions", unit="rad, m")
    position_upper: tuple[float, ...] = setting((), "greatest positions", unit="rad, m")
    velocity: tuple[float, ...] = setting((), "greatest speeds", unit="rad/s, m/s", lower=0.0)
    effort: tuple[float, ...] = setting((), "greatest efforts", unit="N m, N", lower=0.0)
    tool_speed: float = setting(
        0.25,
        "greatest speed of the point that the robot carries, operating mode manual, as ISO 10218's reduced speed; 0: "
        "any. Lowered at any time, raised at the start only. Robots whose tool is not known (Kondo's, HEXA) are not "
        "limited by it",
        unit="m/s",
        lower=0.0,
    )
    automatic_tool_speed: float = setting(
        0.25, "maximum speed of the same point in operating mode automatic", unit="m/s", lower=0.0
    )
    tool_offset: tuple[float, ...] = setting(
        (0.0, 0.0, 0.0), "that point, in the frame of the robot's last link", unit="m", read_only=True
    )
    tool_planes: tuple[float, ...] = setting(
        (),
        "planes that limit this point: nx, ny, nz, d of each, in the base frame of the robot, with nx x "
        "+ ny y + nz z <= d",
        unit="m",
        read_only=True,
    )
    realtime_priority: int = setting(
        50,
        "real-time priority of the process of the cycle (SCHED_FIFO), if the system allows it; 0: default scheduling",
        lower=0,
        upper=98,
        read_only=True,
    )
    record_seconds: float = setting(
        120.0, "duration stored by the flight recorder; 0: disabled", unit="s", lower=0.0, upper=3600.0
    )
    record_folder: str = setting(
        "", "where flight records are written; empty: ada_dynamics/flights in the user's state folder (XDG_STATE_HOME)"
    )
    record_files: int = setting(
        20, "maximum number of flight records in the folder; older ones are deleted", lower=1, upper=10_000
    )

    def __post_init__(self) -> None:
        """Refuse contradictory settings.

        Raises:
            InputError: host_timeout is shorter than command_timeout.
        """
        if self.host_timeout < self.command_timeout:
            text = (
                f"host_timeout is {self.host_timeout:g} s, shorter than command_timeout, {self.command_timeout:g} s; "
                f"the robot comes to rest first and is deactivated later: set it to {self.command_timeout:g} s or "
                "more."
            )
            raise InputError(text, field="host_timeout", value=self.host_timeout, allowed=self.command_timeout)

    @property
    def velocity_share(self) -> float:
        """Share of the velocity limits that is used in the operating mode."""
        return self.velocity_scale if self.operating_mode == MANUAL else self.automatic_velocity_scale

    @property
    def greatest_tool_speed(self) -> float:
        """Greatest speed of the tool in the operating mode [m/s]; inf: any."""
        return float(self.tool_speeds[_TOOL_SPEED[self.operating_mode]]) or math.inf

    @property
    def tool_speeds(self) -> dict[str, Any]:
        """Limits of the tool's speed in each mode, by the names of the settings [m/s]; 0: any."""
        return {name: getattr(self, name) for name in _TOOL_SPEED.values()}

    def with_tool_speed(self, speed: float) -> SafetySettings:
        """The same with another greatest speed of the tool in the operating mode."""
        changed: dict[str, Any] = {_TOOL_SPEED[self.operating_mode]: speed}
        return replace(self, **changed)

    def require_no_faster(self, before: SafetySettings) -> None:
        """Refuse a tool that may be faster than before, in whichever mode.

        Raises:
            InputError: naming the setting.
        """
        for name, desired in self.tool_speeds.items():
            present = before.tool_speeds[name]
            if (desired or math.inf) > (present or math.inf):
                text = (
                    f"{name} is {present:g} m/s and can only be lowered while a program runs, not set to "
                    f"{desired:g}{' m/s' if desired else ' (any)'}. To raise it, restart with {name}:={desired:g}."
                )
                raise InputError(text, field=name, value=desired, allowed=present)
