# SPDX-License-Identifier: Apache-2.0
"""Safety settings: watchdogs, limits, ramps, flight recorder. The defaults suit every robot."""

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
    """Safety settings of a robot. Lists have one value per joint; empty for the limits of the device.

    Limits may be narrower than those of the device, never wider.
    """

    command_timeout: float = setting(
        0.1, "age of the last command above which the robot comes to rest and holds", unit="s", lower=1e-3, upper=10.0
    )
    host_timeout: float = setting(
        0.5, "time without commands or messages after which it is deactivated", unit="s", lower=2e-3, upper=60.0
    )
    hold_without_commands: bool = setting(
        False, "remain active and hold the position while the commanding program runs, also without commands"
    )
    arm_within: float = setting(
        0.0,
        "time after activation within which the robot must be armed; before, commands are refused. It remains armed "
        "until deactivated, or, with hold_without_commands, until host_timeout. 0: armed by its activation",
        unit="s",
        lower=0.0,
        upper=3600.0,
    )
    operating_mode: str = setting(
        MANUAL,
        "manual (a person may be near): tool_speed and velocity_scale apply; automatic: automatic_tool_speed and "
        "automatic_velocity_scale; all other limits apply to both",
        choices=(MANUAL, AUTOMATIC),
    )
    velocity_scale: float = setting(1.0, "used share of velocity limits, manual", lower=0.01, upper=1.0)
    automatic_velocity_scale: float = setting(1.0, "used share of velocity limits, automatic", lower=0.01, upper=1.0)
    max_acceleration: float = setting(
        0.0, "maximum acceleration of each joint; 0: velocity limit within 0.1 s", unit="rad/s^2, m/s^2", lower=0.0
    )
    max_deceleration: float = setting(
        0.0, "deceleration of ramps to rest; 0: from the velocity limit in 0.1 s", unit="rad/s^2, m/s^2", lower=0.0
    )
    max_effort_rate: tuple[float, ...] = setting(
        (), "maximum rates of the efforts; empty: effort limit within 0.1 s", unit="N m/s, N/s", lower=1e-6
    )
    max_step: float = setting(
        0.0, "maximum step of a position command; 0: velocity limit times command_timeout", unit="rad, m", lower=0.0
    )
    max_following_error: float = setting(
        0.0, "maximum position error; 0: the motion at the velocity limit in 0.2 s", unit="rad, m", lower=0.0
    )
    position_margin: float = setting(0.02, "tolerance of measured positions beyond a limit", unit="rad, m", lower=0.0)
    velocity_margin: float = setting(0.25, "tolerance of measured velocities, as a share of the limit", lower=0.0)
    drive_lag: float = setting(
        0.02, "delay of the drives behind velocity demands; joints brake earlier by it", unit="s", lower=0.0, upper=1.0
    )
    standstill: float = setting(0.05, "joint speed that counts as standstill", unit="rad/s, m/s", lower=1e-6)
    max_missed: int = setting(10, "maximum number of consecutive missing replies of the device", lower=1, upper=1000)
    longest_gap: float = setting(
        0.1,
        "maximum time between two cycles with driven motors, or five periods if longer; then the robot is brought to "
        "rest and stopped",
        unit="s",
        lower=5e-3,
        upper=1.0,
    )
    position_lower: tuple[float, ...] = setting((), "lower position limits", unit="rad, m")
    position_upper: tuple[float, ...] = setting((), "upper position limits", unit="rad, m")
    velocity: tuple[float, ...] = setting((), "velocity limits", unit="rad/s, m/s", lower=0.0)
    effort: tuple[float, ...] = setting((), "effort limits", unit="N m, N", lower=0.0)
    tool_speed: float = setting(
        0.25,
        "maximum speed of the tool point in manual mode, as the reduced speed of ISO 10218; 0: any. It can be lowered "
        "at any time, and raised at the start only. Without effect for robots without a known tool (Kondo, HEXA)",
        unit="m/s",
        lower=0.0,
    )
    automatic_tool_speed: float = setting(0.25, "maximum tool speed in automatic mode", unit="m/s", lower=0.0)
    tool_offset: tuple[float, ...] = setting(
        (0.0, 0.0, 0.0), "tool point in the frame of the last link", unit="m", read_only=True
    )
    tool_planes: tuple[float, ...] = setting(
        (), "planes of the tool point: nx, ny, nz, d each; n . p <= d in the base frame", unit="m", read_only=True
    )
    realtime_priority: int = setting(
        50, "priority of the cycle (SCHED_FIFO), if permitted; 0: default scheduling", lower=0, upper=98, read_only=True
    )
    record_seconds: float = setting(
        120.0, "duration stored by the flight recorder; 0: disabled", unit="s", lower=0.0, upper=3600.0
    )
    record_folder: str = setting(
        "", "folder of flight records; empty: ada_dynamics/flights in the user's state folder (XDG_STATE_HOME)"
    )
    record_files: int = setting(20, "number of flight records kept in the folder", lower=1, upper=10_000)

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
        """Used share of the velocity limits."""
        return self.velocity_scale if self.operating_mode == MANUAL else self.automatic_velocity_scale

    @property
    def greatest_tool_speed(self) -> float:
        """Maximum tool speed in the operating mode [m/s]; inf for none."""
        return float(self.tool_speeds[_TOOL_SPEED[self.operating_mode]]) or math.inf

    @property
    def tool_speeds(self) -> dict[str, Any]:
        """Maximum tool speeds by the names of the settings [m/s]; 0 for none."""
        return {name: getattr(self, name) for name in _TOOL_SPEED.values()}

    def with_tool_speed(self, speed: float) -> SafetySettings:
        """Return the settings with another maximum tool speed in the operating mode."""
        changed: dict[str, Any] = {_TOOL_SPEED[self.operating_mode]: speed}
        return replace(self, **changed)

    def require_no_faster(self, before: SafetySettings) -> None:
        """Refuse maximum tool speeds above those of other settings, in any mode.

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
