# SPDX-License-Identifier: Apache-2.0
"""A spherical joint keeps the limits of three revolute ones that it stands for; what cannot be told is refused."""

import dataclasses
import math

import numpy as np
import pytest
from turning_robots import HIP, hip, merged_hip

import ada_dynamics as ada
from ada_dynamics.contact.stops import beyond_limits
from ada_dynamics.model.edit import lock, merge_turns, with_parts
from ada_dynamics.model.edit.poses import link_poses
from ada_dynamics.model.elements import Limits, Mimic
from ada_dynamics.model.turns import Turns
from ada_dynamics.robots.writers import Inexpressible, render
from ada_dynamics.simulation import at_limits
from ada_dynamics.simulation.record.model_text import from_text, to_text

SKEW = ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, math.sin(0.7), math.cos(0.7)))


@pytest.mark.parametrize("axes", ["zyz", "zyx", "yxz", SKEW])
def test_angles_and_their_rates_are_those_of_three_turns_one_after_the_other(axes):
    rng = np.random.default_rng(3)
    three, own = ada.Builder("turns").link("l0"), {"mass": 1.0, "inertia": (1, 1, 1)}
    for i, axis in enumerate(Turns(axes).directions, 1):
        three.link(f"l{i}", **(own if i == 3 else {}))
        three.joint(f"j{i}", "continuous", f"l{i - 1}", f"l{i}", axis=axis)
    dynamics = ada.Dynamics(three.build())
    builder = ada.Builder("ball").link("l0").link("l3", **own)
    ball = ada.Dynamics(builder.joint("j", "spherical", "l0", "l3").build())
    for k in range(-2, 3):
        low = k * math.pi - float(np.arctan2(*(Turns(axes).directions[2] @ across(axes))))
        middle = rng.uniform(-5.0, 5.0, 2)  # limits may lie anywhere, also across half a turn
        lower = (middle[0] - 3.1, low + 0.01, middle[1] - 3.1)
        upper = (middle[0] + 3.1, low + math.pi - 0.01, middle[1] + 3.1)
        turns = Turns(axes, lower, upper)
        assert turns.problem() is None
        for _ in range(20):
            angles, rates = rng.uniform(lower, upper), rng.normal(size=3)
            q = turns.position(angles)
            assert np.abs(ball.pose("l3", q) - dynamics.pose("l3", angles)).max() < 1e-14
            assert np.abs(turns.read(q) - angles).max() < 1e-12 and np.abs(turns.read(-q) - angles).max() < 1e-12
            w = dynamics.pose("l3", angles)[:3, :3].T @ dynamics.velocity("l3", angles, rates)[3:]
            # rounding over the sine of the second angle, which is 0.01 and more
            assert np.abs(turns.rates(q, w) - rates).max() < 1e-11


@pytest.mark.parametrize("beta", [-2.8, -1.0, 0.3, 2.8])
def test_angles_without_limits_are_the_set_that_holds_all_of_them_at_zero(beta):
    turns = Turns(((0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (math.sin(beta), 0.0, math.cos(beta))))
    low = 0.0 if beta > 0.0 else -math.pi  # the second one is within these and half a turn more, less beta
    for second in (low - beta + 0.01, 0.0, low - beta + math.pi - 0.01):
        angles = [0.4, second, -0.7]
        assert turns.read(turns.position(angles)) == pytest.approx(angles, abs=1e-12)


def across(axes):
    """Columns y x z and z, of which the third axis has sin β and cos β: the lock is where it is on the first axis."""
    first, second, _ = Turns(axes).directions
    return np.column_stack([np.cross(second, first), first])


def test_three_revolute_joints_merged_are_the_same_robot_with_the_same_limits():
    three, one = hip(), merged_hip()
    turns, own = one.joints["hip"].turns, one.q_index("hip")
    assert (turns.lower, turns.upper) == tuple(zip(*HIP, strict=True))
    assert list(one.joint_names) == list(one.actuated) == ["hip", "knee"] and "a" not in one.links
    rng = np.random.default_rng(0)
    for _ in range(30):
        angles = three.random_state(rng)[0] + rng.normal(size=4) * 0.3
        q = one.neutral()
        q[own], q[one.q_index("knee")] = turns.position(angles[:3]), angles[3]
        before, after = link_poses(three, angles), link_poses(one, q)
        assert max(np.abs(x - y).max() for n in after for x, y in zip(before[n], after[n], strict=True)) < 1e-14
        # beyond by as much as the worst of the three
        over = [max(low - x, x - high, 0.0) for (low, high), x in zip(HIP, angles, strict=False)]
        assert beyond_limits(one, q).get("hip", 0.0) == pytest.approx(max(over), abs=1e-12)
    assert lock(one, {"hip": turns.position([0.1, 0.2, 3.0])}).nv == 1


def test_axes_may_meet_away_from_the_last_frame():
    three = hip(along=0.2)
    one = merge_turns(three, ("yaw", "roll", "pitch"), "hip")
    angles = np.array([0.4, -0.2, 3.3, 0.5])
    q = one.neutral()
    q[one.q_index("hip")], q[one.q_index("knee")] = one.joints["hip"].turns.position(angles[:3]), 0.5
    poses, found = link_poses(three, angles), link_poses(one, q)
    assert max(np.abs(x - y).max() for n in ("leg", "shin") for x, y in zip(poses[n], found[n], strict=True)) < 1e-14


def changed(model, joint, **values):
    return with_parts(model, dataclasses.replace(model.joints[joint], **values))


def with_mass(model):
    return with_parts(model, dataclasses.replace(model.links["a"], mass=1.0))


@pytest.mark.parametrize(
    ("robot", "joints", "message"),
    [
        (hip(), ("yaw", "roll"), "give the names of three revolute joints"),
        (hip(), ("yaw", "roll", "ankle"), "no joint is named 'ankle'"),
        (hip(), ("yaw", "pitch", "knee"), "joint 'pitch' does not follow 'yaw'"),
        (hip(), ("roll", "pitch", "knee"), "link 'leg' between 'pitch' and 'knee' has mass"),
        (hip(off=0.01), ("yaw", "roll", "pitch"), "do not meet in a point: they miss it by 0.005 m"),
        (with_mass(hip()), ("yaw", "roll", "pitch"), "link 'a' between 'yaw' and 'roll' has mass"),
        (changed(hip(), "roll", damping=1.0), ("yaw", "roll", "pitch"), "joint 'roll' has damping"),
        (changed(hip(), "roll", kind="prismatic"), ("yaw", "roll", "pitch"), "joint 'roll' is prismatic"),
        (changed(hip(), "knee", mimic=Mimic("yaw")), ("yaw", "roll", "pitch"), "joint 'yaw' mimics another joint, or"),
        (changed(hip(), "roll", axis=(0.6, 0, 0.8)), ("yaw", "roll", "pitch"), "second axis of its turns must be at r"),
        (changed(hip(), "roll", limits=Limits(-2, 1)), ("yaw", "roll", "pitch"), "the first and the third axis coinc"),
    ],
)
def test_what_one_joint_cannot_stand_for_is_refused(robot, joints, message):
    with pytest.raises(ada.AdaError, match=message):
        merge_turns(robot, joints)


@pytest.mark.parametrize(
    ("turns", "message"),
    [
        (
            Turns("zyx", (-1, 0, -1), (1, 2, 1)),
            r"\[0, 2\]; .* coincide \(at -4.712, -1.571, 1.571, 4.712",
        ),
        (Turns("zyx", (-1, -1, -math.inf), (1, 1, 1)), "its turn 3 is limited on one side"),
        (Turns("zyx", (-4, -1, -1), (4, 1, 1)), "its turn 1, .* a whole turn or more apart"),
        (Turns("zyx", (-1,) * 3), "its turn 1 is limited on one side"),
        (Turns("zyx", (1, -1, -1), (-1, 1, 1)), r"its turn 1 are \[1, -1\]; lower must not be above upper"),
        (Turns("zzx"), "must be at right angles"),
        (Turns("zy"), "three axes"),
        (Turns(((0, 0, 0), (0, 1, 0), (1, 0, 0))), "they must be directions"),
    ],
)
def test_limits_that_a_pose_cannot_tell_are_refused(turns, message):
    builder = ada.Builder("ball").link("base").link("ball", 1.0, inertia=(1, 1, 1))
    with pytest.raises(ada.ModelError, match=message):
        builder.joint("socket", "spherical", "base", "ball", turns=turns)


def test_turns_of_other_joints_and_lower_limits_of_whole_turns_are_refused():
    builder = ada.Builder("ball").link("base").link("ball", 1.0, inertia=(1, 1, 1))
    with pytest.raises(ada.ModelError, match="'socket' is revolute and has turns; only spherical"):
        builder.joint("socket", "revolute", "base", "ball", turns=Turns("zyx"))
    with pytest.raises(ada.ModelError, match=r"spherical and has the limits \[0.5, 1\]"):
        builder.joint("socket", "spherical", "base", "ball", limits=Limits(0.5, 1.0))


def test_limits_of_turns_are_kept_by_files_or_refused_by_name():
    model = merged_hip()
    turns = model.joints["hip"].turns
    assert from_text(to_text(model)).joints["hip"].turns == turns
    read = ada.load(render(model, "sidecar").texts[".urdf"]).joints["hip"].turns
    assert (read.lower, read.upper) == (turns.lower, turns.upper)
    assert np.abs(read.directions - turns.directions).max() < 1e-15
    for spelling in ("mjcf", "sdf", "gepetto"):
        with pytest.raises(Inexpressible, match="Joint 'hip' is spherical with limits about single axes"):
            render(model, spelling)


def test_the_limit_of_a_ball_goes_through_urdf_and_mjcf():
    ball = ada.Builder("ball").link("base").link("ball", 1.0, inertia=(1, 1, 1))
    model = ball.joint("socket", "spherical", "base", "ball", limits=Limits(upper=1.2)).build()
    for spelling, ending in (("sidecar", ".urdf"), ("mjcf", ".xml")):
        assert ada.load(render(model, spelling).texts[ending]).joints["socket"].limits.upper == 1.2
    with pytest.raises(Inexpressible, match="'socket' is spherical with a limit"):
        render(model, "sdf")
    assert [event.name for event in at_limits(model)] == ["socket upper"]


@pytest.mark.parametrize(
    ("inside", "message"),
    [
        ('<turn xyz="0 0 1"/>', "it has 1 turns, and needs three"),
        ('<turn xyz="0 0 1"/><turn xyz="0 0 1"/><turn xyz="1 0 0"/>', "must be at right angles"),
        ('<limit lower="0.3" upper="1" effort="1" velocity="1"/>', "has a lower limit"),
    ],
)
def test_a_urdf_whose_ball_has_unusable_limits_is_refused(inside, message):
    text = f"""<robot name="r"><link name="base"/><link name="ball"/>
        <joint name="socket" type="spherical"><parent link="base"/><child link="ball"/>{inside}</joint></robot>"""
    with pytest.raises(ada.ModelError, match=message):
        ada.load(text)


def test_an_mjcf_ball_has_its_range_and_only_one_that_starts_at_zero():
    text = """<mujoco><compiler angle="degree"/><worldbody><body><joint type="ball" name="socket" range="{} 60"/>
        <geom size="1"/></body></worldbody></mujoco>"""
    assert ada.load(text.format(0)).joints["socket"].limits == Limits(0.0, math.pi / 3.0)
    with pytest.raises(ada.ModelError, match="is a ball with the range"):
        ada.load(text.format(10))


def test_events_tell_when_a_turn_comes_to_its_limit():
    model = merged_hip()
    names = [event.name for event in at_limits(model)]
    assert names == [*(f"hip {k} {side}" for k in (1, 2, 3) for side in ("lower", "upper")), "knee lower", "knee upper"]
    q = model.neutral()
    q[model.q_index("hip")] = model.joints["hip"].turns.position([0.7, 0.1, 4.2])
    values = {event.name: event.function(0.0, q, np.zeros(model.nv)) for event in at_limits(model)}
    assert values["hip 3 upper"] == pytest.approx(0.2) and values["hip 1 upper"] == pytest.approx(0.7 - HIP[0][1])
