# SPDX-License-Identifier: Apache-2.0
"""Start a robot as ROS 2 nodes: simulated, emulated or real.

Start the nodes of a setup: the robot, its controller if the setup has one, a browser view of its topics and, if
installed, RViz. These are the nodes and arguments of `ros2 launch ada_dynamics NAME.launch.py`, without
an installed ROS 2. If ROS 2 nodes cannot run at all, a simulated robot runs without topics and controller.
Ctrl-C ends all nodes, after stopping a real robot. A real robot moves only after it was activated.

Examples:
  ada up --list                             the setups
  ada up pa10                               the arm PA-10; pa10 is short for pa10_sim
  ada up pa10 --show-args                   list the arguments
  ada up khr1 rviz:=false view_port:=8081   arguments are written as for ros2 launch
  ada up display robot:=my_robot.urdf       sliders for any robot
  ada up robot_control robot:=my_robot.urdf loops:=my_robot.loops.yaml controller:=computed_torque
  ada up hoap2_balance                      a humanoid that balances under pushes
  ada up pa10_control --backend emulator    the controlled arm with an emulated device
  ada up khr1_bringup port:=/dev/ttyUSB0    the real KHR-1, without motion until it is activated
  ada up pa10 --headless --duration 10      a check without display: exit code 0 if joint states were received
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys

from ada_dynamics.clock import SYSTEM_CLOCK
from ada_dynamics.errors import USAGE_ERROR, InputError
from ada_tools.bringup import SETUPS, Plan, Setup, find_setup, plan
from ada_tools.bringup.arguments import assignments
from ada_tools.bringup.processes import params_text
from ada_tools.bringup.starter import Console, Starter
from ada_tools.commands import sim
from ada_tools.commands.common import seconds, table

_TICK = 0.05  # [s]
_PATIENCE = 60.0  # [s] minimum timeout for the first joint states: a first start compiles
_FAILED = 1
_HEADLESS = 5.0  # [s] of a simulation without ROS 2 and without display
_WITHOUT_EFFECT = (
    *("real_time_factor", "oracle", "use_sim_time", "namespace", "frame_prefix", "base_pose", "params_file"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="a setup; see --list")
    parser.add_argument("assignments", nargs="*", metavar="ARG:=VALUE", help="its arguments; see --show-args")
    parser.add_argument("--list", action="store_true", help="list the setups")
    parser.add_argument("--show-args", action="store_true", help="list the arguments of a setup")
    parser.add_argument("--dry-run", action="store_true", help="print the commands without starting them")
    parser.add_argument(
        "--backend", metavar="X", help="same as backend:=X: sim, emulator or real, if supported by the setup"
    )
    parser.add_argument("--headless", action="store_true", help="no display: view:=false rviz:=false")
    parser.add_argument(
        "--duration",
        type=seconds,
        metavar="S",
        help=f"end after S seconds; fails without joint states within S and within {_PATIENCE:g} s",
    )


def run(options: argparse.Namespace) -> int:
    """Start the setup, and wait for its end."""
    if options.list or options.name is None:
        rows = [
            (one.name, ", ".join(one.shorthands) if len(one.shorthands) < 4 else "its mechanisms", one.summary)
            for one in SETUPS.values()
        ]
        print("\n".join(table(("setup", "short", "description"), rows)))
        if options.list:
            return 0
        print("\nada up NAME [ARG:=VALUE ...]; see ada up --help", file=sys.stderr)
        return USAGE_ERROR
    setup, shorthand = find_setup(options.name)
    if options.show_args:
        print("\n".join(_argument_lines(setup)))
        return 0
    values = {**shorthand, **assignments(options.assignments)}
    if options.backend is not None:
        _refuse_backend(setup, values, options.backend)
        values["backend"] = options.backend
    if options.headless:
        values = {**values, **_headless(values)}
    what = plan(setup, values)
    if options.dry_run:
        print("\n".join(_dry_lines(what)))
        return 0
    from ada_robot.ros.environment import ros_problem

    problem = ros_problem()
    if problem is not None:
        return _simulate(what, problem, options.duration)
    return _bring_up(what, options.duration)


def _argument_lines(setup: Setup) -> list[str]:
    lines = [f"{setup.name}: {setup.summary}", ""]
    for argument in setup.arguments:
        choices = f" one of {', '.join(argument.choices)};" if argument.choices else ""
        lines += [f"  {argument.name}:={argument.default}", f"     {choices} {argument.description}".replace("  ", " ")]
    return lines


def _refuse_backend(setup: Setup, values: dict[str, str], backend: str) -> None:
    """Reject a backend if the setup has none, or if the arguments name another one."""
    able = [one.name for one in SETUPS.values() if any(argument.name == "backend" for argument in one.arguments)]
    if setup.name not in able:
        raise InputError(f"--backend {backend}: {setup.name} is always simulated; {', '.join(able)} have backends.")
    if values.get("backend", backend) != backend:
        raise InputError(f"--backend {backend} and backend:={values['backend']}: give one of them.")


def _headless(values: dict[str, str]) -> dict[str, str]:
    wished = [f"{name}:={values[name]}" for name in ("view", "rviz") if values.get(name, "false") != "false"]
    if wished:
        raise InputError(f"--headless contradicts {' and '.join(wished)}: omit one of them.")
    return {"view": "false", "rviz": "false"}


def _dry_lines(what: Plan) -> list[str]:
    lines = [f"{what.setup}:", *(f"  note: {note}" for note in what.notes)]
    for process in what.processes:
        words = [process.package, process.executable, *process.arguments, "--ros-args", *process.ros_arguments()]
        lines += ["", f"ros2 run {shlex.join(words)}"]
        parameters = {**process.parameters, **process.given}
        lines += [f"  {line}" for line in params_text(parameters, process.full_name).splitlines() if parameters]
    return lines


def _bring_up(what: Plan, duration: float | None) -> int:
    console = Console()
    names = ", ".join(process.name for process in what.processes)
    console.say(f"{what.setup}: starting {names} in ROS domain {os.environ.get('ROS_DOMAIN_ID') or 0}; Ctrl-C ends")
    for note in (*what.notes, *_remarks(what)):
        console.say(note)
    with Starter(what, console) as starter:
        return starter.run() if duration is None else _checked(what, starter, console, duration)


def _checked(what: Plan, starter: Starter, console: Console, duration: float) -> int:
    """Run the nodes for a number of seconds; exit code 0 if the robot published."""
    begin = SYSTEM_CLOCK.now()
    from ada_tools.bringup.robot_watch import RobotWatch  # slow import, during which the nodes start

    watch = RobotWatch(what)

    def tick() -> bool:
        watch.look(_TICK)
        return SYSTEM_CLOCK.now() - begin > (duration if watch.count else max(duration, _PATIENCE))

    try:
        code = starter.run(tick)
    finally:
        watch.close()
    if code or starter.is_interrupted:
        return code
    console.say(f"{watch.count} messages on {watch.topic} in {duration:g} s")
    if not watch.count:
        console.say("failed: see the output of the nodes above; on a slow machine use a longer --duration.")
    return 0 if watch.count else _FAILED


def _remarks(what: Plan) -> list[str]:
    """Instructions for the user of a robot that waits for a command; empty for a setup that moves."""
    autostart = what.devices.get("autostart")
    if autostart == "inactive":
        node = f"{what.values['namespace']}/{what.plant}"
        return [f"inactive: activate it in the browser view, or by ros2 lifecycle set {node} activate"]
    if autostart == "commanded":
        return ["inactive: the first command activates it"]
    if what.robot.get("start_paused"):
        return ["the simulation is paused"]
    is_held = what.robot.get("idle") == "hold" and not what.controller
    return ["servos hold its position (idle:=release frees the joints)"] if is_held else []


# --- without ROS 2 ----------------------------------------------------------------------------------------------------
def _simulate(what: Plan, problem: str, duration: float | None) -> int:
    """Simulate the robot of a plan in this process, by `ada sim`.

    Raises:
        InputError: the plan does not simulate a robot.
    """
    robot, values = what.robot, what.values
    if not robot.get("robot") or robot.get("start_paused"):
        text = f"{what.setup} needs ROS 2: {problem} Without it, try `ada view ROBOT` or `ada hw test DEVICE`."
        raise InputError(text, field="setup", value=what.setup)
    print(f"without ROS 2, simulated without topics, servos and controller: {problem}", flush=True)
    lost = [f"{name}:={values[name]}" for name in _WITHOUT_EFFECT if values[name] not in ("", "false", "1.0")]
    if lost:
        print(f"these have no effect: {', '.join(lost)}", flush=True)
    words = [str(robot["robot"]), "--ground", str(robot.get("contact", "auto"))]
    for option, name in (("--base", "base"), ("--loops", "loops")):
        words += [option, str(robot[name])] if robot.get(name, "auto") not in ("", "auto") else []
    start = robot.get("initial_positions")
    words += ["--start", *map(repr, start)] if isinstance(start, list) else []
    if values["view"] == "false":
        duration = duration or _HEADLESS
    else:
        words += ["--view", "--port", values["view_port"]]
    words += [] if duration is None else ["--duration", repr(duration)]
    parser = argparse.ArgumentParser("ada up")
    sim.add_arguments(parser)
    return sim.run(parser.parse_args(words))
