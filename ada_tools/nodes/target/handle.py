# SPDX-License-Identifier: Apache-2.0
"""The handle of a target as RViz shows it: a cube with an arrow and a ring for each axis; imports message classes."""

from __future__ import annotations

import math

from geometry_msgs.msg import Pose, Quaternion
from visualization_msgs.msg import InteractiveMarker, InteractiveMarkerControl, Marker

_CUBE = 0.2  # of the handle's size
_COLOUR = (0.93, 0.55, 0.14, 0.8)
# Rotations that turn x, along which controls act, to each axis.
_HALF = math.sqrt(0.5)
_AXES = {"x": (_HALF, 0.0, 0.0), "y": (0.0, 0.0, _HALF), "z": (0.0, _HALF, 0.0)}


def handle(name: str, description: str, frame: str, pose: Pose, scale: float) -> InteractiveMarker:
    """A marker with all six degrees of freedom.

    Args:
        name: of the marker.
        description: that stands beside it.
        frame: that its pose is in; the stamp is empty, so that it stays there while the frame moves.
        pose: at first.
        scale: its size [m].
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
    """The cube, which is always seen; dragged with the mouse it moves in the plane of the picture."""
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
