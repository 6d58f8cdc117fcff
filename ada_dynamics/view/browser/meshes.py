# SPDX-License-Identifier: Apache-2.0
"""Mesh files of robot descriptions: found by their address, read through trimesh."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

import numpy as np

from ada_dynamics.extras import how_to_install
from ada_dynamics.view.browser.solids import Surface, box

_LOG = logging.getLogger(__name__)
_STAND_IN = 0.05  # [m] side of the box that is drawn where a mesh cannot be


def surface_of(address: str) -> Surface:
    """The triangles of a mesh; a small box, and one line in the log, where it cannot be read."""
    path = next((p for p in _places(address) if p.is_file()), None)
    if path is None:
        return _stand_in(address, "no such file")
    try:
        import trimesh
    except ImportError:
        return _stand_in(address, f"needs trimesh: {how_to_install('view')}")
    try:
        mesh = trimesh.load(path, force="mesh")
        vertices, faces = np.asarray(mesh.vertices, dtype=np.float64), np.asarray(mesh.faces, dtype=np.uint32)
    except Exception as problem:  # each of its readers has errors of its own
        return _stand_in(address, f"{type(problem).__name__}: {problem}")
    return Surface(vertices, faces) if len(faces) else _stand_in(address, "it holds no triangles")


def _stand_in(address: str, reason: str) -> Surface:
    _LOG.warning("mesh %s is drawn as a small box: %s", address, reason)
    cube = box()
    return Surface(_STAND_IN * cube.vertices, cube.faces)


def _places(address: str) -> Iterator[Path]:
    """Where a file may be: package:// as ROS has it, file:// and plain paths."""
    parts = urlsplit(address)
    if parts.scheme == "package":
        inside = unquote(parts.path).lstrip("/")
        shares = [Path(p) / "share" for p in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if p]
        shares += [Path(p) for p in os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep) if p]
        yield from (share / parts.netloc / inside for share in shares)
    elif parts.scheme == "file":
        yield Path(unquote(parts.path))
    else:
        yield Path(address)
