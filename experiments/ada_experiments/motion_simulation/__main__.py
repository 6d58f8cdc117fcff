# SPDX-License-Identifier: Apache-2.0
"""Programs of the hybrid motion simulation: `python -m ada_experiments.motion_simulation ROLE`; see --help."""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from ada_dynamics.errors import AdaError, InputError
from ada_experiments.motion_simulation.frames import Mounting
from ada_experiments.motion_simulation.hexa_table import EmulatedTable, EmulatedTableSettings, HexaTable, ThreadSensor
from ada_experiments.motion_simulation.motion_table import ImpedanceTable, MotionTable, TableSettings
from ada_experiments.motion_simulation.programs import FollowSettings, LoopSettings
from ada_experiments.motion_simulation.real_time import DynamicsClient, TableServer, say
from ada_experiments.motion_simulation.robots import PairSettings, RobotPair
from ada_hardware.emulation.host import ANY_UDP
from ada_hardware.force_torque.sensor import ForceSensor
from ada_hardware.hexa.driver import HexaDriver, HexaSettings
from ada_robot.settings import checked, fields_of, option_numbers, option_values
from ada_robot.timing.deadlines import reduce_interpreter_jitter
from ada_robot.timing.realtime import raise_process_priority

S = TypeVar("S")
ROLES = ("all", "dynamics", "table", "graphics")
_ENDING = 10.0  # [s] timeout for a program to exit
_EXAMPLES = """\
one machine:
  python -m ada_experiments.motion_simulation all --touches 5
  python -m ada_experiments.motion_simulation all --graphics --table-set kp=800 --fault drop=0.1
three machines, in this order:
  python -m ada_experiments.motion_simulation table --listen udp://0.0.0.0:50100
  python -m ada_experiments.motion_simulation graphics --listen udp://0.0.0.0:50101 --port 8080
  python -m ada_experiments.motion_simulation dynamics --table-url udp://TABLE:50100 --graphics-url udp://GRAPHICS:50101

Table and graphics print {"ready": true, "url": ...} when they are ready; each program prints statistics at its end.
--list shows the settings.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a program; exit code 0 on success, 1 if the motion failed, 2 for invalid arguments."""
    options = _parser().parse_args(arguments)
    try:
        if options.list:
            return _list()
        run = {"all": _all, "dynamics": _dynamics, "table": _table, "graphics": _graphics}[options.role]
        return run(options)
    except InputError as problem:
        print(f"{options.role}: {problem}", file=sys.stderr)
        return 2
    except AdaError as problem:
        print(f"{options.role}: {problem}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m ada_experiments.motion_simulation",
        description="Hybrid motion simulation (Tarao et al.) in real time: simulated robots, a motion table, graphics.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("role", choices=ROLES, help="program to run; all: all three on this machine")
    parser.add_argument(
        "--table", choices=("hexa", "impedance"), default="hexa", help="emulated HEXA, or the impedance model"
    )
    parser.add_argument("--hexa-url", default="", help="table: address of a real HEXA")
    parser.add_argument("--sensor", default="netft", help="table: kind of the sensor of a real table")
    parser.add_argument("--sensor-url", default="", help="table: address of that sensor")
    parser.add_argument(
        "--listen", default=ANY_UDP, help="table and graphics: address to listen on (default %(default)s)"
    )
    parser.add_argument("--table-url", default="", help="dynamics: address of the table control")
    parser.add_argument("--graphics-url", default="", help="dynamics: address of the graphics")
    parser.add_argument("--graphics", action="store_true", help="all: start the graphics, too")
    parser.add_argument("--port", type=int, default=8080, help="port of the graphics page (default %(default)s)")
    parser.add_argument("--touches", type=int, default=1, help="number of consecutive motions (default %(default)s)")
    parser.add_argument(
        "--longest", type=float, default=3.0, help="maximum duration of a motion [s] (default %(default)s)"
    )
    parser.add_argument("--priority", type=int, default=0, help="SCHED_FIFO priority of the loops, 1 to 99; 0: none")
    parser.add_argument("--seed", type=int, default=0, help="seed of random faults (default %(default)s)")
    parser.add_argument("--list", action="store_true", help="show the settings and exit")
    for name, what in (
        ("pair-set", "setting of the robots"),
        ("loop-set", "setting of the loop"),
        ("table-set", "setting of the table"),
        ("follow-set", "setting of the table's pose tracking"),
        ("fault", "fault of the network"),
    ):
        parser.add_argument(
            f"--{name}", action="append", default=[], metavar="NAME=VALUE", help=f"{what}; may be repeated"
        )
    return parser


# --- the programs ---------------------------------------------------------------------------------------------------
def _table(options: argparse.Namespace) -> int:
    server = TableServer(
        _made_table(options),
        _settings(FollowSettings, "follow-set", options.follow_set),
        options.listen,
        faults=option_numbers("fault", options.fault),
        seed=options.seed,
        priority=options.priority,
    )
    _on_signals(server.stop)
    say({"ready": True, "url": server.url})
    _hurry()
    figures = server.run()
    say(figures)
    return 1 if figures["problem"] else 0


def _hurry() -> None:
    """Raise the priority of this process, after the setup."""
    raise_process_priority()
    reduce_interpreter_jitter()


def _made_table(options: argparse.Namespace) -> MotionTable:
    if options.hexa_url or options.sensor_url:
        return _real_table(options)
    if options.table == "impedance":
        return ImpedanceTable(_settings(TableSettings, "table-set", options.table_set), Mounting())
    return EmulatedTable(_settings(EmulatedTableSettings, "table-set", options.table_set), Mounting())


def _real_table(options: argparse.Namespace) -> MotionTable:
    """A real HEXA and a real sensor."""
    if not (options.hexa_url and options.sensor_url):
        raise InputError("give both --hexa-url and --sensor-url, or none for emulated devices.")
    if options.table_set:
        raise InputError("--table-set applies to emulated tables only.")
    sensor = ForceSensor(options.sensor, {"url": options.sensor_url})
    return HexaTable(HexaDriver(HexaSettings(url=options.hexa_url)), ThreadSensor(sensor))


def _dynamics(options: argparse.Namespace) -> int:
    if not options.table_url:
        raise InputError(
            "--table-url is missing: give the address printed by the table control, such as udp://127.0.0.1:50100."
        )
    if options.touches < 1:
        raise InputError(f"--touches is {options.touches}; it must be at least 1.")
    client = DynamicsClient(
        RobotPair(_settings(PairSettings, "pair-set", options.pair_set)),
        _settings(LoopSettings, "loop-set", options.loop_set),
        options.table_url,
        graphics_url=options.graphics_url,
        touches=options.touches,
        longest=options.longest,
        priority=options.priority,
    )
    _on_signals(client.stop)
    _hurry()
    say(client.run())
    return 0


def _graphics(options: argparse.Namespace) -> int:
    from ada_experiments.motion_simulation.graphics import Graphics

    graphics = Graphics(_settings(PairSettings, "pair-set", options.pair_set), options.listen, port=options.port)
    _on_signals(graphics.stop)
    say({"ready": True, "url": graphics.url, "page": graphics.page_url})
    say(graphics.run())
    return 0


def _all(options: argparse.Namespace) -> int:
    """Run the three programs on this machine and print their combined statistics."""
    started: list[subprocess.Popen[str]] = []
    common = [f"--seed={options.seed}", f"--priority={options.priority}"]
    try:
        extra = _given(options, "table_set", "follow_set", "fault")
        table, ready = _started("table", [f"--table={options.table}", *common, *extra], started)
        more = [f"--table-url={ready['url']}"]
        if options.graphics:
            _, shown = _started("graphics", [f"--port={options.port}", *_given(options, "pair_set")], started)
            more.append(f"--graphics-url={shown['url']}")
            print(f"graphics: {shown['page']}", file=sys.stderr)
        more += [f"--touches={options.touches}", f"--longest={options.longest}", *common]
        more += _given(options, "pair_set", "loop_set")
        dynamics = subprocess.Popen(_command("dynamics", more), stdout=subprocess.PIPE, text=True)
        started.append(dynamics)
        told, _ = dynamics.communicate()
        figures: dict[str, Any] = {"dynamics": json.loads(told) if told else None}
        with suppress(subprocess.TimeoutExpired):
            rest, _ = table.communicate(timeout=_ENDING)
            figures["table"] = json.loads(rest) if rest else None
        say(figures)
        return dynamics.returncode
    except KeyboardInterrupt:
        return 0
    finally:
        for process in started:
            if process.poll() is None:
                process.terminate()
        for process in started:
            with suppress(subprocess.TimeoutExpired):
                process.communicate(timeout=_ENDING)
            process.kill()


def _started(
    role: str, arguments: Iterable[str], started: list[subprocess.Popen[str]]
) -> tuple[subprocess.Popen[str], dict[str, Any]]:
    process = subprocess.Popen(_command(role, arguments), stdout=subprocess.PIPE, text=True)
    started.append(process)
    line = process.stdout.readline() if process.stdout is not None else ""
    if not line:
        raise AdaError(f"the program {role!r} did not start; see its message above.")
    ready: dict[str, Any] = json.loads(line)
    return process, ready


def _command(role: str, arguments: Iterable[str]) -> list[str]:
    return [sys.executable, "-m", "ada_experiments.motion_simulation", role, *arguments]


def _given(options: argparse.Namespace, *names: str) -> list[str]:
    return [f"--{name.replace('_', '-')}={value}" for name in names for value in getattr(options, name)]


# --- settings -------------------------------------------------------------------------------------------------------
def _settings(cls: type[S], option: str, texts: Iterable[str]) -> S:
    return checked(cls, option_values(option, texts))


def _list() -> int:
    for option, cls in (
        ("--pair-set", PairSettings),
        ("--loop-set", LoopSettings),
        ("--table-set (hexa)", EmulatedTableSettings),
        ("--table-set (impedance)", TableSettings),
        ("--follow-set", FollowSettings),
    ):
        print(f"{option} NAME=VALUE")
        for one in fields_of(cls):
            print(f"  {one.name} = {one.default}: {one.description}; {one.allowed}")
    return 0


def _on_signals(stop: Any) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop())


if __name__ == "__main__":
    sys.exit(main())
