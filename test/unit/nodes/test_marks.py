# SPDX-License-Identifier: Apache-2.0
"""Marks beside a robot, at the right places, never a NaN; frames with a prefix, and robots joined into one tree."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refused import refused
from standing_box import CORNERS, EACH, FRAMES, WEIGHT, Row, box, standing

import ada_dynamics as ada
from ada_dynamics.drawing.marks import MarkKind
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import InputError
from ada_dynamics.robots.load import load
from ada_robot.messages.marks import Marks
from ada_robot.messages.outgoing import StateMessages
from ada_robot.messages.wrenches import JointLoads
from ada_robot.ros.robot_settings import FrameSettings, PlaceSettings

__all__ = ["box"]


def by_space(marks):
    found: dict[str, dict] = {}
    for mark in marks:
        assert mark.number not in found.setdefault(mark.space, {})
        found[mark.space][mark.number] = mark
    return found


def test_a_standing_robot_has_its_centre_of_mass_zero_moment_point_and_support(box):
    found = by_space(Marks(box[1], contact_frames=FRAMES).at(standing(box[0], EACH)))
    assert set(found) == {"contact", "com", "zmp", "support"}
    assert found["com"][0].points == pytest.approx(np.array([[0.05, 0.0, 1.5 + (8 * 0.3 + 2 * 0.5) / 10]]))
    # Three quarters of the weight press on the side at x = 0.2, so the middle of the pressure is at 0.1.
    assert found["zmp"][0].points == pytest.approx(np.array([[0.1, 0.0, 1.5]]))
    ring = found["support"][0]
    assert ring.kind is MarkKind.LINE
    assert ring.points[0] == pytest.approx(ring.points[-1])
    assert {tuple(np.round(p, 9)) for p in ring.points} == {(x, y, 1.5) for x, y, _ in CORNERS.values()}


def test_the_support_is_on_the_ground_that_is_given_and_only_loads_of_the_ground_are_in_the_balance(box):
    found = by_space(Marks(box[1], contact_frames=FRAMES, ground=1.4).at(standing(box[0], EACH)))
    assert set(found["support"][0].points[:, 2]) == {1.4}
    assert found["zmp"][0].points[0, 2] == pytest.approx(1.4)
    marks = Marks(box[1], contact_frames=FRAMES)
    between_links = by_space(marks.at(standing(box[0], {"hand": 20.0})))
    assert set(between_links) == {"contact", "com"} and list(between_links["contact"]) == [4]
    assert "zmp" not in by_space(marks.at(standing(box[0], {"a": 1e-4 * WEIGHT, "b": 1e-9})))


def test_wrenches_of_chosen_joints_are_arrows_at_their_links(box):
    model, dynamics = box
    loads = JointLoads(dynamics, ["hinge"], contact_frames=FRAMES)
    marks = Marks(dynamics, loads, contact_frames=FRAMES)
    whole = by_space(marks.at(standing(model, {"a": WEIGHT})))["contact"][0].points
    longest = np.linalg.norm(whole[1] - whole[0])
    at_rest = {name: (0.3125 if corner[0] > 0 else 0.1875) * WEIGHT for name, corner in CORNERS.items()}
    row = standing(model, at_rest)
    quarter = row.q.copy()
    quarter[3:7] = 0, 0, np.sqrt(0.5), np.sqrt(0.5)  # x, y, z, w: about z
    for q, across in ((row.q, (0, -1, 0)), (quarter, (1, 0, 0))):
        found = by_space(marks.at(row._replace(q=q)))
        assert marks.problem is None
        force, moment = found["joint_force"][0].points, found["joint_moment"][0].points
        assert force[0] == pytest.approx([0, 0, 2.0])
        # The hinge carries the lid, a fifth of the weight, whose centre of mass is 5 cm away from it.
        assert force[1] - force[0] == pytest.approx([0, 0, 0.2 * longest], abs=1e-9)
        length = np.linalg.norm(moment[1] - moment[0])
        assert moment[1] - moment[0] == pytest.approx(length * np.array(across), abs=1e-9)


def test_a_closed_loop_has_a_green_ball_and_an_open_one_a_red_one():
    model = ada.load("four_bar")
    q = np.array(ada.close_loops(model))
    dynamics = ada.Dynamics(model, q0=q)
    zeros = np.zeros(model.nv)
    closed, opened = (by_space(Marks(dynamics).at(Row(0.0, x, zeros, zeros)))["loop"][0] for x in (q, q + 0.1))
    assert closed.colour[1] > 2 * closed.colour[0]
    assert opened.colour[0] > 2 * opened.colour[1]
    loop = model.loops["closing"]
    pose = dynamics.pose(loop.parent, q)
    assert closed.points[0] == pytest.approx(pose[:3, 3] + pose[:3, :3] @ loop.parent_xyz, abs=1e-9)


NUMBERS = st.one_of(st.sampled_from([0.0, -0.0, np.nan, np.inf, -np.inf, 1e300, -1e300, 1e-300]), st.floats(-1e3, 1e3))


@settings(max_examples=100, deadline=None)
@given(wrenches=st.lists(st.lists(NUMBERS, min_size=6, max_size=6), min_size=5, max_size=5))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_no_number_of_a_mark_is_ever_nan_or_infinite(box, wrenches):
    model, dynamics = box
    contact = dict(zip(FRAMES, map(np.array, wrenches), strict=True))
    marks = Marks(dynamics, JointLoads(dynamics, contact_frames=FRAMES), contact_frames=FRAMES)
    found = marks.at(standing(model, {})._replace(contact=contact))
    for mark in found:
        assert np.isfinite([*mark.points.ravel(), *mark.size, *mark.colour]).all()
    assert "com" in by_space(found)


@pytest.fixture(scope="module")
def arm():
    return Dynamics(load("pa10"))


def tree(messages):
    return {row.child: row.parent for row in messages.static_transforms()}


def test_a_prefix_stands_before_the_names_of_all_frames_and_of_nothing_else(arm):
    plain, prefixed = StateMessages(arm), StateMessages(arm, prefix="left/")
    assert tree(prefixed) == {f"left/{child}": f"left/{parent}" for child, parent in tree(plain).items()}
    assert prefixed.joint_names == plain.joint_names


def test_a_place_hangs_the_robots_world_into_the_common_one(arm):
    first, *rest = StateMessages(arm, prefix="left/", base_pose=(1.0, -0.5, 0.2, math.pi / 2)).static_transforms()
    assert (first.parent, first.child, first.xyz) == ("world", "left/world", (1.0, -0.5, 0.2))
    x, y, z, w = first.xyzw
    turned = np.array([1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w)])  # where its x axis points
    assert turned == pytest.approx([0.0, 1.0, 0.0], abs=1e-12)
    assert rest == StateMessages(arm, prefix="left/").static_transforms()


def test_a_prefix_that_makes_no_names_is_refused_at_once():
    for prefix in ("", "left", "left/", "cell_1/left/", "x" * 60):
        assert FrameSettings(prefix).frame_prefix == prefix
    for prefix in ("/", "/left", "left//", "a//b", "le ft/", "left-1/", "é", "a" * 60 + "-"):
        with refused(InputError, field="frame_prefix", value=prefix):
            FrameSettings(prefix)


@pytest.mark.parametrize(
    ("prefix", "pose", "field"),
    [
        ("left/", (0.0, 0.0, 0.0), "base_pose"),
        ("left/", (0.0, 0.0, 0.0, 0.1, 0.2, 0.3), "base_pose"),
        ("left/", (0.0, math.nan, 0.0, 0.0), "base_pose"),
        ("", (0.0, 0.0, 0.0, 0.0), "frame_prefix"),
    ],
)
def test_a_place_that_is_none_or_that_no_tree_could_hold_is_refused(prefix, pose, field):
    with refused(InputError, field=field):
        PlaceSettings(prefix, pose)
