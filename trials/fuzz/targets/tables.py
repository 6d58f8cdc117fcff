# SPDX-License-Identifier: Apache-2.0
"""Recordings in CSV, motions of servos, files of sweeps, settings of every kind, arguments of xacro."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from ada_controllers.registry import CONTROLLERS, find
from ada_controllers.running.control_loop import LoopSettings
from ada_dynamics import resources
from ada_dynamics.robots.load import load
from ada_hardware.kondo.angle_map import AngleMap
from ada_hardware.kondo.motion_file import read_motion
from ada_hardware.node.hardware_settings import DeviceSettings, HardwareSettings
from ada_robot.safety.settings import SafetySettings
from ada_robot.settings import as_mapping, checked
from ada_robot.simulated.settings import DynamicsSettings
from ada_tools.commands.identify import read as read_recording
from ada_tools.nodes.settings import OracleSettings, TargetSettings, ViewSettings
from ada_tools.sweep.results import FILE, read_result
from trials.fuzz.target import Target
from trials.fuzz.targets.robots import PLAIN

_CONFIG = Path(resources.__file__).parents[1] / "config"
_MODEL = load(PLAIN)
_MAP = AngleMap.read(_CONFIG / "khr1_angle_map.yaml")
_NUMBERS = ("nan", "inf", "-1", "1e400", "1e-320", ",", '"', "\r", "\x00")

_COLUMNS = "t [s]", *(f"{what} joint_{i}" for what in ("q", "tau") for i in (1, 2, 3))
_TABLE = "\n".join([",".join(_COLUMNS), "0,1,2,3,4,5,6", "0.1,1,2,3,4,5,6"]).encode()


def _motion_seeds() -> Iterable[bytes]:
    return [b"\n".join((_CONFIG / "khr1_walk.csv").read_bytes().splitlines()[:4])]


def _sweep(path: Path) -> None:
    read_result(path.parent)


def _sweep_seeds() -> Iterable[bytes]:
    header = {"ada_sweep": 1, "total": 2, "sweep": {}}
    done = {"run": 0, "status": "done", "changes": {"simulation.step": 1e-3}, "measures": {"energy_drift": 1e-9}}
    failed = {"run": 1, "status": "failed", "changes": {}, "error": {"type": "IntegrationError", "text": "lost"}}
    rows = [{**row, "seconds": 0.1} for row in (done, failed)]
    return [b"".join(json.dumps(one).encode() + b"\n" for one in (header, *rows))]


# --- settings: the first byte chooses a class, the rest is a mapping -------------------------------------------------
_SETTINGS: tuple[type, ...] = (
    *(DynamicsSettings, SafetySettings, HardwareSettings, DeviceSettings, LoopSettings),
    *(ViewSettings, TargetSettings, OracleSettings, *(find(name).SETTINGS for name in CONTROLLERS)),
)


def _settings(data: bytes) -> None:
    kind = _SETTINGS[data[0] % len(_SETTINGS)] if data else DynamicsSettings
    try:
        said = json.loads(data[1:].decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return
    if isinstance(said, dict):
        as_mapping(checked(kind, said))


def _settings_seeds() -> Iterable[bytes]:
    return [bytes([i]) + json.dumps(as_mapping(kind())).encode() for i, kind in enumerate(_SETTINGS)]


# --- xacro: NAME=VALUE, a line each -----------------------------------------------------------------------------------
_XACRO = Path(__file__).parents[1] / "arguments.urdf.xacro"


def _xacro(data: bytes) -> None:
    lines = data.decode("utf-8", "replace").split("\n")
    load(_XACRO, mappings=dict(line.partition("=")[::2] for line in lines))


_KEYS = tuple(f'"{name}":' for kind in _SETTINGS for name in as_mapping(kind()))
_VALUES = ("NaN", "Infinity", "-1", "1e400", "null", "true", "[]", '["a"]', "[0.0]", '""')

TARGETS = (
    Target(
        *(
            "csv",
            "recordings, CSV",
            lambda path: read_recording(path, _MODEL),
            lambda: [_TABLE],
            _NUMBERS,
            "log.csv",
        ),
        longest=1024,
    ),
    Target(
        *("motion_csv", "motions of servos, CSV", lambda path: read_motion(path, _MAP), _motion_seeds, _NUMBERS),
        file="motion.csv",
        longest=1024,
    ),
    Target("sweep", "results of a sweep", _sweep, _sweep_seeds, file=FILE, longest=1024),
    Target("settings", "settings of nodes and controllers", _settings, _settings_seeds, (*_KEYS, *_VALUES)),
    Target(
        *(
            "xacro",
            "arguments of xacro files",
            _xacro,
            lambda: [b"a=2\nb=hand"],
            ("${", "}", "$(arg a)", "$(find ", "$(env "),
        ),
        reads=(_XACRO.parent,),
        longest=200,
    ),
)
