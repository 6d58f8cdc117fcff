# SPDX-License-Identifier: Apache-2.0
"""Hostile files are read by a process of their own, whose memory, time and reach are bounded."""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import resource
import warnings
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

# A process may have, beyond the addresses of its loaded packages:
MEMORY = 300 * 2**20  # [byte]
MEMORY_PER_BYTE = 12  # of what it is given to read
LONGEST = 4000  # characters of an error
SECONDS = 20  # of the processor; each bomb takes a few, on a busy machine too

_LOADED = (
    "ada_dynamics.simulation.record.log_files",
    "ada_dynamics.drawing.mesh_files",
    "ada_hardware.kondo.motion_file",
    "ada_robot.safety.flight_file",
    "ada_tools.commands.check",
    "ada_tools.commands.info",
    "ada_tools.commands.identify",
    "ada_tools.sweep.sweep",
    *("collada", "lxml.etree", "lz4.frame", "mcap.reader", "scipy.spatial", "trimesh", "xacro", "yaml", "zstandard"),
)


def outcome(how: str, path: Path) -> str:
    """What came of a file: "read", "refused: ..." with the words of an AdaError, or what else happened."""
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(list(_LOADED))
    mine, its = processes.Pipe(duplex=False)
    process = processes.Process(target=_read_within_bounds, args=(how, path, its), daemon=True)
    process.start()
    its.close()
    try:
        said: str = mine.recv() if mine.poll(10 * SECONDS) else "no answer in time"
    except EOFError:
        said = "it broke down"
    finally:
        process.kill()
        process.join()
    return said


def _read_within_bounds(how: str, path: Path, answer: Connection) -> None:
    from ada_dynamics.errors import AdaError
    from ada_dynamics.resources import provided
    from ada_tools.commands import GROUP
    from ada_tools.scenario.scenario import packages
    from trials.fuzz.fence import Escaped, fence

    read = READERS[how]
    packages()  # what is installed is no part of the file
    provided(GROUP, "reproduce")
    used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    given = sum(file.stat().st_size for file in path.parent.iterdir())
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY + MEMORY_PER_BYTE * given,) * 2)
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    warnings.simplefilter("ignore")
    try:
        with fence((path.parent.resolve(),)):
            read(path)
        said = "read"
    except AdaError as refusal:
        words = str(refusal)
        said = f"refused: {words}" if len(words) <= LONGEST else f"an error of {len(words)} characters: {words[:500]}"
    except Escaped as escape:
        said = f"escaped: {escape}"
    except BaseException as problem:  # whatever it is, the test says it
        said = f"{type(problem).__name__}: {str(problem)[:500]}"
    answer.send(said)


def _robot(path: Path) -> None:
    from ada_dynamics.robots.load import load

    load(path)


def _loops(path: Path) -> None:
    from ada_dynamics.robots.load import load

    load("<robot name='r'><link name='a'/></robot>", loops=path)


def _scenario(path: Path) -> None:
    from ada_tools.scenario.scenario import load

    load(path)


def _sweep(path: Path) -> None:
    from ada_tools.sweep.sweep import load

    load(path)


def _parameters(path: Path) -> None:
    from ada_robot.ros.parameter_files import wildcard_parameters
    from ada_tools.bringup.nodes import unused_parameters

    wildcard_parameters(["--params-file", str(path)])
    unused_parameters(path, ["/dynamics_node"])


def _angle_map(path: Path) -> None:
    from ada_hardware.kondo.angle_map import AngleMap

    AngleMap.read(path)


def _log(path: Path) -> None:
    from ada_dynamics.simulation.log import Log

    Log.load(path)


def _flight(path: Path) -> None:
    from ada_robot.safety.flight_file import read

    read(path)


def _mesh(path: Path) -> None:
    from ada_dynamics.drawing.mesh_files import read_mesh

    read_mesh(path)


def _table(path: Path) -> None:
    from ada_dynamics.robots.load import load
    from ada_tools.commands.identify import read

    read(path, load("<robot name='r'><link name='a'/></robot>"))


def _motion(path: Path) -> None:
    from ada_dynamics import resources
    from ada_hardware.kondo.motion_file import read_motion

    read_motion(path, path.with_name(resources.find("config", "khr1_angle_map.yaml").name))


def _by_command(*words: str) -> Callable[[Path], None]:
    """A command of `ada` with the file at its end, whose refusal becomes an AdaError as everywhere."""

    def run(path: Path) -> None:
        from ada_dynamics.errors import AdaError
        from ada_tools.cli import main

        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            code = main([*words, str(path)])
        if code:
            raise AdaError(f"[{code}] {said.getvalue()[-1000:]}")

    return run


READERS: dict[str, Callable[[Path], None]] = {
    "load": _robot,
    "loops": _loops,
    "scenario": _scenario,
    "sweep": _sweep,
    "parameters": _parameters,
    "angle map": _angle_map,
    "log": _log,
    "flight": _flight,
    "mesh": _mesh,
    "table": _table,
    "motion": _motion,
    "ada check": _by_command("check"),
    "ada info": _by_command("info"),
    "ada record info": _by_command("record", "info"),
    "ada reproduce": _by_command("reproduce"),
}
