# SPDX-License-Identifier: Apache-2.0
"""RViz 2 configurations generated from `pictures`: robot, frames, joint wrenches, markers and interactive targets.

`python -m ada_tools.bringup.files` writes config/*.rviz; this requires PyYAML.
"""

from __future__ import annotations

import importlib
from typing import Any

from ada_dynamics.errors import AdaError, InputError
from ada_tools.bringup.pictures import Picture

Tree = dict[str, Any]

DESCRIPTION = "/robot_description"
MARKERS = "/dynamics_node/markers"
WRENCH = "/dynamics_node/wrench"
TARGET = "/target_node"
_TARGET_NAMES = ("update", "feedback", "get_interactive_markers")  # of topics and of the service

_FORCE, _MOMENT = "204; 51; 51", "51; 102; 204"  # red; green; blue
_YAW, _PITCH = 0.9, 0.3  # [rad] camera angles


def topics(picture: Picture) -> tuple[str, ...]:
    """Topics and services used by a configuration, except those of TF."""
    target = tuple(f"{TARGET}/{name}" for name in _TARGET_NAMES) if picture.has_target else ()
    markers = (MARKERS,) if picture.is_simulated else ()
    return (DESCRIPTION, *markers, *target, *_wrench_topics(picture).values())


def render(picture: Picture) -> str:
    """Text of a configuration; requires PyYAML."""
    try:
        yaml: Any = importlib.import_module("yaml")
    except ImportError:
        raise AdaError("writing RViz configurations needs PyYAML: pip install pyyaml") from None
    head = "# Made by `python -m ada_tools.bringup.files`; change ada_tools/bringup/pictures.py or rviz.py.\n"
    return head + str(yaml.safe_dump(_configuration(picture), sort_keys=False, default_flow_style=False))


def with_prefix(text: str, prefix: str) -> str:
    """Configuration with a frame prefix; RViz appends a slash to the prefix.

    Args:
        text: configuration text.
        prefix: frame prefix, as for robot_state_publisher.

    Raises:
        InputError: the prefix does not end with a slash.
    """
    if not prefix.endswith("/"):
        text = (
            f"frame_prefix:={prefix}: RViz appends a slash, but the frames have none. Write {prefix}/, or "
            "disable RViz: rviz:=false."
        )
        raise InputError(text, field="frame_prefix", value=prefix)
    return text.replace("TF Prefix: ''", f"TF Prefix: {prefix.rstrip('/')}")


def _configuration(picture: Picture) -> Tree:
    return {
        "Panels": [
            {"Class": "rviz_common/Displays", "Name": "Displays"},
            {"Class": "rviz_common/Views", "Name": "Views"},
            {"Class": "rviz_common/Time", "Name": "Time"},
        ],
        "Visualization Manager": {
            "Class": "",
            "Displays": [
                _grid(picture),
                _robot(),
                _frames(picture),
                *_wrenches(picture),
                *([_markers()] if picture.is_simulated else []),
                *([_target()] if picture.has_target else []),
            ],
            "Enabled": True,
            "Global Options": {"Background Color": "48; 48; 48", "Fixed Frame": picture.fixed_frame, "Frame Rate": 30},
            "Name": "root",
            "Tools": [
                {"Class": f"rviz_default_plugins/{tool}"}
                for tool in ("Interact", "MoveCamera", "Select", "FocusCamera", "Measure")
            ],
            "Transformation": {"Current": {"Class": "rviz_default_plugins/TF"}},
            "Value": True,
            "Views": {"Current": _eye(picture), "Saved": None},
        },
        "Window Geometry": {"Height": 900, "Width": 1400},
    }


def _display(kind: str, name: str, rest: Tree, *, is_shown: bool = True) -> Tree:
    return {"Class": f"rviz_default_plugins/{kind}", "Name": name, "Enabled": is_shown, **rest, "Value": is_shown}


def _topic(name: str, depth: int, durability: str = "Volatile", reliability: str = "Reliable") -> Tree:
    return {
        "Depth": depth,
        "Durability Policy": durability,
        "History Policy": "Keep Last",
        "Reliability Policy": reliability,
        "Value": name,
    }


def _grid(picture: Picture) -> Tree:
    cell = 0.1 if picture.distance < 1.5 else 0.25  # [m]
    rest = {"Cell Size": cell, "Plane Cell Count": 20, "Plane": "XY", "Color": "160; 160; 164", "Alpha": 0.5}
    return _display("Grid", "Grid", rest)


def _robot() -> Tree:
    rest = {
        "Description Source": "Topic",
        "Description Topic": _topic(DESCRIPTION, 1, "Transient Local"),
        "TF Prefix": "",
        "Visual Enabled": True,
        "Collision Enabled": False,
    }
    return _display("RobotModel", "Robot", rest)


def _frames(picture: Picture) -> Tree:
    scale = round(0.15 * picture.distance, 2)
    rest = {"Marker Scale": scale, "Show Axes": True, "Show Names": True, "Show Arrows": False, "Frame Timeout": 15}
    return _display("TF", "Frames", rest, is_shown=False)


def _wrench_topics(picture: Picture) -> dict[str, str]:
    """Wrench topics by display name."""
    joints = {f"Wrench at {joint}": f"{WRENCH}/{joint}" for joint in picture.joints}
    return {**joints, **{f"Sensor {topic.strip('/')}": topic for topic in picture.sensors}}


def _wrenches(picture: Picture) -> list[Tree]:
    # A best-effort subscription matches both kinds of publishers.
    return [
        _display(
            "Wrench",
            name,
            {
                "Topic": _topic(topic, 5, reliability="Best Effort"),
                "Force Arrow Scale": picture.newton,
                "Torque Arrow Scale": picture.newton_metre,
                "Arrow Width": round(0.01 * picture.distance, 3),
                "Force Color": _FORCE,
                "Torque Color": _MOMENT,
                "Alpha": 1,
                "History Length": 1,
            },
        )
        for name, topic in _wrench_topics(picture).items()
    ]


def _markers() -> Tree:
    return _display("MarkerArray", "Markers", {"Topic": _topic(MARKERS, 10), "Namespaces": {}})


def _target() -> Tree:
    rest = {
        "Interactive Markers Namespace": TARGET,
        "Enable Transparency": True,
        "Show Axes": False,
        "Show Descriptions": True,
        "Show Visual Aids": False,
    }
    return _display("InteractiveMarkers", "Target", rest)


def _eye(picture: Picture) -> Tree:
    return {
        "Class": "rviz_default_plugins/Orbit",
        "Name": "Current View",
        "Distance": picture.distance,
        "Focal Point": {"X": 0, "Y": 0, "Z": picture.focus},
        "Pitch": _PITCH,
        "Yaw": _YAW,
        "Near Clip Distance": 0.01,
        "Target Frame": "<Fixed Frame>",
        "Value": "Orbit (rviz)",
    }
