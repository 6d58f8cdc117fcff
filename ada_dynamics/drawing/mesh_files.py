# SPDX-License-Identifier: Apache-2.0
"""Meshes of a robot: search, and reading of STL, Collada and OBJ as triangles with colours and textures, by trimesh.

Axes and units follow RViz: `<unit>` of Collada scales, its `<up_axis>` is ignored (robot descriptions rely on that).
"""

from __future__ import annotations

import io
import logging
import os
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.contact.shape_contacts import Vertices
from ada_dynamics.errors import AdaError
from ada_dynamics.execution import silence_logger
from ada_dynamics.model.elements import PLAIN, Shape
from ada_dynamics.resources import how_to_install
from ada_dynamics.robots.addresses import AddressResolver, missing_meshes
from ada_dynamics.structured_text.files import has_longer_line

_LOG = logging.getLogger(__name__)
_MOST_TRIANGLES = 20_000_000  # of a robot, including repeated meshes: the limit of browsers
Indices = NDArray[np.uint32]

FORMATS = (".stl", ".dae", ".obj")
_COMPANIONS = (".mtl", ".png", ".jpg", ".jpeg", ".bmp", ".tga", ".tif", ".tiff", ".webp", ".gif")
_TEXTURES = ("baseColorTexture", "emissiveTexture", "normalTexture", "metallicRoughnessTexture", "occlusionTexture")
_LARGEST_TEXTURE = 2048  # [pixel] per side; larger textures are scaled down
_MOST_PIXELS = 64_000_000
_KEPT = 64  # meshes in memory, for several views of a robot

# Limits checked before expensive parsing: small files can require unbounded work by repeated or nested instances.
MAX_BYTES = 64 * 1024 * 1024  # of a file; the largest of example-robot-data has 29 MB
MAX_TRIANGLES = 2_000_000  # of one mesh
_MAX_INDICES = 4 * 3 * MAX_TRIANGLES  # corners have position, normal, colour and texture
_LONGEST_LINE = 1024 * 1024  # [byte] of an OBJ file, a polygon of 100 000 corners
_MAX_LINES = 3_000_000  # of an OBJ file; valid files of 64 MB have fewer
_MAX_TAGS = 400_000  # of a Collada file, also with all instances; one of example-robot-data has 13 011


class MeshError(AdaError):
    """A mesh cannot be read; the message states the reason."""


class Mesh(NamedTuple):
    """Triangles of a mesh file.

    Attributes:
        vertices: (n, 3) [m].
        faces: indices of three vertices each, counter-clockwise from outside, (m, 3).
        colour: mean colour, red, green, blue, opacity; None without colours.
        glb: the mesh as binary glTF with y upwards, colours and textures; None without colours.
    """

    vertices: Array
    faces: Indices
    colour: tuple[float, ...] | None
    glb: bytes | None


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
        addresses = self._addresses.setdefault(shape.description_file, AddressResolver(shape.description_file))
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
        """Log the missing meshes, and what is used instead of them."""
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


# --- reading of a file ------------------------------------------------------------------------------------------
def read_mesh(path: Path, package: Path | None = None) -> Mesh:
    """Read a mesh file.

    Args:
        path: path of the file.
        package: folder that may contain textures; by default the folder of the file and its parent.

    Raises:
        MeshError: the file cannot be read; the message states the reason.
    """
    try:
        status = path.stat()
    except (OSError, ValueError) as problem:
        raise MeshError(f"it cannot be opened ({problem})", file=path) from None
    return _read(path, package or path.parent.parent, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=_KEPT)
def _read(path: Path, root: Path, _changed: int, size: int) -> Mesh:
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        text = f"{suffix or 'a file without suffix'} is not supported; {', '.join(FORMATS)} are"
        raise MeshError(text, file=path, field="suffix", value=suffix, allowed=FORMATS)
    if size > MAX_BYTES:
        raise MeshError(f"it has {size} bytes; the limit is {MAX_BYTES}", file=path, field="size", value=size)
    try:
        import trimesh
    except ImportError:
        raise MeshError(f"needs trimesh: {how_to_install('view')}") from None
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES)
        if data.startswith(b"version https://git-lfs"):
            raise MeshError("it is a pointer of Git LFS; `git lfs pull` fetches the file", field="content")
        if suffix == ".dae":
            _check_collada(data)
        elif suffix == ".obj":
            _check_obj(data)
        resolver = _Companions(path.parent, root)
        with silence_logger("trimesh"):
            content, kind = io.BytesIO(data), suffix[1:]
            scene = trimesh.load_scene(content, file_type=kind, resolver=resolver, process=kind == "stl")
            check_triangles(sum(len(scene.geometry[name].faces) for _, name in _instances(scene)))
            return _mesh(trimesh, scene, suffix)
    except MeshError:
        raise
    except ImportError:  # trimesh does not depend on its Collada reader
        wanted = "pycollada" if suffix == ".dae" else "a package with which trimesh reads this format"
        raise MeshError(f"needs {wanted}: {how_to_install('view')}") from None
    except Exception as problem:  # trimesh's readers raise various errors
        raise MeshError(f"{type(problem).__name__}: {' '.join(str(problem).split())[:200]}") from None


def check_triangles(count: int) -> None:
    """Raise a MeshError if a mesh has too many triangles."""
    if count > MAX_TRIANGLES:
        raise MeshError(f"it has {count} triangles; at most {MAX_TRIANGLES} are drawn", field="triangles", value=count)


def _check_obj(data: bytes) -> None:
    if has_longer_line(data, _LONGEST_LINE):
        raise MeshError(f"a line has more than {_LONGEST_LINE} bytes, the limit", field="line")
    if data.count(b"\n") > _MAX_LINES:
        raise MeshError(f"it has more than {_MAX_LINES} lines, the limit", field="lines")


def _check_collada(data: bytes) -> None:
    """Raise a MeshError for a document whose entities or instances could require unbounded work."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff") or b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        raise MeshError("its document type or encoding is not accepted: only plain UTF-8 XML is", field="encoding")
    if data.count(b"<") > _MAX_TAGS:
        raise MeshError(f"it has more than {_MAX_TAGS} tags, the limit", field="tags")
    if b"<instance_node" not in data and data.count(b"<instance_geometry") * len(data) <= _MAX_INDICES:
        return
    try:
        root = ET.fromstring(data)
    except (ET.ParseError, ValueError) as problem:
        raise MeshError(f"it is not XML: {problem}") from None
    # an upper bound of the corners of each geometry: a number has at least two characters
    sizes = {
        f"#{geometry.get('id')}": sum(len(p.text or "") // 2 + 1 for p in geometry.iter() if _tag(p) == "p")
        for geometry in _all(root, "geometry")
    }
    nodes = {f"#{node.get('id')}": node for node in _all(root, "node") if node.get("id")}
    corners = tags = 0
    waiting = _all(root, "visual_scene")
    while waiting:
        parts = waiting.pop()
        tags += len(parts)
        if tags > _MAX_TAGS or corners > _MAX_INDICES:  # reached by a node that contains itself, too
            text = f"it has more than {_MAX_TAGS} tags or {_MAX_INDICES} corners with all instances, the limits"
            raise MeshError(text, field="instances")
        for part in parts:
            target = nodes.get(part.get("url", "")) if _tag(part) == "instance_node" else part
            if target is not None and _tag(target) == "node":
                waiting.append(target)
            elif _tag(part) == "instance_geometry":
                corners += sizes.get(part.get("url", ""), 0)
    if corners > _MAX_INDICES:
        raise MeshError(f"its instances have {corners} corners in total; the limit is {_MAX_INDICES}")


def _tag(element: ET.Element) -> str:
    return str(element.tag).rpartition("}")[2]


def _all(root: ET.Element, tag: str) -> list[ET.Element]:
    return [element for element in root.iter() if _tag(element) == tag]


def _instances(scene: Any) -> Iterator[tuple[Array, str]]:
    for node in scene.graph.nodes_geometry:
        matrix, name = scene.graph[node]
        if hasattr(scene.geometry[name], "faces"):  # skips lines and points
            yield matrix, name


def _mesh(trimesh: Any, scene: Any, suffix: str) -> Mesh:
    whole = np.eye(4)
    if suffix == ".dae" and scene.units:
        unit = float(trimesh.units.unit_conversion(scene.units, "meters"))
        if not 0.0 < unit < np.inf:
            raise MeshError(f"its unit is {unit} m", field="unit", value=unit)
        whole[:3, :3] *= unit
    pieces = []
    for matrix, name in _instances(scene):
        original = scene.geometry[name]
        is_textured = original.visual.kind == "texture"
        piece = original.copy(include_cache=True, include_visual=not is_textured)
        if is_textured:  # shares the images: copies would be stored uncompressed instead of as JPEG
            piece.visual = trimesh.visual.TextureVisuals(uv=original.visual.uv, material=original.visual.material)
        if not (np.isfinite(piece.vertices).all() and np.isfinite(matrix).all()):
            raise MeshError("it has vertices that are not finite", field="vertices")
        piece.apply_transform(whole @ matrix)
        if len(piece.faces):
            pieces.append(piece)
    if not pieces:
        raise MeshError("it has no triangles", field="faces", value=0)
    starts = np.cumsum([0, *(len(piece.vertices) for piece in pieces)])
    vertices = np.concatenate([np.asarray(piece.vertices, dtype=np.float64) for piece in pieces])
    faces = np.concatenate([np.asarray(piece.faces) + start for piece, start in zip(pieces, starts, strict=False)])
    if faces.min() < 0 or faces.max() >= len(vertices):
        raise MeshError("its faces refer to missing vertices", field="faces")
    if not any(piece.visual.defined for piece in pieces):
        whole_piece = trimesh.Trimesh(vertices, faces, process=True)  # merges shared vertices
        return Mesh(np.asarray(whole_piece.vertices), np.asarray(whole_piece.faces, dtype=np.uint32), None, None)
    for piece in pieces:
        _paint(trimesh, piece)
    areas = np.array([piece.area for piece in pieces]) + 1e-30
    colour = np.average([_mean_colour(piece) for piece in pieces], axis=0, weights=areas)
    glb = trimesh.Scene(_merge_pieces(trimesh, pieces)).export(file_type="glb")
    return Mesh(vertices, faces.astype(np.uint32), tuple(colour.tolist()), glb)


def _paint(trimesh: Any, piece: Any) -> None:
    """Assign a double-sided glTF material to a piece; pieces without material get the default colour."""
    visual = piece.visual
    if visual.kind == "texture":
        material = visual.material
        if not isinstance(material, trimesh.visual.material.PBRMaterial):
            material = material.to_pbr()
        pictures = {name: _bounded_texture(getattr(material, name, None)) for name in _TEXTURES}
        material = material.copy()
        for name, picture in pictures.items():
            setattr(material, name, picture)
        material.metallicFactor, material.alphaMode = 0.0, None
        material.baseColorFactor = _to_linear(_factor(material))
        material.doubleSided = True
        visual.material = material
    elif visual.kind is None:
        material = trimesh.visual.material.PBRMaterial(
            baseColorFactor=_to_linear(np.array(PLAIN)), metallicFactor=0.0, roughnessFactor=0.8, doubleSided=True
        )
        piece.visual = trimesh.visual.TextureVisuals(material=material)
    else:
        colours = np.array(visual.vertex_colors, dtype=np.float64) / 255.0
        piece.visual = trimesh.visual.ColorVisuals(piece, vertex_colors=_to_linear(colours))


def _factor(material: Any) -> Array:
    """Base colour, from 0 to 1."""
    if material.baseColorFactor is None:
        return np.ones(4)
    return np.asarray(material.baseColorFactor, dtype=np.float64) / 255.0


def _to_linear(colours: Array) -> Array:
    """Convert sRGB colours from 0 to 1 to linear bytes, as required by glTF."""
    light = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)
    light[..., 3:] = colours[..., 3:]
    return np.asarray(np.round(255.0 * light), dtype=np.uint8)


def _bounded_texture(image: Any) -> Any:
    """Texture of bounded size; None if it is missing or too large."""
    if image is None or image.width * image.height > _MOST_PIXELS:
        return None
    try:
        image.load()
        if max(image.size) > _LARGEST_TEXTURE:
            image.thumbnail((_LARGEST_TEXTURE, _LARGEST_TEXTURE))
    except Exception as problem:  # Pillow's readers raise various errors; the mesh is drawn without the texture
        _LOG.warning("a texture of a mesh cannot be read: %s: %s", type(problem).__name__, problem)
        return None
    return image


def _mean_colour(piece: Any) -> Array:
    """Mean sRGB colour, from 0 to 1."""
    visual = piece.visual
    if visual.kind != "texture":
        light = np.asarray(visual.vertex_colors, dtype=np.float64).reshape(-1, 4).mean(axis=0) / 255.0
        return _to_srgb(light)
    colour = _to_srgb(_factor(visual.material))
    image = visual.material.baseColorTexture
    if image is not None:
        tint = np.asarray(image.convert("RGB").resize((1, 1)), dtype=np.float64).reshape(3) / 255.0
        colour[:3] *= tint
    colour[3] = 1.0
    return colour


def _to_srgb(light: Array) -> Array:
    colours = np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1.0 / 2.4) - 0.055)
    colours[3:] = light[3:]
    return np.asarray(colours, dtype=np.float64)


def _merge_pieces(trimesh: Any, pieces: list[Any]) -> list[Any]:
    """Merge pieces with equal plain materials, as browsers draw each piece separately."""
    alike: dict[tuple[Any, ...], list[Any]] = {}
    for i, piece in enumerate(pieces):
        material = piece.visual.material if piece.visual.kind == "texture" else None
        has_normals = "vertex_normals" in piece._cache
        if material is None or any(getattr(material, name, None) is not None for name in _TEXTURES):
            alike[(i,)] = [piece]
            continue
        glow = np.zeros(3) if material.emissiveFactor is None else np.asarray(material.emissiveFactor)
        alike.setdefault((*np.round(_factor(material), 3), *np.round(glow, 3), has_normals), []).append(piece)
    return [group[0] if len(group) == 1 else _concatenate(trimesh, group) for group in alike.values()]


def _concatenate(trimesh: Any, group: list[Any]) -> Any:
    starts = np.cumsum([0, *(len(piece.vertices) for piece in group)])
    normals = [piece.vertex_normals for piece in group] if "vertex_normals" in group[0]._cache else None
    return trimesh.Trimesh(
        np.concatenate([piece.vertices for piece in group]),
        np.concatenate([piece.faces + start for piece, start in zip(group, starts, strict=False)]),
        vertex_normals=None if normals is None else np.concatenate(normals),
        visual=trimesh.visual.TextureVisuals(material=group[0].visual.material),
        process=False,
    )


class _Companions:
    """Materials and textures of a mesh for trimesh, restricted to its package; the network is not accessed."""

    def __init__(self, folder: Path, root: Path) -> None:
        self._folder = folder.absolute()
        self._root = root.absolute()

    def get(self, name: str) -> bytes:
        """Content of a file named in the mesh."""
        text = unquote(name.strip().removeprefix("file://")).replace("\\", "/")
        for inside in dict.fromkeys((name.strip(), text, PurePosixPath(text).name)):
            path = Path(os.path.normpath(self._folder / inside))
            is_ours = path.is_relative_to(self._root) or path.is_relative_to(self._folder)
            if is_ours and path.suffix.lower() in _COMPANIONS and path.is_file() and path.stat().st_size <= MAX_BYTES:
                return path.read_bytes()
        raise FileNotFoundError(f"no file {name[:200]!r} next to the mesh")

    __getitem__ = get

    def keys(self) -> list[str]:
        """Empty list: files are requested by name."""
        return []

    def namespaced(self, namespace: str) -> _Companions:
        """The resolver itself; namespaces are not used."""
        return self
