# SPDX-License-Identifier: Apache-2.0
"""Diagnostics of devices of the hardware node, for /diagnostics and ~/state; no ROS."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from ada_hardware.force_torque.sensor import ForceSensor
from ada_robot.contract import Reason
from ada_robot.cycle.messages import RobotStatus
from ada_robot.driver import LinkCounts, in_words
from ada_robot.node.joint_commands import JointCommands, Lease
from ada_robot.node.loop_states import StateEstimator
from ada_robot.robot import Robot
from ada_robot.ros.status import Level, Status, period_values
from ada_robot.safety.phases import Phase

_FEW_ANSWERS = 0.95  # fraction of answers below which a warning is reported
_TELLING = 20  # requests since the last report needed to compute the fraction of answers


class RobotReport:
    """Diagnostics of a robot."""

    def __init__(
        self, robot: Robot, commands: JointCommands, lease: Lease, whole: StateEstimator | None = None
    ) -> None:
        """Report on a robot, its received commands, its commander, and its full state if it has a model."""
        self._robot, self._commands, self._lease, self._whole = robot, commands, lease, whole
        self._counts_before = (0, 0)  # received and missed replies at the last report
        self._refused_before = 0

    def __call__(self) -> Status:
        """Return the diagnostics."""
        status, commands = self._robot.status(), self._commands
        (received, missed), counts = self._counts_before, status.counts
        self._counts_before = counts.received, counts.missed
        new, asked = counts.received - received, counts.received - received + counts.missed - missed
        share = new / asked if asked >= _TELLING else None
        publishers = self._lease.senders()
        refused = refusals(status, commands)
        count = sum(count for reason, count in refused.items() if reason != Reason.NOT_ACTIVE)
        is_new, self._refused_before = count > self._refused_before, count
        values: dict[str, object] = {
            "phase": status.phase.value,
            "reason": status.reason,
            "armed": status.is_armed,
            "operating mode": status.operating_mode,
            "tool speed limit [m/s]": _finite(status.tool_speed),
            "alarms": in_words(status.alarms),
            "commands accepted": status.accepted,
            "command age [s]": _finite(status.command_age),
            "publishers of joint_commands": ", ".join(publishers) or "none",
            "commander": self._lease.holder_name,
            **{f"refused: {reason}": n for reason, n in sorted(refused.items())},
            "last refusal": newest_refusal(status, commands),
            **link_values(status.counts, share),
            "cycles without a reply": status.missed_cycles,
            "cycles late by half of the watchdog timeout": status.late_cycles,
            "longest interval between exchanges [ms]": 1e3 * status.longest_gap,
            "feedback age [s]": _finite(status.feedback_age),
            **dict(status.values),
            **(period_values(status.periods) if status.periods is not None else {}),
            "cycle runs in": status.place,
            "flight record": status.flight_record,
            "notes": "; ".join(status.notes),
        }
        if self._whole is not None and self._whole.missing:
            values["motors of the model missing in the device"] = ", ".join(self._whole.missing)
        return Status(*self._verdict(status, share, publishers, is_new=is_new), values)

    def _verdict(
        self, status: RobotStatus, share: float | None, publishers: Sequence[str], *, is_new: bool
    ) -> tuple[Level, str]:
        """Worst level and its text."""
        if status.phase is Phase.STOPPED:
            return Level.ERROR, f"stopped: {status.reason}. Reset it (service ~/reset)."
        if status.phase is Phase.CLOSED:
            return Level.ERROR, f"not connected: {status.reason or 'closed'}"
        if status.alarms:
            return Level.ERROR, in_words(status.alarms)
        if share is not None and share < _FEW_ANSWERS:
            return Level.WARN, f"only {100.0 * share:.3g} % of the requests are answered: {status.counts.last_problem}"
        if len(publishers) > 1:
            return Level.WARN, f"{len(publishers)} publishers of joint_commands: only one is allowed to send them"
        if self._whole is not None and self._whole.problem:
            return Level.WARN, f"passive joints are unknown: {self._whole.problem}"
        if is_new:
            return Level.WARN, f"commands were refused: {newest_refusal(status, self._commands)}"
        return Level.OK, f"{status.phase.value}{f': {status.reason}' if status.reason else ''}"


def sensor_report(sensor: ForceSensor, withheld: int) -> Status:
    """Return the diagnostics of a sensor.

    Args:
        sensor: the sensor.
        withheld: number of readings that were not published.
    """
    status = sensor.status()
    values: dict[str, object] = {
        "state": status.state.value,
        "rate [Hz]": status.rate,
        "reading age [s]": _finite(status.age),
        "readings": status.readings,
        "readings not published": withheld,
        "saturated readings": status.saturated,
        "readings with a device error": status.errors,
        "readings without tool compensation": status.uncompensated,
        "zero set": status.is_biased,
        "zero [N, N m]": ", ".join(f"{one:.4g}" for one in status.bias),
        "exceeded limit": status.passed_limit,
        "reconnections": status.reopened,
        **link_values(status.counts, None),
        "records lost": status.sequence.lost,
        "records late or repeated": status.sequence.late,
        "restarts of the record numbers": status.sequence.restarted,
    }
    if status.identity is not None:
        values["sensor"] = f"{status.identity.name} {status.identity.version}".strip()
        values["source of the scales"] = status.identity.source
    text = "; ".join(status.problems) or f"{status.rate:.4g} readings per second"
    return Status(status.level, text, values)


def refusals(status: RobotStatus, commands: JointCommands) -> Counter[str]:
    """Refused commands by reason, of the node and of the safety rules of the robot."""
    return commands.refused + Counter({f"safety, {reason}": n for reason, n in status.refused.items()})


def newest_refusal(status: RobotStatus, commands: JointCommands) -> str:
    """Text of the last command refused by the node or by the safety rules of the robot; "" without one."""
    here, there = (commands.refused_at, commands.last_refusal), (status.refused_at, status.last_refusal)
    return max(here, there)[1] if here[1] and there[1] else here[1] or there[1]


def link_values(counts: LinkCounts, share: float | None) -> dict[str, object]:
    """Communication statistics."""
    asked = counts.received + counts.missed
    values: dict[str, object] = {
        "replies received [%]": 100.0 * counts.received / asked if asked else None,
        "frames sent": counts.sent,
        "replies accepted": counts.received,
        "replies missing": counts.missed,
        "frames rejected": counts.refused,
        "frames retransmitted": counts.retries,
        "last communication error": counts.last_problem,
    }
    if share is not None:
        values["replies received since the last report [%]"] = 100.0 * share
    return values


def robot_state(robot: Robot, commands: JointCommands, topics: Mapping[str, str]) -> dict[str, object]:
    """Part of ~/state about a robot.

    Args:
        robot: the robot.
        commands: its received commands.
        topics: full names of its topics, by content.
    """
    status = robot.status()
    return {
        "kind": robot.device,
        "phase": status.phase.value,
        "reason": status.reason,
        "armed": status.is_armed,
        "operating_mode": status.operating_mode,
        "tool_speed": _finite(status.tool_speed),
        "alarms": [alarm._asdict() for alarm in status.alarms],
        "last_refusal": newest_refusal(status, commands),
        "modes": sorted(mode.value for mode in robot.modes),
        "period": robot.period,
        "topics": dict(topics),
        "joints": [
            {
                "name": limit.name,
                "lower": _finite(limit.lower),
                "upper": _finite(limit.upper),
                "velocity": _finite(limit.velocity),
                "effort": _finite(limit.effort),
            }
            for limit in robot.limits
        ],
    }


def sensor_state(sensor: ForceSensor, topic: str) -> dict[str, object]:
    """Part of ~/state about a sensor. Args: the sensor, and the full name of its topic."""
    status = sensor.status()
    return {
        "kind": sensor.name,
        "phase": status.state.value,
        "reason": "; ".join(status.problems),
        "topics": {"wrench": topic},
        "is_biased": status.is_biased,
        "passed_limit": status.passed_limit,
    }


def _finite(value: float) -> float | None:
    """Replace values that are not finite, which JSON cannot represent, by None."""
    return value if math.isfinite(value) else None
