# SPDX-License-Identifier: Apache-2.0
"""Places and rotations of messages as matrices. Any object with x, y, z (and w) will do."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.spatial.rotation import from_quaternion

Array = NDArray[np.float64]


def matrix_of(place: Any, rotation: Any) -> Array:
    """A 4x4 pose; the unit matrix where a number is not finite or the quaternion is none.

    Args:
        place: with x, y, z.
        rotation: a quaternion with x, y, z, w, of any length.
    """
    quaternion = np.array([rotation.x, rotation.y, rotation.z, rotation.w])
    norm = float(np.linalg.norm(quaternion))
    pose = np.eye(4)
    if np.isfinite([place.x, place.y, place.z, norm]).all() and norm > 0.0:
        pose[:3, :3] = from_quaternion(*(quaternion / norm).tolist())
        pose[:3, 3] = place.x, place.y, place.z
    return pose
