# SPDX-License-Identifier: Apache-2.0
"""`ada up` without ROS 2: run the robot in this process by `ada sim` or `ada view`."""

from __future__ import annotations

import argparse
from typing import Any

from ada_dynamics.errors import InputError
from ada_tools.bringup import Plan
from ada_tools.commands import sim, view

_SIM_HEADLESS = 5.0  # [s]


def run_without_ros(what: Plan, problem: str, *, headless: bool, duration: float | None) -> int:
    """Simulate or display the robot of a plan.

    Args:
        what: plan.
        problem: reason why ROS 2 nodes cannot run.
        headless: no display.
        duration: duration [s].

    Raises:
        InputError: the plan drives a device, or its robot is received from a topic.
    """
    robot, values = what.robot, what.values
    if what.devices:
        raise InputError(
            f"backend:={values['backend']} needs ROS 2: {problem} Alternatives: `ada hw test`, or drive the device "
            "from Python (ada_hardware.robot.Robot)."
        )
    if not robot:
        raise InputError(f"{what.setup} completes the states of a driver on a ROS topic, and needs ROS 2: {problem}")
    if not robot.get("robot"):
        raise InputError("robot:= is empty: without ROS 2 the robot cannot be received from a topic; give a file.")
    is_shown = not headless and values["view"] != "false"
    print(f"without ROS topics: {problem}", flush=True)
    lost = _lost(what, is_shown)
    if lost:
        print(f"without ROS 2 these have no effect: {', '.join(lost)}", flush=True)
    words = [str(robot["robot"])]
    if robot.get("base", "auto") != "auto":
        words += ["--base", str(robot["base"])]
    if robot.get("loops"):
        words += ["--loops", str(robot["loops"])]
    start = robot.get("initial_positions")
    if isinstance(start, list) and start:
        words += ["--start", *(repr(value) for value in start)]
    is_still = bool(robot.get("start_paused"))
    if "contact" in robot and not (is_shown and is_still):
        words += ["--ground", str(robot["contact"])]
    if is_shown:
        words += ["--port", values["view_port"], *([] if is_still else ["--view"])]
    else:
        words += ["--headless", *(["--record", values["record"]] if values["record"] else [])]
        duration = duration or _SIM_HEADLESS
    words += [] if duration is None else ["--duration", repr(duration)]
    command: Any = view if is_shown and is_still else sim
    parser = argparse.ArgumentParser("ada up")
    command.add_arguments(parser)
    code: int = command.run(parser.parse_args(words))
    return code


def _lost(what: Plan, is_shown: bool) -> list[str]:
    """Requested options that have no effect here."""
    wishes = {
        "idle": "hold",  # the simulated robot moves freely
        "oracle": "true",
        "use_sim_time": "true",
    }
    lost = [f"{name}:={word}" for name, word in wishes.items() if what.values[name] == word]
    if what.controller:
        lost.append(f"the controller {what.controller}")
    if float(what.values["real_time_factor"]) != 1.0:
        lost.append("real_time_factor")
    lost += [name for name in ("namespace", "frame_prefix", "base_pose", "params_file") if what.values.get(name)]
    return [*lost, "record"] if what.values["record"] and is_shown else lost
