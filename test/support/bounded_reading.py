# SPDX-License-Identifier: Apache-2.0
"""Hostile files are read by a process of their own, whose memory, time and reach are bounded."""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import resource
import warnings
from collections.abc import Callable
from importlib import import_module
from multiprocessing.connection import Connection
from operator import attrgetter
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
    "ada_tools.bringup.nodes",
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
    from ada_tools.scenario.published import packages
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


EMPTY = "<robot name='r'><link name='a'/></robot>"


def _call(function: str) -> Callable[[Path], None]:
    """A reader, `module:function`, that is imported in the process."""

    def run(path: Path) -> None:
        module, _, name = function.partition(":")
        attrgetter(name)(import_module(module))(path)

    return run


def _loops(path: Path) -> None:
    from ada_dynamics.robots.load import load

    load(EMPTY, loops=path)


def _parameters(path: Path) -> None:
    from ada_robot.ros.parameter_files import wildcard_parameters
    from ada_tools.bringup.nodes import unused_parameters

    wildcard_parameters(["--params-file", str(path)])
    unused_parameters(path, ["/dynamics_node"])


def _table(path: Path) -> None:
    from ada_dynamics.robots.load import load
    from ada_tools.commands.identify import read

    read(path, load(EMPTY))


def _motion(path: Path) -> None:
    from ada_dynamics import resources
    from ada_hardware.kondo.motion_file import read_motion

    read_motion(path, path.with_name(resources.find("config", "khr1_angle_map.yaml").name))


def _reproduce(path: Path) -> None:
    """A command of `ada`, whose refusal becomes an AdaError."""
    from ada_dynamics.errors import AdaError
    from ada_tools.cli import main

    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = main(["reproduce", str(path)])
    if code:
        raise AdaError(f"[{code}] {said.getvalue()[-1000:]}")


READERS: dict[str, Callable[[Path], None]] = {
    "load": _call("ada_dynamics.robots.load:load"),
    "loops": _loops,
    "scenario": _call("ada_tools.scenario.scenario:load"),
    "sweep": _call("ada_tools.sweep.sweep:load"),
    "parameters": _parameters,
    "angle map": _call("ada_hardware.kondo.angle_map:AngleMap.read"),
    "log": _call("ada_dynamics.simulation.log:Log.load"),
    "mesh": _call("ada_dynamics.drawing.mesh_files:read_mesh"),
    "table": _table,
    "motion": _motion,
    "ada reproduce": _reproduce,
}
