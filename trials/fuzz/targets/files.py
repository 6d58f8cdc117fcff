# SPDX-License-Identifier: Apache-2.0
"""Recordings, settings in files, and the text of a hardware node's state."""

from __future__ import annotations

import json
import struct
import tempfile
from collections.abc import Iterable
from pathlib import Path

import ada_dynamics as ada
from ada_dynamics import resources
from ada_dynamics.simulation.log import Log
from ada_dynamics.simulation.record.mcap_files import (
    CHUNK,
    DATA_END,
    MCAP_MAGIC,
    RECORD_HEADER,
    chunk_data,
    parsed,
    records_in,
)
from ada_hardware.kondo.angle_map import AngleMap
from ada_robot.node_state import read_hardware_state
from ada_robot.ros.parameter_files import wildcard_parameters
from ada_tools.bringup.nodes import unused_parameters
from ada_tools.scenario.published import published
from ada_tools.scenario.scenario import load
from trials.fuzz.target import Target
from trials.fuzz.targets.robots import PLAIN

_CONFIG = Path(resources.__file__).parents[1] / "config"
_YAML = ("&a ", "*a", "!!python/object:", "<<: ", "---\n", "null", "[", "{", "nan", "1e400", "ros__parameters:", "/**:")


def _recording() -> bytes:
    """A recording of three rows."""
    log = ada.Simulation(ada.load(PLAIN)).run(0.002)
    with tempfile.TemporaryDirectory() as folder:
        return log.to_mcap(Path(folder) / "log.mcap").read_bytes()


def _mcap_seeds() -> Iterable[bytes]:
    """The file as written, and without compression and check sums."""
    whole = _recording()
    plain = MCAP_MAGIC
    for opcode, begin, end in records_in(whole[len(MCAP_MAGIC) : -len(MCAP_MAGIC)]):
        content = whole[len(MCAP_MAGIC) + begin : len(MCAP_MAGIC) + end]
        if opcode == CHUNK:
            data = chunk_data(parsed("Chunk", content))
            content = struct.pack("<QQQIIQ", 0, 2**62, len(data), 0, 0, len(data)) + data
        plain += RECORD_HEADER.pack(opcode, len(content)) + content
        if opcode == DATA_END:
            break
    return [plain, whole]


def _params(path: Path) -> None:
    wildcard_parameters(["--params-file", str(path)])
    unused_parameters(path, ["/dynamics_node"])


def _scenario_seeds() -> Iterable[bytes]:
    said = {
        **{"name": "a", "model": {"robot": "four_bar", "gravity": [0, 0, "-9.81 m/s^2"]}},
        **{"simulation": {"duration": "1 s", "step": "1 ms"}, "start": {"joints": {"j": "30 deg"}, "close": True}},
        "claims": [{"claim": "c", "measure": "loop_gap", "limit": 1e-9}],
        "disturbances": [{"link": "l", "wrench": [1, 0, 0, 0, 0, 0], "duration": "0.1 s"}],
    }
    published()  # the search for installed experiments, once in a process, opens files
    return [json.dumps(said).encode()]


def _state(data: bytes) -> None:
    read_hardware_state(data.decode("utf-8", "replace"))


def _state_seeds() -> Iterable[bytes]:
    return [json.dumps(PHASES).encode()]


PHASES = {
    **{"phase": "active", "stopped": "", "problem": "", "dry_run": False},
    "devices": {
        "arm": {
            **{"kind": "pa10", "phase": "active", "reason": "", "topics": {"states": "/joint_states"}, "armed": True},
            "alarms": [{"joint": "s1", "text": "hot", "code": 3}],
            "joints": [{"name": "s1", "lower": -1.0, "upper": None, "velocity": 1.0}],
            "servos": {"s1": {"sign": -1, "zero": 90}},
        }
    },
}
_LONG = 24576

TARGETS = (
    Target("mcap", "recordings, MCAP", Log.load, _mcap_seeds, file="log.mcap", longest=_LONG),
    Target("scenario", "scenarios", load, _scenario_seeds, words=_YAML, file="scenario.yaml"),
    Target(
        *("params", "files of ROS 2 parameters", _params, lambda: [(_CONFIG / "parameters.yaml").read_bytes()[:3000]]),
        words=_YAML,
        file="params.yaml",
    ),
    Target(
        *("angle_map", "angle maps of servos", AngleMap.read, lambda: [(_CONFIG / "khr1_angle_map.yaml").read_bytes()]),
        words=_YAML,
        file="map.yaml",
        longest=8192,
    ),
    Target("hardware_state", "text of a hardware node's ~/state", _state, _state_seeds),
)
