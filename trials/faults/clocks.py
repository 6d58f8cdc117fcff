# SPDX-License-Identifier: Apache-2.0
"""Clocks that are set while an arm moves: that of who commands it, that of its node, or both.

The clock of this machine stays as it is. A small library (set_clock.c), loaded before all others, tells the processes
of a case another time, in Python and in DDS, as if theirs had been set. What waits for a time of the clock itself is
not moved by it; nodes wait by the steady clock.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

from ada_hardware.emulation.process import EmulatorProcess
from trials.faults.case import HOST, WATCHED, CannotTryError, Case, Outcome
from trials.faults.nodes import INACTIVE, Scene, commanded, goes_on, told, trial
from trials.graph.graph import Graph

FAR = 3600  # [s]
SOURCE = Path(__file__).with_name("set_clock.c")
_FILE = "clock"


def _set(folder: Path, seconds: int) -> None:
    folder.joinpath(_FILE).write_bytes(struct.pack("l", seconds))


def _clock(seconds: int, *, of_node: bool = False, of_commander: bool = False) -> Callable[[int], Outcome]:
    """A clock that is set, and set right again when the arm stands."""

    def start(graph: Graph, device: EmulatorProcess) -> Scene:
        library = graph.folder / "set_clock.so"
        compiler = shutil.which("cc")
        if compiler is None:
            raise CannotTryError("no C compiler for the library that sets the clock of one process")
        subprocess.run([compiler, "-shared", "-fPIC", "-O2", "-o", library, SOURCE], check=True)
        _set(graph.folder, 0)
        options = {"environment": {"LD_PRELOAD": str(library), "SET_CLOCK": str(graph.folder / _FILE)}}
        return commanded(node=options if of_node else {}, commander=options if of_commander else {})(graph, device)

    return trial(
        start,
        lambda scene: _set(scene.graph.folder, seconds),
        goes_on if of_node and of_commander else _told,
        lambda scene: _set(scene.graph.folder, 0),
    )


def _told(scene: Scene, at: float) -> tuple[str, float, str]:
    """The end; the refusals must have named the clocks."""
    state, seconds, _ = told(scene, at)
    refusal = str(scene.graph.newest(lambda one: "state" in one)["state"]["devices"]["pa10"]["last_refusal"])
    return state if "share a clock" in refusal else f"{state}, and no word of clocks", seconds, refusal


CASES = (
    Case("commander's clock set back", INACTIVE, HOST, _clock(-FAR, of_commander=True)),
    Case("commander's clock set forward", INACTIVE, HOST, _clock(FAR, of_commander=True)),
    Case("clock of the robot's node set back", INACTIVE, HOST, _clock(-FAR, of_node=True)),
    Case("clock of the robot's node set forward", INACTIVE, HOST, _clock(FAR, of_node=True)),
    Case("clock of both set back", ("active",), WATCHED, _clock(-FAR, of_node=True, of_commander=True)),
    Case("clock of both set forward", ("active",), WATCHED, _clock(FAR, of_node=True, of_commander=True)),
)
