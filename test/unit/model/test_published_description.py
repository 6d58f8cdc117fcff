# SPDX-License-Identifier: Apache-2.0
"""The URDF that nodes and recordings publish describes the model: its tree, loops and motors, in joints of URDF 1.0."""

import re

import numpy as np
import pytest

import ada_dynamics as ada
from ada_dynamics.model.edit import split_universals
from ada_dynamics.robots.writers import render
from ada_dynamics.simulation.record.viewer_topics import description

URDF_1_0 = {"revolute", "continuous", "prismatic", "fixed", "floating", "planar"}


def with_sidecar(name, tmp_path):
    """A robot of the catalogue, loaded from a plain URDF and a file of loops beside it."""
    texts = render(ada.load(name), "sidecar").texts
    files = {ending: tmp_path / f"{name}{ending}" for ending in texts}
    for ending, text in texts.items():
        files[ending].write_text(text, encoding="utf-8")
    (sidecar,) = (file for ending, file in files.items() if "yaml" in ending)
    return ada.load(files[".urdf"], loops=sidecar)


@pytest.mark.parametrize("name", ["delta", "five_bar", "stewart"])
def test_loops_and_motors_of_a_sidecar_are_in_the_published_description(name, tmp_path):
    model = with_sidecar(name, tmp_path)
    read = ada.load(description(model))
    assert read.loop_names == model.loop_names
    assert read.actuated == model.actuated
    assert read.joint_names == split_universals(model).joint_names


def test_a_file_that_says_all_is_published_as_it_is():
    model = ada.load("five_bar")
    assert description(model) == model.source


@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_a_floating_base_does_not_change_what_is_published(base):
    model = ada.load("khr1", base=base)
    assert description(model) == model.source


@pytest.mark.parametrize("kind", ["spherical", "cylindrical", "universal"])
def test_joints_that_urdf_lacks_are_published_in_types_that_every_reader_knows(kind):
    builder = ada.Builder("pair").link("base").link("arm", mass=1.0, inertia=np.eye(3))
    axes = {"spherical": {}, "cylindrical": {"axis": (0, 0, 1)}, "universal": {"axis": (0, 0, 1), "axis2": (0, 1, 0)}}
    model = builder.joint("joint", kind, "base", "arm", **axes[kind]).build()
    text = description(model)
    assert set(re.findall(r'<joint [^>]*\btype="(\w+)"', text)) <= URDF_1_0
    read = ada.load(text)
    assert (read.nq, read.nv) == (model.nq, model.nv)
    if kind != "universal":
        assert read.joints["joint"].kind == kind


@pytest.mark.parametrize("joints", [["universal"], ["revolute", "universal", "prismatic", "universal"]])
def test_universal_joints_move_as_two_revolute_joints_with_a_massless_cross(joints):
    rng = np.random.default_rng(3)
    builder, parent = ada.Builder("arm").link("base"), "base"
    for i, kind in enumerate(joints):
        builder.link(f"link_{i}", mass=1.0 + i, com=rng.normal(size=3), inertia=np.diag((1.0, 1.2, 0.9)))
        axes = {"axis": (0, 0.6, 0.8), "axis2": (1, 0, 0)} if kind == "universal" else {"axis": (0, 0, 1)}
        builder.joint(f"joint_{i}", kind, parent, f"link_{i}", xyz=rng.normal(size=3), **axes)
        parent = f"link_{i}"
    model = builder.build()
    plain = split_universals(model)
    q, v = model.random_state(rng)
    tau = rng.normal(size=model.nv)
    expected = ada.Dynamics(model).forward(q, v, tau)
    np.testing.assert_allclose(ada.Dynamics(plain).forward(q, v, tau), expected, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(ada.Dynamics(plain).pose(parent, q), ada.Dynamics(model).pose(parent, q), atol=1e-14)


def test_a_model_without_universal_joints_is_not_changed_by_splitting_them():
    model = ada.load("pa10")
    assert split_universals(model) is model
