# SPDX-License-Identifier: Apache-2.0
"""Interactive marker of a target: a cube with arrows and rings for three axes; imports message classes."""

from __future__ import annotations

import math

from geometry_msgs.msg import Pose, Quaternion
from visualization_msgs.msg import InteractiveMarker, InteractiveMarkerControl, Marker

_CUBE = 0.2  # fraction of the marker size
_COLOUR = (0.93, 0.55, 0.14, 0.8)
# Rotations from x, the axis of controls, to each axis.
_HALF = math.sqrt(0.5)
_AXES = {"x": (_HALF, 0.0, 0.0), "y": (0.0, 0.0, _HALF), "z": (0.0, _HALF, 0.0)}


def handle(name: str, description: str, frame: str, pose: Pose, scale: float) -> InteractiveMarker:
    """Interactive marker with six degrees of freedom.

    Args:
        name: name of the marker.
        description: displayed text.
        frame: frame of the pose; the stamp is empty, so that the marker does not follow a moving frame.
        pose: initial pose.
        scale: size [m].
    """
    marker = InteractiveMarker(name=name, description=description, pose=pose, scale=float(scale))
    marker.header.frame_id = frame
    marker.controls = [_cube(scale)]
    for axis, (x, y, z) in _AXES.items():
        for kind, mode in (
            ("move", InteractiveMarkerControl.MOVE_AXIS),
            ("rotate", InteractiveMarkerControl.ROTATE_AXIS),
        ):
            marker.controls.append(
                InteractiveMarkerControl(
                    name=f"{kind}_{axis}",
                    orientation=Quaternion(x=x, y=y, z=z, w=_HALF),
                    orientation_mode=InteractiveMarkerControl.INHERIT,
                    interaction_mode=mode,
                )
            )
    return marker


def _cube(scale: float) -> InteractiveMarkerControl:
    """Always visible cube; dragging it moves the marker in the view plane."""
    cube = Marker(type=Marker.CUBE, action=Marker.ADD)
    cube.scale.x = cube.scale.y = cube.scale.z = _CUBE * scale
    cube.color.r, cube.color.g, cube.color.b, cube.color.a = _COLOUR
    return InteractiveMarkerControl(
        name="move_3d",
        interaction_mode=InteractiveMarkerControl.MOVE_3D,
        orientation_mode=InteractiveMarkerControl.INHERIT,
        always_visible=True,
        markers=[cube],
    )
