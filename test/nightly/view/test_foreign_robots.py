# SPDX-License-Identifier: Apache-2.0
"""Robots of other people in the views, their meshes where pinocchio has them, and in `ada sim` with its defaults."""

import json
import logging

import numpy as np
import pytest
from foreign_robots import EIGHT, SHARE, foreign_robot

import ada_dynamics as ada
from ada_dynamics import Log
from ada_dynamics.contact.stops import limit_violations
from ada_dynamics.model.elements import PLAIN
from ada_tools.browser.page import Page
from ada_tools.browser.parts import parts_of
from ada_tools.browser.scene import Scene

for needed, package in (("trimesh", "trimesh"), ("collada", "pycollada"), ("viser", "viser")):
    pytest.importorskip(needed, reason=f"{package} is not installed: pip install '.[view]'")

MISSING = """<robot name="r"><link name="base"/>
<link name="arm"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  <visual><geometry><mesh filename="package://gone/arm.stl"/></geometry></visual>{}</link>
<joint name="j" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""


def box_of(points):
    return np.array([points.min(axis=0), points.max(axis=0)])


def pinocchios_boxes(file):
    """By link, the boxes around its visual meshes in the world, at neutral, as pinocchio has them (read by assimp)."""
    pin = pytest.importorskip("pinocchio", reason="pinocchio is not installed: pip install '.[oracle]'")
    model = pin.buildModelFromUrdf(str(file))
    shapes = pin.buildGeomFromUrdf(model, str(file), pin.GeometryType.VISUAL, package_dirs=[str(SHARE)])
    data, placed = model.createData(), shapes.createData()
    pin.forwardKinematics(model, data, pin.neutral(model))
    pin.updateGeometryPlacements(model, data, shapes, placed)
    boxes = {}
    for shape, pose in zip(shapes.geometryObjects, placed.oMg, strict=True):
        if hasattr(shape.geometry, "vertices"):
            points = np.asarray(shape.geometry.vertices()) @ pose.rotation.T + pose.translation
            boxes.setdefault(model.frames[shape.parentFrame].name, []).append(box_of(points))
    return boxes


@pytest.mark.parametrize("name", EIGHT)
def test_the_browser_gets_a_foreign_robot_with_every_mesh_where_pinocchio_has_it(name, caplog):
    file = foreign_robot(name)
    with caplog.at_level(logging.WARNING):
        model = ada.load(file)
        with Page("test", port=0) as page:
            scene = Scene(page.server, model)
            scene.show(model.neutral())
            nodes = [batch.node for batch in scene.batches.each]
    assert not [record for record in caplog.records if "meshes" in record.message]
    boxes = {}
    for part in scene.parts:
        if part.mesh is not None:
            pose = scene.poses[part.link] @ part.pose
            points = (part.mesh.vertices * part.scale) @ pose[:3, :3].T + pose[:3, 3]
            boxes.setdefault(part.link, []).append(box_of(points))
    for link, wanted in pinocchios_boxes(file).items():
        for box in wanted:  # single precision: most files have no more
            assert min(np.abs(box - own).max() for own in boxes.get(link, ())) < 1e-5, link
    drawn = {link.name for link in model.links.values() if link.visuals}
    assert drawn <= {part.link for part in scene.parts}
    painted = [node for node in nodes if hasattr(node, "glb_data")]
    plain = [node for node in nodes if not hasattr(node, "glb_data")]
    assert all(node.glb_data.startswith(b"glTF") for node in painted)
    grey = np.round(255.0 * np.array(PLAIN[:3]))
    colours = [row for node in plain for row in np.asarray(node.batched_colors).reshape(-1, 3)]
    assert painted or any(np.abs(row - grey).max() > 30 for row in colours)
    triangles = sum(len(part.mesh.faces) for part in scene.parts if part.mesh is not None)
    assert triangles > 5000


def test_a_link_whose_mesh_is_gone_is_drawn_by_what_it_touches_with_or_as_a_stick_and_it_is_said_once(caplog):
    touching = '<collision><geometry><box size="1 2 3"/></geometry></collision>'
    for more, solids in ((touching, {"box"}), ("", {"cylinder", "sphere"})):
        caplog.clear()
        parts = parts_of(ada.load(MISSING.format(more)))
        assert {part.solid for part in parts if part.link == "arm"} <= solids
        assert any(part.link == "arm" for part in parts)
        (record,) = (one for one in caplog.records if "meshes" in one.message)
        assert record.message.startswith(
            "1 of 1 meshes are not found: package://gone/arm.stl (no package 'gone' in AMENT"
        )


ROBOTS = {
    "panda": ("panda_description/urdf/panda.urdf", "fixed"),
    "allegro": ("allegro_hand_description/urdf/allegro_right_hand.urdf", "fixed"),
    "tiago": ("tiago_description/robots/tiago.urdf", "fixed"),
    "pr2": ("pr2_description/urdf/pr2.urdf", "fixed"),
    "a1": ("a1_description/urdf/a1.urdf", "floating"),
    "g1": ("g1_description/urdf/g1_29dof_rev_1_0.urdf", "floating"),
    "talos": ("talos_data/robots/talos_reduced.urdf", "floating"),
    "icub": ("icub_description/robots/icub.urdf", "floating"),
}
ALWAYS = ("panda", "allegro", "a1")
QUICK, WHOLE = 0.6, 2.0  # [s] of motion
SWINGS = 0.2 / 1e-3  # [1/s], at least, of a joint in its stop


def _all() -> list:
    return [pytest.param(name, QUICK, id=name) for name in ALWAYS] + [
        pytest.param(name, WHOLE, id=f"{name}-whole", marks=pytest.mark.soak) for name in ROBOTS
    ]


@pytest.mark.parametrize(("name", "duration"), _all())
def test_a_foreign_robot_runs_to_its_end_within_its_limits_and_is_not_thrown(ada, tmp_path, name, duration):
    if SHARE is None:
        pytest.skip("needs the package example-robot-data")
    pytest.importorskip("mcap")
    path, base = ROBOTS[name]
    file = SHARE / "example-robot-data/robots" / path
    record = tmp_path / "run.mcap"
    flags = ("--base", base, "--duration", duration, "--json", "--record", record)
    code, out, err = ada("sim", file, *flags)
    assert (code, "StiffStepWarning" in err) == (0, False)
    log = Log.load(record)
    assert log.t[-1] == pytest.approx(duration)
    assert np.isfinite(log.q).all() and np.isfinite(log.v).all()
    # the speed of a joint carries it 1/SWINGS into its stop; 0.05 rad are for the weight of all that presses on it
    for joint, over in limit_violations(log.model, log.q).items():
        assert over < float(np.max(np.abs(log.v[:, -len(log.model.joint_names) :]))) / SWINGS + 0.05, joint
    soon = log.t <= 0.01
    falling = 0.5 * log.model.total_mass * (9.81 * log.t[soon]) ** 2
    assert (log.energy.kinetic[soon] <= 1.05 * falling + 1e-9).all()
    figures = json.loads(out)
    assert figures["energy_drift"] < 0.02
    if base == "floating":
        assert log.contact_wrenches
        assert figures["energy"]["contact"] > 0.0
        assert np.min(log.com[:, 2]) > 0.0
