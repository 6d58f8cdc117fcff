# SPDX-License-Identifier: Apache-2.0
"""A spherical joint keeps the limits of three revolute ones that it stands for; what cannot be told is refused."""

import math

import numpy as np
import pytest
from turning_robots import HIP, hip, merged_hip

import ada_dynamics as ada
from ada_dynamics.contact.stops import limit_violations
from ada_dynamics.model.edit import lock, merge_turns
from ada_dynamics.model.elements import Limits
from ada_dynamics.model.model import link_poses
from ada_dynamics.model.turns import Turns
from ada_dynamics.robots.writers import render
from ada_dynamics.simulation import at_limits
from ada_dynamics.simulation.record.log_files import model_from_text, model_to_text

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
        assert limit_violations(one, q).get("hip", 0.0) == pytest.approx(max(over), abs=1e-12)
    assert lock(one, {"hip": turns.position([0.1, 0.2, 3.0])}).nv == 1


def test_axes_may_meet_away_from_the_last_frame():
    three = hip(along=0.2)
    one = merge_turns(three, ("yaw", "roll", "pitch"), "hip")
    angles = np.array([0.4, -0.2, 3.3, 0.5])
    q = one.neutral()
    q[one.q_index("hip")], q[one.q_index("knee")] = one.joints["hip"].turns.position(angles[:3]), 0.5
    poses, found = link_poses(three, angles), link_poses(one, q)
    assert max(np.abs(x - y).max() for n in ("leg", "shin") for x, y in zip(poses[n], found[n], strict=True)) < 1e-14


def test_limits_of_turns_are_kept_by_files():
    model = merged_hip()
    turns = model.joints["hip"].turns
    assert model_from_text(model_to_text(model)).joints["hip"].turns == turns
    read = ada.load(render(model, "sidecar").texts[".urdf"]).joints["hip"].turns
    assert (read.lower, read.upper) == (turns.lower, turns.upper)
    assert np.abs(read.directions - turns.directions).max() < 1e-15


def test_the_limit_of_a_ball_goes_through_urdf_and_mjcf():
    ball = ada.Builder("ball").link("base").link("ball", 1.0, inertia=(1, 1, 1))
    model = ball.joint("socket", "spherical", "base", "ball", limits=Limits(upper=1.2)).build()
    for spelling, ending in (("sidecar", ".urdf"), ("mjcf", ".xml")):
        assert ada.load(render(model, spelling).texts[ending]).joints["socket"].limits.upper == 1.2
    assert [event.name for event in at_limits(model)] == ["socket upper"]


def test_an_mjcf_ball_has_its_range_and_only_one_that_starts_at_zero():
    text = """<mujoco><compiler angle="degree"/><worldbody><body><joint type="ball" name="socket" range="{} 60"/>
        <geom size="1"/></body></worldbody></mujoco>"""
    assert ada.load(text.format(0)).joints["socket"].limits == Limits(0.0, math.pi / 3.0)
    with pytest.raises(ada.ModelError):
        ada.load(text.format(10))
