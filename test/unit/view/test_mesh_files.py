# SPDX-License-Identifier: Apache-2.0
"""Mesh files are read with units, axes, colours and textures, and hostile ones are refused within bounded work."""

import io
import struct

import numpy as np
import pytest

from ada_dynamics.drawing.mesh_files import MAX_BYTES, MAX_TRIANGLES, MeshError, check_triangles, read_mesh

trimesh = pytest.importorskip("trimesh", reason="trimesh is not installed: pip install '.[view]'")
pytest.importorskip("collada", reason="pycollada is not installed: pip install '.[view]'")
Image = pytest.importorskip("PIL.Image", reason="pillow is not installed")

SIDES = (1.0, 2.0, 3.0)
RED = (0.8, 0.1, 0.1, 1.0)
DAE = """<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
  <asset><unit meter="{unit}"/><up_axis>{up}</up_axis></asset>
  <library_images><image id="i"><init_from>{image}</init_from></image></library_images>
  <library_effects><effect id="e"><profile_COMMON>
    <newparam sid="s"><surface type="2D"><init_from>i</init_from></surface></newparam>
    <newparam sid="t"><sampler2D><source>s</source></sampler2D></newparam>
    <technique sid="c"><lambert><diffuse>{diffuse}</diffuse></lambert></technique></profile_COMMON></effect>
  </library_effects>
  <library_materials><material id="m"><instance_effect url="#e"/></material></library_materials>
  <library_geometries><geometry id="g"><mesh>
    <source id="p"><float_array id="pa" count="9">0 0 0 1 0 0 0 2 0</float_array><technique_common>
      <accessor source="#pa" count="3" stride="3"><param name="X" type="float"/><param name="Y" type="float"/>
      <param name="Z" type="float"/></accessor></technique_common></source>
    <source id="u"><float_array id="ua" count="6">0 0 1 0 0 1</float_array><technique_common>
      <accessor source="#ua" count="3" stride="2"><param name="S" type="float"/><param name="T" type="float"/>
      </accessor></technique_common></source>
    <vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
    <triangles count="1" material="m"><input semantic="VERTEX" source="#v" offset="0"/>
      <input semantic="TEXCOORD" source="#u" offset="1" set="0"/><p>0 0 1 1 2 2</p></triangles>
  </mesh></geometry></library_geometries>
  {nodes}
  <library_visual_scenes><visual_scene id="w"><node>{placed}</node></visual_scene></library_visual_scenes>
  <scene><instance_visual_scene url="#w"/></scene>
</COLLADA>"""
USE = """<instance_geometry url="#g"><bind_material><technique_common><instance_material symbol="m" target="#m"/>
</technique_common></bind_material></instance_geometry>"""
TEXTURE = '<texture texture="t" texcoord="u"/>'


def collada(folder, **values):
    given = {"unit": "1", "up": "Z_UP", "image": "no.png", "diffuse": "<color>0.8 0.1 0.1 1</color>", "nodes": ""}
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "mesh.dae"
    path.write_text(DAE.format(**{**given, "placed": USE, **values}))
    return path


def textures(mesh):
    scene = trimesh.load_scene(io.BytesIO(mesh.glb), file_type="glb")
    found = [piece.visual.material.baseColorTexture for piece in scene.geometry.values()]
    return [image for image in found if image is not None]


@pytest.mark.parametrize("ending", ["stl", "obj", "dae"])
def test_a_box_has_its_size_in_every_format(ending, tmp_path):
    path = tmp_path / f"box.{ending}"
    trimesh.creation.box(SIDES).export(path)
    mesh = read_mesh(path)
    np.testing.assert_allclose(np.ptp(mesh.vertices, axis=0), SIDES, rtol=1e-6)
    assert len(mesh.faces) == 12
    assert trimesh.Trimesh(mesh.vertices, mesh.faces).volume == pytest.approx(6.0, rel=1e-6)  # faces look outwards


@pytest.mark.parametrize("up", ["X_UP", "Y_UP", "Z_UP"])
def test_collada_is_scaled_by_its_unit_and_not_turned_by_its_up_axis_as_in_rviz(up, tmp_path):
    mesh = read_mesh(collada(tmp_path, unit="0.001", up=up))
    np.testing.assert_allclose(mesh.vertices.max(axis=0), [1e-3, 2e-3, 0.0], atol=1e-12)


def test_an_stl_has_no_colour_and_materials_have_theirs(tmp_path):
    trimesh.creation.box(SIDES).export(tmp_path / "box.stl")
    assert read_mesh(tmp_path / "box.stl")[2:] == (None, None)
    (tmp_path / "box.obj").write_text("mtllib box.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl red\nf 1 2 3\n")
    (tmp_path / "box.mtl").write_text("newmtl red\nKd 0.8 0.1 0.1\n")
    for mesh in (read_mesh(tmp_path / "box.obj"), read_mesh(collada(tmp_path))):
        assert mesh.colour == pytest.approx(RED, abs=0.02)  # bytes of light are coarse where it is dark
        (piece,) = trimesh.load_scene(io.BytesIO(mesh.glb), file_type="glb").geometry.values()
        light = np.array(piece.visual.material.baseColorFactor) / 255.0  # glTF tells light, not what a screen is told
        assert light[0] == pytest.approx(((0.8 + 0.055) / 1.055) ** 2.4, abs=0.01)
        assert piece.visual.material.doubleSided


def test_a_texture_beside_or_above_the_mesh_comes_along(tmp_path):
    picture = Image.new("RGB", (8, 8), (0, 200, 0))
    for place, name in ((tmp_path / "a/meshes", "../materials/green.png"), (tmp_path / "b/meshes", "green.png")):
        path = collada(place, diffuse=TEXTURE, image=name)
        (place / name).resolve().parent.mkdir(exist_ok=True)
        picture.save(place / name)
        mesh = read_mesh(path)
        (image,) = textures(mesh)
        assert image.size == (8, 8)
        assert mesh.colour == pytest.approx((0.0, 200 / 255, 0.0, 1.0), abs=0.02)


@pytest.mark.parametrize(
    "name", ["../../out.png", "{}/out.png", "https://example.org/out.png", "secret.txt", "big.png"]
)
def test_textures_from_elsewhere_are_left_out_and_the_mesh_is_drawn(name, tmp_path):
    place = tmp_path / "robot/meshes"
    path = collada(place, diffuse=TEXTURE, image=name.format(tmp_path))
    for hidden in (tmp_path / "out.png", place / "secret.txt"):
        Image.new("RGB", (64, 64), (255, 0, 0)).save(hidden, format="png")
    Image.new("1", (8001, 8001)).save(place / "big.png")
    mesh = read_mesh(path)
    assert len(mesh.faces) == 1
    assert textures(mesh) == []


def bomb(levels, ends=USE):
    """Nodes each of which holds the one below twice: 2^levels triangles from a few lines."""
    nodes = "".join(
        f'<node id="n{i}"><instance_node url="#n{i + 1}"/><instance_node url="#n{i + 1}"/></node>'
        for i in range(levels)
    )
    return f'<library_nodes>{nodes}<node id="n{levels}">{ends}</node></library_nodes>'


HERE = '<instance_node url="#n0"/>'


@pytest.mark.parametrize(
    "values",
    [
        {"nodes": bomb(60), "placed": HERE},
        {"nodes": bomb(3, HERE), "placed": HERE},
        {"placed": USE + "<!DOCTYPE x>"},
        {"placed": "<instance_node"},
        {"placed": ""},
        {"unit": "nan"},
    ],
)
def test_a_hostile_collada_file_is_refused(values, tmp_path):
    with pytest.raises(MeshError):
        read_mesh(collada(tmp_path, **values))


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.stl", b"\0" * 80 + struct.pack("<I", 2**32 - 1)),
        ("a.stl", b"solid x\nfacet normal 0 0 1\nouter loop\nvertex nan 0 0\n"),
        ("a.obj", b"v 0 0 inf\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"),
        ("a.stl", b"version https://git-lfs.github.com/spec/v1\noid sha256:7\n"),
    ],
)
def test_a_broken_file_is_a_mesh_error(name, data, tmp_path):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(MeshError) as error:
        read_mesh(tmp_path / name)
    assert (error.value.field == "content") == (b"git-lfs" in data)


def test_files_of_other_kinds_and_sizes_are_refused(tmp_path):
    (tmp_path / "a.mesh").touch()
    (tmp_path / "a").touch()
    (tmp_path / "a.glb").touch()
    with (tmp_path / "big.stl").open("wb") as stream:
        stream.truncate(MAX_BYTES + 1)  # sparse: it takes no space
    for name in ("a.mesh", "a.glb", "a", "gone.stl", "big.stl"):
        with pytest.raises(MeshError):
            read_mesh(tmp_path / name)
    check_triangles(MAX_TRIANGLES)
    with pytest.raises(MeshError):
        check_triangles(MAX_TRIANGLES + 1)
