# SPDX-License-Identifier: Apache-2.0
"""Writes all parameters of the nodes with their defaults: the tables in docs/ros, and config/parameters.yaml."""

from __future__ import annotations

import json
import re
import textwrap
from pathlib import Path
from typing import Any

from ada_controllers.command_shaping import ShapingSettings
from ada_controllers.node.controller_settings import ControllerSettings
from ada_controllers.registry import CONTROLLERS, find
from ada_controllers.running.control_loop import LoopSettings
from ada_dynamics import resources
from ada_hardware.force_torque.pipeline import ForceSensorSettings
from ada_hardware.node.hardware_settings import DeviceSettings, HardwareSettings
from ada_hardware.registry import DRIVEN
from ada_robot.node.loop_states import LoopStateSettings
from ada_robot.safety.settings import SafetySettings
from ada_robot.settings import Setting, fields_of
from ada_robot.simulated.settings import DynamicsSettings, ServoGains
from ada_tools.nodes.settings import OracleSettings, TargetSettings, ViewSettings

PAGES = Path(__file__).parent / "ros"
NAME = "parameters.yaml"
MADE_BY = "python docs/parameter_tables.py"

_HEAD = f"""\
# Every parameter of the nodes, with its default; made by `{MADE_BY}`.
# Copy this file, remove the single # in front of the parameters to change, and pass the copy to a launch file or to
# `ada up`:
#   ros2 launch ada_dynamics pa10_sim.launch.py params_file:=my.yaml
# It overrides the values of the setup, and is overridden by given arguments. The node names match in
# any namespace. JOINT stands for the name of a joint, NAME for that of a device: here each has the name of its kind.
"""
# Each block needs at least one entry: this parameter is not commented out.
_SHOWN = {
    "dynamics_node": "publish_rate",
    "controller_node": "state_rate",
    "target_node": "controller",
    "view_node": "host",
    "oracle_node": "rate",
    "loop_state_publisher": "publish_tf",
    "hardware_node": "rate",
}


# Groups of settings that have pages of their own.
_OWN_PAGES = {*CONTROLLERS, *(f"{name}.driver" for name in DRIVEN)}
Group = tuple[str, type[Any]]  # prefix of the parameter names with its dot, and settings class


def settings_of_nodes() -> dict[str, list[Group]]:
    """Settings of each node."""
    controllers = [(f"{name}.", find(name).SETTINGS) for name in CONTROLLERS]
    drivers = [(f"{name}.driver.", kind.driver_class().SETTINGS) for name, kind in DRIVEN.items()]
    return {
        "dynamics_node": [("", DynamicsSettings), ("servo.JOINT.", ServoGains)],
        "controller_node": [("", ControllerSettings), ("", LoopSettings), ("shaping.", ShapingSettings), *controllers],
        "target_node": [("", TargetSettings)],
        "hardware_node": [
            ("", HardwareSettings),
            ("NAME.", DeviceSettings),
            *drivers,
            ("NAME.safety.", SafetySettings),
            ("NAME.sensor.", ForceSensorSettings),
        ],
        "view_node": [("", ViewSettings)],
        "loop_state_publisher": [("", LoopStateSettings)],
        "oracle_node": [("", OracleSettings)],
    }


def render() -> str:
    """Text of the file."""
    blocks = [_HEAD]
    for node, groups in settings_of_nodes().items():
        lines = [f"/**/{node}:", "  ros__parameters:"]
        for prefix, settings in groups:
            for one in fields_of(settings):
                lines += _lines(one, prefix + one.name, is_shown=prefix + one.name == _SHOWN[node])
        blocks.append("\n".join(lines) + "\n")
    return "\n".join(blocks)


def _lines(one: Setting, name: str, *, is_shown: bool) -> list[str]:
    default = list(one.default) if isinstance(one.default, tuple) else one.default
    fixed = "; fixed after the start" if one.read_only else ""
    words = f"{one.description} ({one.allowed}{fixed})"
    comment = textwrap.wrap(words, 112, initial_indent="    ## ", subsequent_indent="    ## ")
    return [*comment, f"    {'' if is_shown else '# '}{name}: {json.dumps(default)}"]


_TABLE_HEAD = "| parameter | default | allowed | meaning |\n|---|---|---|---|\n"


def table(node: str) -> str:
    """The parameters of a node; those marked ↻ can be changed while it runs."""
    groups = [(prefix, cls) for prefix, cls in settings_of_nodes()[node] if prefix.removesuffix(".") not in _OWN_PAGES]
    return _TABLE_HEAD + "".join(_row(one, prefix) for prefix, cls in groups for one in fields_of(cls))


def _row(one: Setting, prefix: str) -> str:
    default = list(one.default) if isinstance(one.default, tuple) else one.default
    shown = str(default).lower() if isinstance(default, bool) else default if default != "" else '""'
    mark = "" if one.read_only else " ↻"
    return f"| `{prefix}{one.name}`{mark} | `{shown}` | {one.allowed} | {one.description} |\n"


def renewed(text: str) -> str:
    """Text of a page with updated tables, each after the line `<!-- parameters: NODE -->`."""
    for node in settings_of_nodes():
        marker = f"<!-- parameters: {node} -->\n"
        pattern = re.escape(marker) + r"(?:\|.*\n)*"
        text = re.sub(pattern, lambda _, node=node, marker=marker: marker + table(node), text)
    return text


if __name__ == "__main__":
    for page in PAGES.glob("*_node*.md"):
        page.write_text(renewed(page.read_text(encoding="utf-8")), encoding="utf-8")
    resources.find("config", NAME).write_text(render(), encoding="utf-8")
