# SPDX-License-Identifier: Apache-2.0
"""Search and reading of the meshes of a robot, with a log message about missing ones."""

from __future__ import annotations

import logging

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.contact.shape_contacts import Vertices
from ada_dynamics.drawing.mesh_files import Mesh, read_mesh
from ada_dynamics.drawing.mesh_limits import MeshError
from ada_dynamics.model.elements import Shape
from ada_dynamics.robots.addresses import AddressResolver, missing_meshes

_LOG = logging.getLogger(__name__)
_MOST_TRIANGLES = 20_000_000  # of a robot, including repeated meshes: the limit of browsers


class RobotMeshes:
    """Finds and reads the meshes of one robot."""

    def __init__(self) -> None:
        """Create a reader without meshes."""
        self._addresses: dict[str | None, AddressResolver] = {}
        self._asked: set[str] = set()
        self._triangles = 0
        self.missing: dict[str, str] = {}  # reason by address for files that do not exist
        self.unreadable: dict[str, str] = {}  # reason by address for files that cannot be read

    def get(self, shape: Shape) -> Mesh | None:
        """Mesh of a shape, or None if it is not available."""
        address = shape.mesh or ""
        self._asked.add(address)
        addresses = self._addresses.setdefault(shape.beside, AddressResolver(shape.beside))
        path = addresses.file(address)
        if path is None:
            self.missing[address] = addresses.searched(address)
            return None
        try:
            mesh = read_mesh(path, addresses.package_of(address))
            if self._triangles + len(mesh.faces) > _MOST_TRIANGLES:
                raise MeshError(f"all meshes together have more than {_MOST_TRIANGLES} triangles")
        except MeshError as problem:
            self.unreadable[address] = str(problem)
            return None
        self._triangles += len(mesh.faces)
        return mesh

    def report(self, instead: str) -> None:
        """Log the missing meshes.

        Args:
            instead: description of the replacement.
        """
        for found, verb in ((self.missing, "found"), (self.unreadable, "read")):
            if found:
                _LOG.warning("%s. %s", missing_meshes(found, len(self._asked), verb), instead)


def mesh_vertices() -> Vertices:
    """Reader of scaled mesh vertices in the mesh frame, for contact; None for missing meshes."""
    meshes = RobotMeshes()

    def vertices(shape: Shape) -> Array | None:
        mesh = meshes.get(shape)
        return None if mesh is None else np.asarray(mesh.vertices * shape.size, dtype=np.float64)

    return vertices
