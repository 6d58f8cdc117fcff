# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of parameters in docs/ros2.md anew, from the settings of the nodes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from ada_controllers.checks.shaping import ShapingSettings
from ada_controllers.node.controller_settings import ControllerSettings
from ada_controllers.running.control_loop import LoopSettings
from ada_hardware.force_torque.pipeline import ForceSensorSettings
from ada_hardware.node.hardware_settings import DeviceSettings, HardwareSettings
from ada_robot.safety.settings import SafetySettings
from ada_robot.settings import Setting, fields_of
from ada_robot.simulated.settings import DynamicsSettings, ServoGains
from ada_tools.nodes.settings import OracleSettings, TargetSettings, ViewSettings

PAGE = Path(__file__).parent / "ros2.md"
TABLES: dict[str, tuple[tuple[type[Any], str], ...]] = {
    "dynamics_node": ((DynamicsSettings, ""), (ServoGains, "servo.JOINT.")),
    "controller_node": ((ControllerSettings, ""), (LoopSettings, ""), (ShapingSettings, "shaping.")),
    "hardware_node": (
        (HardwareSettings, ""),
        (DeviceSettings, "NAME."),
        (SafetySettings, "NAME.safety."),
        (ForceSensorSettings, "NAME.sensor."),
    ),
    "oracle_node": ((OracleSettings, ""),),
    "view_node": ((ViewSettings, ""),),
    "target_node": ((TargetSettings, ""),),
}
_HEAD = "| parameter | default | allowed | meaning |\n|---|---|---|---|\n"


def table(node: str) -> str:
    """The parameters of a node; those marked ↻ can be changed while it runs."""
    return _HEAD + "".join(_row(one, prefix) for cls, prefix in TABLES[node] for one in fields_of(cls))


def _row(one: Setting, prefix: str) -> str:
    default = list(one.default) if isinstance(one.default, tuple) else one.default
    shown = str(default).lower() if isinstance(default, bool) else default if default != "" else '""'
    mark = "" if one.read_only else " ↻"
    return f"| `{prefix}{one.name}`{mark} | `{shown}` | {one.allowed} | {one.description} |\n"


def renewed(text: str) -> str:
    """A page with its tables, each behind the line `<!-- parameters: NODE -->`, made anew."""
    for node in TABLES:
        marker = f"<!-- parameters: {node} -->\n"
        pattern = re.escape(marker) + r"(?:\|.*\n)*"
        text = re.sub(pattern, lambda _, node=node, marker=marker: marker + table(node), text)
    return text


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
