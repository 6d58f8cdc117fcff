# SPDX-License-Identifier: Apache-2.0
"""Recordings of a slice, read again: are they whole, and what do they say of the motion and of the nodes?"""

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from ada_dynamics.errors import AdaError
from ada_dynamics.simulation.log import Log
from trials.soak.steps import GRAVITY, rhombus

RATE = 250.0  # [Hz] of rows of the simulation
ENERGY = -np.sqrt(2.0) * GRAVITY  # [J] of the four-bar where it was let go before the first slice, at 135 degrees
BOUNDS = {"energy [J]": 1e-8, "gap [m]": 1e-14}  # of the four-bar, for a day
LATE = ("p50", "p99", "p99.9", "max")
_ERROR = b"\2"  # diagnostic_msgs/DiagnosticStatus


def read_simulation(path: Path) -> dict[str, Any]:
    """Rows expected and found, figures of the motion, its last state, and problems; rows may be lost, if counted."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # of a recording that was cut short
            log = Log.load(path)
    except (AdaError, UserWarning) as problem:
        return {"rows": (0, 0), "figures": {}, "last": None, "problems": [f"{path.name}: {problem}"]}
    rows, lost = (round(log.t[-1] * RATE) + 1, len(log)), log.info.get("lost", 0)
    energy, gap = rhombus(log.q, log.v)
    figures = {"energy [J]": float(np.abs(energy - ENERGY).max()), "gap [m]": float(gap.max())}
    broken = [one for one, bound in BOUNDS.items() if not figures[one] <= bound]
    problems = [f"four-bar: {one} is {figures[one]:.2g}, above {BOUNDS[one]:g}" for one in broken]
    if rows[0] != rows[1] + lost:
        problems.append(f"{path.name}: {rows[1]} rows and {lost} that it says are lost, instead of {rows[0]}")
    return {"rows": rows, "figures": figures, "last": (log.t[-1], log.q[-1], log.v[-1]), "problems": problems}


def read_topics(path: Path, said: str, since: int, until: int) -> dict[str, Any]:
    """Messages expected and found, how late loops were, problems, and those that a busy machine may explain.

    Args:
        path: of the file.
        said: by the nodes; the one that records tells how many messages it took.
        since: when the arm was ready [ns].
        until: when the nodes were told to end [ns].
    """
    from diagnostic_msgs.msg import DiagnosticArray
    from mcap.exceptions import McapError
    from mcap.reader import make_reader
    from rclpy.serialization import deserialize_message

    counted = re.search(rf"{re.escape(path.name)}: (\d+) messages", said)
    expected = int(counted[1]) if counted else -1
    try:
        with path.open("rb") as file:
            reader = make_reader(file)
            statistics = reader.get_summary().statistics
            reports = [one.data for *_, one in reader.iter_messages(["/diagnostics"], since, until)]
    except (McapError, AttributeError, OSError) as problem:  # cut short: no summary
        return {"rows": (expected, 0), "late": {}, "problems": [f"{path.name}: {problem}"], "delays": []}
    count = statistics.message_count
    problems = [] if count == expected else [f"{path.name}: {count} messages instead of {expected}"]
    late, delays = {}, {line: line for line in said.splitlines() if "are missing in the recording" in line}
    for raw in reports:
        for status in deserialize_message(raw, DiagnosticArray).status:
            values = {one.key: one.value for one in status.values}
            if "late p99 [ms]" in values:
                late[status.name] = {one: float(values[f"late {one} [ms]"]) for one in LATE}
            if status.level == _ERROR:
                delays[f"{status.name}{status.message}"] = f"{status.name}: {status.message}"
    return {"rows": (expected, count), "late": late, "problems": problems, "delays": list(delays.values())}
