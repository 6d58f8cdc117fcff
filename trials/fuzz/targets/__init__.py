# SPDX-License-Identifier: Apache-2.0
"""All targets by name, with a file for each kind of input, which is imported when one of its targets is used."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import NamedTuple

from ada_dynamics.errors import unknown_name
from trials.fuzz.target import Target


class _File(NamedTuple):
    targets: tuple[str, ...]
    rooms: tuple[str, ...]  # modules whose branches guide the search, with all below them
    needs: tuple[str, ...] = ()  # required packages


_ROBOTS = ("ada_dynamics.robots", "ada_dynamics.structured_text")
_FILES: dict[str, _File] = {
    "robots": _File(("urdf", "mjcf", "sdf", "loops_yaml", "loops_json"), _ROBOTS),
    "files": _File(
        ("mcap", "scenario", "params", "angle_map", "hardware_state"),
        (
            *("ada_dynamics.simulation.record", "ada_dynamics.structured_text"),
            *("ada_tools.scenario", "ada_tools.bringup.nodes", "ada_robot.ros.parameter_files"),
            *("ada_robot.node_state", "ada_hardware.kondo.angle_map"),
        ),
    ),
    "tables": _File(
        ("csv", "motion_csv", "sweep", "settings", "xacro"),
        (
            *(
                "ada_robot.settings",
                "ada_dynamics.robots.readers.xacro",
                "ada_robot.safety",
                "ada_tools.sweep.results",
            ),
            *("ada_hardware.kondo.motion_file", "ada_tools.commands.identify"),
        ),
    ),
    "wires": _File(
        ("pa10", "hexa", "rcb1", "rcb4", "netft"),
        ("ada_hardware",),
    ),
    "ros": _File(
        (
            *("msg_joint_commands", "msg_joint_trajectory", "msg_wrench", "msg_state", "msg_joint_states", "msg_pose"),
            *("msg_phases", "msg_markers"),
        ),
        (
            *("ada_robot.node", "ada_robot.messages", "ada_robot.command", "ada_robot.trajectory", "ada_robot.limits"),
            *("ada_robot.simulated", "ada_controllers.node", "ada_controllers.running"),
        ),
        needs=("rclpy",),
    ),
}


def names() -> list[str]:
    """Targets whose required packages are installed."""
    return [name for file in _FILES.values() if all(map(find_spec, file.needs)) for name in file.targets]


def _file_of(name: str) -> str:
    for file, its in _FILES.items():
        if name in its.targets:
            return file
    raise unknown_name("target", name, names())


def rooms(name: str) -> tuple[str, ...]:
    """Modules whose branches guide the search, with all below them; they are not imported here."""
    return _FILES[_file_of(name)].rooms


def find(name: str) -> Target:
    """Return a target by its name."""
    found: Sequence[Target] = import_module(f"{__name__}.{_file_of(name)}").TARGETS
    return next(one for one in found if one.name == name)
