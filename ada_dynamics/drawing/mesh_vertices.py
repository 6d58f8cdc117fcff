# SPDX-License-Identifier: Apache-2.0
"""Corners of meshes, for contact with the ground."""

from __future__ import annotations

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.contact.touching import Vertices
from ada_dynamics.drawing.meshes import RobotMeshes
from ada_dynamics.model.elements import Shape


def mesh_vertices() -> Vertices:
    """What reads the vertices of a robot's meshes, scaled, in their own frames; None for those not to be had."""
    meshes = RobotMeshes()

    def vertices(shape: Shape) -> Array | None:
        mesh = meshes.get(shape)
        return None if mesh is None else np.asarray(mesh.vertices * shape.size, dtype=np.float64)

    return vertices
