# SPDX-License-Identifier: Apache-2.0
"""Recordings, settings in files, and the text of a hardware node's state."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable
from pathlib import Path

import ada_dynamics as ada
from ada_dynamics import resources
from ada_dynamics.simulation.log import Log
from ada_dynamics.simulation.record.reading import read_log
from ada_hardware.kondo.angle_map import AngleMap
from ada_robot.node_state import read_hardware_state
from ada_robot.ros.parameter_files import told_to_many
from ada_tools.bringup.params_files import passed_over
from ada_tools.nodes.bag.reading import TopicFile
from ada_tools.scenario.reader import load
from trials.fuzz.target import Target

_CONFIG = Path(resources.__file__).parents[1] / "config"
_YAML = ("&a ", "*a", "!!python/object:", "<<: ", "---\n", "null", "[", "{", "nan", "1e400", "ros__parameters:", "/**:")


def _log() -> Log:
    return ada.Simulation(ada.load("four_bar")).run(0.003)


def _npz_seeds() -> Iterable[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.npz"
        _log().save(path)
        return [path.read_bytes()]


def _mcap_seeds() -> Iterable[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.mcap"
        _log().to_mcap(path)
        return [path.read_bytes()]


def _bag(path: Path) -> None:
    file = TopicFile(path)
    assert sum(1 for _ in file.messages(file.channels)) <= len(file)


def _params(path: Path) -> None:
    told_to_many(["--params-file", str(path)])
    passed_over(path, ["/dynamics_node"])


def _scenario_seeds() -> Iterable[bytes]:
    said = {
        **{"name": "a", "model": {"robot": "four_bar", "gravity": [0, 0, "-9.81 m/s^2"]}},
        **{"simulation": {"duration": "1 s", "step": "1 ms"}, "start": {"joints": {"j": "30 deg"}, "close": True}},
        "claims": [{"claim": "c", "measure": "loop_gap", "limit": 1e-9}],
        "disturbances": [{"link": "l", "wrench": [1, 0, 0, 0, 0, 0], "duration": "0.1 s"}],
    }
    return [json.dumps(said).encode()]


def _state(data: bytes) -> None:
    read_hardware_state(data.decode("utf-8", "replace"))


def _state_seeds() -> Iterable[bytes]:
    motor = {"name": "j", "lower": -1.0, "upper": None, "speed": 1.0, "is_angle": True}
    device = {
        "kind": "pa10",
        "phase": "active",
        "alarms": [{"text": "t"}],
        "motors": [motor],
        "topics": {"states": "/s"},
    }
    return [json.dumps({"phase": "active", "devices": {"arm": device}}).encode()]


_LONG = 65536

TARGETS = (
    Target("npz", "recordings, NPZ", read_log, _npz_seeds, file="log.npz", longest=_LONG),
    Target("mcap", "recordings, MCAP", read_log, _mcap_seeds, file="log.mcap", longest=_LONG),
    Target("bag", "MCAP files of any program of ROS 2", _bag, _mcap_seeds, file="bag.mcap", longest=_LONG),
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
