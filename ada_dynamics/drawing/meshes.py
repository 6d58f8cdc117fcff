# SPDX-License-Identifier: Apache-2.0
"""The meshes that a robot looks like: found, read, and one line in the log about those that are not to be had."""

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
_MOST_TRIANGLES = 20_000_000  # of a robot, each use of a mesh counted: what a browser can hold


class RobotMeshes:
    """Finds and reads the meshes of one robot."""

    def __init__(self) -> None:
        """Nothing is read yet."""
        self._addresses: dict[str | None, AddressResolver] = {}
        self._asked: set[str] = set()
        self._triangles = 0
        self.missing: dict[str, str] = {}  # why, by address: there is no such file
        self.unreadable: dict[str, str] = {}  # why, by address: there is one, but it is of no use

    def get(self, shape: Shape) -> Mesh | None:
        """The mesh of a shape; None where it is not to be had."""
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
        """Say in the log what is missing.

        Args:
            instead: what is drawn in place of the missing ones.
        """
        for found, verb in ((self.missing, "found"), (self.unreadable, "read")):
            if found:
                _LOG.warning("%s. %s", missing_meshes(found, len(self._asked), verb), instead)


def mesh_vertices() -> Vertices:
    """A reader of the vertices of a robot's meshes for contact, scaled, in their own frames; None for missing ones."""
    meshes = RobotMeshes()

    def vertices(shape: Shape) -> Array | None:
        mesh = meshes.get(shape)
        return None if mesh is None else np.asarray(mesh.vertices * shape.size, dtype=np.float64)

    return vertices
