# SPDX-License-Identifier: Apache-2.0
"""All targets, by name. A file for each kind of input; it is imported when one of its targets is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import NamedTuple

from ada_dynamics.errors import unknown_name
from trials.fuzz.target import Target


class _File(NamedTuple):
    targets: tuple[str, ...]
    rooms: tuple[str, ...]  # modules whose branches guide the search, with all below them


_ROBOTS = ("ada_dynamics.robots", "ada_dynamics.structured_text")
_FILES: dict[str, _File] = {
    "robots": _File(("urdf", "mjcf", "sdf", "loops_yaml", "loops_json"), _ROBOTS),
    "files": _File(
        ("npz", "mcap", "bag", "scenario", "params", "angle_map", "hardware_state"),
        ("ada_dynamics.simulation.record", "ada_dynamics.structured_text", "ada_tools", "ada_robot", "ada_hardware"),
    ),
    "wires": _File(
        ("pa10", "hexa", "rcb1", "rcb4", "dynpick", "ft300", "rdt", "netft", "motion_packets"),
        ("ada_hardware", "ada_experiments.motion_simulation.packets"),
    ),
}


def names() -> list[str]:
    """Every target."""
    return [name for file in _FILES.values() for name in file.targets]


def _file_of(name: str) -> str:
    for file, its in _FILES.items():
        if name in its.targets:
            return file
    raise unknown_name("target", name, names())


def rooms(name: str) -> tuple[str, ...]:
    """Modules whose branches guide the search, with all below them; nothing of them is imported here.

    Raises:
        UnknownNameError: there is no such target.
    """
    return _FILES[_file_of(name)].rooms


def find(name: str) -> Target:
    """A target by its name.

    Raises:
        UnknownNameError: there is none.
    """
    found: Sequence[Target] = import_module(f"{__name__}.{_file_of(name)}").TARGETS
    return next(one for one in found if one.name == name)
