# SPDX-License-Identifier: Apache-2.0
"""Data on ~/state for user interfaces: servo scales and available motion files; no ROS."""

from __future__ import annotations

from collections.abc import Mapping

from ada_dynamics import resources
from ada_dynamics.errors import AdaError
from ada_hardware.kondo.angle_map import AngleMap, Board
from ada_hardware.node.device_plan import DevicePlan
from ada_hardware.node.motion_player import KINDS

_MAPS = {"khr1": ("khr1_angle_map.yaml", Board.RCB1), "khr3": ("khr3_angle_map.yaml", Board.RCB4)}


def page_facts(plan: DevicePlan) -> dict[str, object]:
    """Return the data that are constant while the device is open."""
    facts: dict[str, object] = {}
    if plan.kind.name in _MAPS:
        facts["servos"] = _servos(plan)
    if plan.kind.name in KINDS:
        names = [one for one in resources.names("config") if one.startswith(plan.kind.name) and one.endswith(".csv")]
        facts["motions"] = [str(resources.find("config", name)) for name in names]
    return facts


def with_chosen(facts: Mapping[str, object], motion: str) -> dict[str, object]:
    """Add the file of the parameter `motion` as the first motion."""
    known = facts.get("motions")
    if not motion or not isinstance(known, list):
        return dict(facts)
    return {**facts, "motions": list(dict.fromkeys([motion, *known]))}


def _servos(plan: DevicePlan) -> dict[str, dict[str, float]]:
    """Servo scales by joint: angle [deg] = sign * joint [deg] + zero."""
    file, board = _MAPS[plan.kind.name]
    try:
        found = AngleMap.read(plan.driver.angle_map or resources.find("config", file), board)
    except (AdaError, OSError):  # the driver has already read the file; its removal since then is no error
        return {}
    return {one.joint: {"sign": one.sign, "zero": one.zero} for one in found.servos.values()}
