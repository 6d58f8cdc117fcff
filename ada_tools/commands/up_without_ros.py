# SPDX-License-Identifier: Apache-2.0
"""`ada up` without ROS 2: run the robot in this process by `ada sim` or `ada view`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ada_dynamics.errors import InputError
from ada_tools.bringup import Plan
from ada_tools.commands import sim, view

if TYPE_CHECKING:
    from ada_tools.commands import Subcommand

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
    if what.devices:
        backend = what.values["backend"]
        raise InputError(
            f"backend:={backend} needs ROS 2: {problem} Alternatives: `ada hw test`, or drive the device from "
            "Python (ada_hardware.robot.Robot)."
        )
    is_still = bool(what.robot.get("start_paused"))
    is_shown = not headless and what.values["view"] != "false"
    print(f"without ROS topics: {problem}", flush=True)
    lost = _lost(what, is_shown)
    if lost:
        print(f"without ROS 2 these have no effect: {', '.join(lost)}", flush=True)
    words = _words(what)
    if is_shown and is_still:
        return _run(view, [*words, *_page(what), *_lasting(duration)])
    words += _grounded(what)
    if is_shown:
        return _run(sim, [*words, "--view", *_page(what), *_lasting(duration)])
    return _run(sim, [*words, *_recorded(what), "--headless", *_lasting(duration or _SIM_HEADLESS)])


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


def _words(what: Plan) -> list[str]:
    """The robot as arguments of these commands."""
    robot = what.robot
    if not robot.get("robot"):
        raise InputError("robot:= is empty: without ROS 2 the robot cannot be received from a topic; give a file.")
    words = [str(robot["robot"])]
    if robot.get("base", "auto") != "auto":
        words += ["--base", str(robot["base"])]
    if robot.get("loops"):
        words += ["--loops", str(robot["loops"])]
    start = robot.get("initial_positions")
    if isinstance(start, list) and start:
        words += ["--start", *(repr(value) for value in start)]
    return words


def _grounded(what: Plan) -> list[str]:
    return ["--ground", str(what.robot["contact"])] if "contact" in what.robot else []


def _recorded(what: Plan) -> list[str]:
    return ["--record", what.values["record"]] if what.values["record"] else []


def _page(what: Plan) -> list[str]:
    return ["--port", what.values["view_port"]]


def _lasting(duration: float | None) -> list[str]:
    return [] if duration is None else ["--duration", repr(duration)]


def _run(command: Subcommand, words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser("ada up")
    command.add_arguments(parser)
    return command.run(parser.parse_args(words))
