# SPDX-License-Identifier: Apache-2.0
"""The PA-10 of the catalogue is the arm of the sources, its mechanisms are those that are made in code."""

import math

import numpy as np
import pytest
from loop_robots import assert_same_tree

from ada_dynamics import AdaError, InputError, assemble
from ada_dynamics.model import Model
from ada_dynamics.robots import mechanisms
from ada_dynamics.robots.catalogue import CATALOGUE, entry, start_of_mechanism
from ada_dynamics.robots.load import load
from ada_dynamics.robots.readers.xml import Element, parse_xml

FROM_XACRO = [name for name, one in CATALOGUE.items() if one.xacro is not None]
ARMS = [name for name in FROM_XACRO if name.startswith("pa10")]
MECHANISMS = [name for name, one in CATALOGUE.items() if one.xacro is None]


def heights(model: Model) -> dict[str, float]:
    """Heights of the joints at the zero pose, summed up from the file's offsets."""
    found: dict[str, float] = {model.root: 0.0}
    for joint in model.joints.values():
        assert np.array_equal(joint.rotation, np.eye(3))
        found[joint.child] = found[joint.name] = found[joint.parent] + joint.xyz[2]
    return found


def test_the_axes_are_z_y_z_y_z_y_z():
    axes = [load("pa10").joints[n].axis.tolist() for n in ("s1", "s2", "s3", "e1", "e2", "w1", "w2")]
    assert axes == [[0, 0, 1], [0, 1, 0]] * 3 + [[0, 0, 1]]


@pytest.mark.parametrize(
    ("name", "shoulder", "elbow", "wrist", "flange"),
    [
        ("pa10", 0.317, 0.767, 1.247, 1.317),
        ("pa10_7c", 0.315, 0.765, 1.265, 1.345),
        ("pa10_thesis", 0.315, 0.765, 1.265, 1.345),
    ],
)
def test_shoulder_elbow_wrist_and_flange_are_where_they_are(name, shoulder, elbow, wrist, flange):
    at = heights(load(name))
    assert at["s2"] == pytest.approx(shoulder, abs=1e-12)
    assert at["e1"] == pytest.approx(elbow, abs=1e-12)
    assert at["w1"] == at["w2"] == pytest.approx(wrist, abs=1e-12)
    assert at["flange"] == pytest.approx(flange, abs=1e-12)


def test_the_older_arms_centres_of_mass_are_at_the_printed_heights():
    model = load("pa10_7c")
    at = heights(model)
    found = [at[f"link_{i}"] + model.links[f"link_{i}"].com[2] for i in range(1, 8)]
    np.testing.assert_allclose(found, [0.14818, 0.37675, 0.672141, 0.80959, 1.09875, 1.2335, 1.3145], atol=1e-9)


def test_both_arms_agree_on_centres_of_mass_relative_to_shoulder_elbow_wrist_and_flange():
    old, new = load("pa10_7c"), load("pa10")
    at_old, at_new = heights(old), heights(new)
    for link, centre in (("link_2", "s2"), ("link_3", "e1"), ("link_4", "e1"), ("link_5", "w1"), ("link_6", "w1"), ("link_7", "flange")):  # fmt: skip  # noqa: E501
        offsets = [h[link] + m.links[link].com[2] - h[centre] for m, h in ((old, at_old), (new, at_new))]
        assert offsets[0] == pytest.approx(offsets[1], abs=1e-9)


@pytest.mark.parametrize("name", ARMS)
def test_the_masses_are_the_published_ones(name):
    model = load(name)
    assert [model.links[f"link_{i}"].mass for i in range(1, 8)] == [9.78, 8.41, 3.52, 4.31, 3.45, 1.46, 0.24]
    assert model.total_mass == pytest.approx(34.21)


def test_bounds_speeds_and_efforts_are_those_of_the_data_sheets():
    model = load("pa10")
    np.testing.assert_allclose(np.degrees(model.upper), [177, 94, 174, 137, 255, 165, 255], rtol=1e-15)
    np.testing.assert_array_equal(model.lower, -model.upper)
    np.testing.assert_allclose(model.velocity_limit, [1, 1, 2, 2, 2, 2 * math.pi, 2 * math.pi], rtol=1e-15)
    assert model.effort_limit.tolist() == [232, 232, 100, 100, 14.5, 14.5, 14.5]


def test_the_armature_is_the_rotors_inertia_times_the_gear_ratio_squared():
    rotors = np.array([3.0e-4, 3.0e-4, 8.5e-5, 8.5e-5, 2.3e-6, 2.3e-6, 2.3e-6])
    np.testing.assert_allclose(load("pa10").armature, rotors * 50.0**2, rtol=1e-12)


def test_the_thesis_arm_has_unit_inertias_and_no_rotors():
    model = load("pa10_thesis")
    assert all(np.array_equal(model.links[f"link_{i}"].inertia, np.eye(3)) for i in range(1, 8))
    assert not model.armature.any()


def content(element: Element) -> list[tuple[str, dict[str, str], str]]:
    return [
        (e.tag, {k: v for k, v in e.attributes.items() if not k.startswith("xmlns")}, e.text) for e in element.walk()
    ]


@pytest.mark.parametrize("name", FROM_XACRO)
def test_the_plain_file_equals_the_expansion_of_its_xacro_file(name):
    pytest.importorskip("xacro")
    one = entry(name)
    if one.loops is not None:
        pytest.importorskip("yaml")
    made = parse_xml(one.text(), name)
    plain = parse_xml(one.path.read_bytes(), name)
    assert content(plain) == content(made), "run: python -m ada_dynamics.robots.catalogue"


def test_a_prefix_goes_before_every_name():
    pytest.importorskip("xacro")
    model = load("pa10", mappings={"prefix": "left_"})
    assert model.joint_names == [f"left_{n}" for n in ("s1", "s2", "s3", "e1", "e2", "w1", "w2")]
    assert all(name.startswith("left_") for name in model.link_names)


@pytest.mark.parametrize(
    ("name", "mappings", "message"),
    [
        ("pa10", {"lengths": "other"}, "argument lengths is 'other'; allowed"),
        ("pa10", {"inertia": "other"}, "argument inertia is 'other'; allowed"),
        ("branch_5r", {"links": 6}, "links is 6; allowed: 4 5"),
    ],
)
def test_an_unknown_choice_is_refused_with_the_known_ones(name, mappings, message):
    pytest.importorskip("xacro")
    with pytest.raises(AdaError, match=message):
        load(name, mappings=mappings)


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(InputError, match="pa10_7c"):
        entry("pa11")


@pytest.mark.parametrize("name", ARMS)
def test_other_readers_take_the_files_too(name):
    pin = pytest.importorskip("pinocchio")
    model = pin.buildModelFromUrdf(str(entry(name).path))
    ours = load(name)
    assert model.nq == ours.nq
    np.testing.assert_allclose(model.upperPositionLimit, ours.upper, rtol=1e-15)
    mujoco = pytest.importorskip("mujoco")
    assert mujoco.MjModel.from_xml_path(str(entry(name).path)).nv == 7


# --- mechanisms with loops --------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", MECHANISMS)
def test_the_file_of_a_mechanism_says_what_the_code_makes(name):
    made, read = getattr(mechanisms, name)().model, load(name)
    assert_same_tree(read, made)
    assert read.actuated == made.actuated


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_mechanism_is_assembled_from_the_zero_pose(name):
    assert assemble(load(name)).residual < 1e-11  # what counts as closed, in lengths of the mechanism


def test_an_arm_has_no_mechanism_and_a_mechanism_no_xacro_arguments():
    with pytest.raises(InputError, match="pa10 has no loops"):
        entry("pa10").mechanism()
    with pytest.raises(InputError, match="four_bar is not made from a xacro file"):
        load("four_bar", mappings={"length": 2})
    assert start_of_mechanism("pa10") is None
