# SPDX-License-Identifier: Apache-2.0
"""Meshes and packages are found from the description's place, with and without ROS, and nothing else is read."""

import os
import sys

import pytest
from foreign_robots import EIGHT, foreign_robot

import ada_dynamics as ada
from ada_dynamics.robots.addresses import AddressResolver, missing_meshes
from ada_dynamics.robots.load import load
from ada_dynamics.robots.writers import write
from ada_dynamics.simulation.record.log_files import model_from_text, model_to_text
from ada_dynamics.simulation.record.recorder import description

ROBOT = """<robot name="r"><link name="l"><visual><geometry><mesh filename="{}"/></geometry></visual></link></robot>"""


@pytest.fixture(autouse=True)
def no_ros(monkeypatch, tmp_path):
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    monkeypatch.setenv("ROBOT_DESCRIPTIONS_CACHE", str(tmp_path / "cache"))


def made(path, text=""):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.fixture
def package(tmp_path):
    """A package whose folder is not named as it is itself; its description and its mesh."""
    root = tmp_path / "ws" / "robot-main"
    made(root / "package.xml", "<package format='3'><name>my_robot</name></package>")
    return made(root / "urdf/robot.urdf"), made(root / "meshes/arm.stl")


@pytest.mark.parametrize(
    "address",
    [
        "package://my_robot/meshes/arm.stl",
        "package:///my_robot/meshes/arm.stl",
        "model://my_robot/meshes/arm.stl",
        "$(find my_robot)/meshes/arm.stl",
        "file://$(find my_robot)/meshes/arm.stl",
        "package://robot-main/meshes/arm.stl",
        "../meshes/arm.stl",
        "file://../meshes/arm.stl",
        "package://my_robot/urdf/../meshes/arm.stl",
    ],
)
def test_a_mesh_is_found_from_the_descriptions_place(package, address):
    robot, mesh = package
    found = AddressResolver(robot).file(address)
    assert found is not None
    assert found.samefile(mesh)


def test_a_package_address_of_a_single_name_is_a_file_beside_the_description(package):
    mesh = made(package[0].parent / "arm part.stl")
    assert AddressResolver(package[0]).file("package:///arm%20part.stl") == mesh


def test_a_package_beside_that_of_the_description_is_found(package, tmp_path):
    mesh = made(tmp_path / "ws/common_meshes/meshes/hand.dae")
    assert AddressResolver(package[0]).file("package://common_meshes/meshes/hand.dae") == mesh


def test_a_description_behind_a_link_is_looked_for_from_where_it_really_is_too(package, tmp_path):
    (tmp_path / "install").mkdir()
    link = tmp_path / "install/robot.urdf"
    link.symlink_to(package[0])
    assert AddressResolver(link).file("../meshes/arm.stl") is not None
    assert AddressResolver(link).package("my_robot") is not None


def test_packages_of_a_sourced_ros_are_found(tmp_path, monkeypatch):
    mesh = made(tmp_path / "share/bot/meshes/a b.stl")
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"/nowhere{os.pathsep}{tmp_path}")
    assert AddressResolver().file("package://bot/meshes/a b.stl") == mesh
    assert AddressResolver().file("package://bot/meshes/a%20b.stl") == mesh


def test_the_first_package_that_has_the_file_wins(package, tmp_path, monkeypatch):
    mesh = made(tmp_path / "overlay/share/my_robot/meshes/only_there.stl")
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path / "overlay"))
    assert AddressResolver(package[0]).file("package://my_robot/meshes/only_there.stl") == mesh


def test_the_cache_of_robot_descriptions_and_the_prefix_of_pip_are_looked_into(tmp_path, monkeypatch):
    cached = made(tmp_path / "cache/some_repository/cached_robot/a.stl")
    installed = made(tmp_path / "site/cmeel.prefix/share/example-robot-data/robots/piped_robot/b.stl")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path / "site")])
    assert AddressResolver().file("package://cached_robot/a.stl") == cached
    assert AddressResolver().file("package://piped_robot/b.stl") == installed


@pytest.mark.parametrize("name", EIGHT)
def test_every_mesh_of_a_foreign_robot_is_found_without_ros(name):
    report = ada.check(foreign_robot(name))
    assert "mesh-missing" not in {finding.code for finding in report.findings}


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("package://my_robot/../../outside.stl", "leaves package"),
        ("package://my_robot/%2e%2e/%2e%2e/outside.stl", "lacks the file"),
        ("package://../outside.stl", "not a package name"),
        ("package:///", "not a package name"),
        ("http://example.org/a.stl", "http:// is not supported"),
        ("", "not a path"),
        ("a\0.stl", "not a path"),
        ("x" * 5000, "no file"),
        ("package://" + "x" * 5000 + "/a.stl", "no package"),
        ("package://my_robot/meshes", "lacks the file"),
        ("package://etc/passwd", "no package"),
    ],
)
def test_what_an_address_does_not_name_is_not_read(package, tmp_path, address, why):
    made(tmp_path / "outside.stl")
    addresses = AddressResolver(package[0])
    assert addresses.file(address) is None
    assert why in addresses.searched(address)


def test_a_text_has_no_folder_that_relative_paths_start_from(package, monkeypatch):
    monkeypatch.chdir(package[1].parent)
    assert AddressResolver().file("arm.stl") is None
    assert "given as text" in AddressResolver().searched("arm.stl")


def test_meshes_that_are_missing_are_one_note_with_all_places_of_the_search(tmp_path):
    made(tmp_path / "there.stl")
    visual = '<visual><geometry><mesh filename="there.stl"/></geometry></visual>'
    robot = made(tmp_path / "robot.urdf", ROBOT.format("package://gone/a.stl").replace("</link>", f"{visual}</link>"))
    (finding,) = ada.check(robot).findings
    assert (finding.code, finding.severity) == ("mesh-missing", "note")
    for place in (str(tmp_path), "AMENT_PREFIX_PATH", str(tmp_path / "cache")):
        assert place in finding.message
    many = missing_meshes({f"{i}.stl": f"no {i}" for i in range(100)}, 200)
    assert len(many.splitlines()) == 1 and len(many) < 200


def test_a_mesh_is_still_found_after_edits_recordings_and_writing_elsewhere(package, tmp_path):
    robot, mesh = package
    made(robot, ROBOT.format("../meshes/arm.stl"))
    model = load(robot)
    copy = model_from_text(model_to_text(model))
    (shape,) = copy.links["l"].visuals
    assert AddressResolver(shape.description_file).file(shape.mesh).samefile(mesh)
    (tmp_path / "far").mkdir()
    (shape,) = load(write(model, tmp_path / "far" / "r.urdf")[0]).links["l"].visuals
    assert shape.mesh == mesh.as_uri()
    (near,) = load(write(model, robot.parent / "r.urdf")[0]).links["l"].visuals
    assert near.mesh == "../meshes/arm.stl"  # is right there, and stays
    (said,) = load(description(model)).links["l"].visuals  # what a topic says, to whom knows no file
    assert said.mesh == mesh.as_uri()
