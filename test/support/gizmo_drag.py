# SPDX-License-Identifier: Apache-2.0
"""A person drags the handles of a target, without a browser."""

from types import SimpleNamespace

import numpy as np
from viser_stand_in import SOMEBODY, finish

from ada_dynamics.spatial.orientation import to_quaternion
from ada_dynamics.spatial.rotation import from_rpy


def placed(xyz, rpy=(0.0, 0.0, 0.0)):
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = from_rpy(*rpy), xyz
    return pose


def drag(gizmo, pose, *phases):
    """Let a gizmo take events of phases "start", "update" and "end" as it takes a browser's."""
    for phase in phases:
        gizmo.handles.wxyz, gizmo.handles.position = to_quaternion(pose[:3, :3]), pose[:3, 3]
        finish(gizmo.take(SimpleNamespace(target=gizmo.handles, phase=phase, client_id=SOMEBODY, client=None)))
