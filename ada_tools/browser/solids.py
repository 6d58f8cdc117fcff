# SPDX-License-Identifier: Apache-2.0
"""Triangle meshes of unit solids; vertices are not shared across sharp edges, which keeps flat shading there."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

AROUND = 32  # vertices of a cylinder's circle


@cache
def unit_solid(kind: str) -> Any:
    """Unit solid as a trimesh: box of side 1, cylinder of radius 1 and length 1 along z, or sphere of radius 1."""
    from trimesh import creation, util

    if kind == "sphere":
        return creation.icosphere(subdivisions=3)
    if kind == "box":
        box = creation.box()
        box.unmerge_vertices()
        return box
    cylinder = creation.cylinder(1.0, 1.0, sections=AROUND)
    is_lid = np.abs(cylinder.face_normals[:, 2]) > 0.5
    return util.concatenate([cylinder.submesh([np.flatnonzero(part)], append=True) for part in (is_lid, ~is_lid)])
