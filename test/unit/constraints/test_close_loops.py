# SPDX-License-Identifier: Apache-2.0
"""`close_loops` closes loops from rough poses, says what it found, and refuses with the reason where it cannot."""

import copy
import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from loop_robots import mechanism
from mechanism_oracle import Oracle
from refused import refused

import ada_dynamics as ada
from ada_dynamics.constraints.closed_configuration import ClosedConfiguration
from ada_dynamics.contact.stops import limit_violations
from ada_dynamics.errors import BeyondLimitsWarning, DistantClosureWarning
from ada_dynamics.model.edit.parts import Parts
from ada_dynamics.model.elements import Limits
from ada_dynamics.robots import mechanisms

NAMES = ("four_bar", "slider_crank", "five_bar", "watt_six_bar", "bennett", "stewart", "hexa", "delta", "cassie_leg")


def two_rods(reach: float, kind: str = "spherical") -> ada.Model:
    builder = ada.Builder("two_rods").link("ground")
    for i, place in enumerate((0.0, 1.0)):
        builder.link(f"rod_{i}", 1.0, (0, 0, 0.5), (1 / 12, 1 / 12, 0.0))
        builder.joint(f"joint_{i}", "revolute", "ground", f"rod_{i}", (place, 0, 0), axis=(0, 1, 0))
    builder.loop("pin", kind, "rod_0", "rod_1", (0, 0, reach), child_xyz=(0, 0, reach), axis=(0, 1, 0))
    return builder.build()


@pytest.mark.parametrize("name", NAMES)
def test_loops_close_from_a_disturbed_pose(name: str) -> None:
    model, q = mechanism(name)
    guess = model.integrate(q, 0.2 * np.random.default_rng(1).normal(size=model.nv))
    found = ada.close_loops(model, guess)
    assert np.max(np.abs(Oracle(model).gap(found))) < 1e-11
    assert found.residual < 1e-11
    assert found.mobility == Oracle(model).mobility(np.asarray(q))
    assert f"mobility {found.mobility}" in found.report()


@pytest.mark.parametrize(
    "again",
    [copy.copy, copy.deepcopy, lambda q: q.copy(), lambda q: pickle.loads(pickle.dumps(q)), lambda q: q.copy()[:]],
)
def test_a_copy_of_an_assembled_pose_says_the_same(again: Callable[[ClosedConfiguration], Any]) -> None:
    found = ada.close_loops(mechanisms.four_bar().model)
    other = again(found)
    assert (other.report(), other.moved, other.mobility) == (found.report(), found.moved, found.mobility)
    assert "closed to" in other.report() and not np.shares_memory(other, found)


def test_a_part_of_a_pose_says_that_it_is_one_and_what_is_computed_of_it_is_plain() -> None:
    found = ada.close_loops(mechanisms.four_bar().model)
    assert {type(x) for x in (found + 0.0, np.sin(found), np.eye(3) @ found)} == {np.ndarray}
    assert type(found.sum()) is np.float64
    for ask in ("report", "moved", "violation", "mobility", "redundant"):
        with refused(ada.InputError, field="q"):
            getattr(found[1:], ask)()


def test_held_joints_stay_and_the_others_follow() -> None:
    model, q = mechanisms.four_bar()
    guess = q.copy()
    guess[0] += 0.3
    found = ada.close_loops(model, guess, hold=["joint_1"])
    assert found[0] == guess[0]
    assert found.residual < 1e-12
    assert np.array_equal(found, ada.close_loops(model, guess, hold="joint_1")), "one name is one joint"


def test_a_loop_is_closed_by_its_last_free_joint_alone() -> None:
    found = ada.close_loops(two_rods(1.0), [np.pi / 6, -0.3], hold="joint_0")
    assert found == pytest.approx([np.pi / 6, -np.pi / 6], abs=1e-9)


def test_loops_close_far_from_the_guess() -> None:
    model = ada.load("stewart")
    with pytest.warns(DistantClosureWarning):
        found = ada.close_loops(model, {"leg_1_slide": 50.0}, hold="leg_1_slide")
    assert found[model.q_index("leg_1_slide")] == 50.0 and found.residual < 1e-9


def test_a_singular_pose_is_named() -> None:
    model, _ = mechanisms.four_bar()
    flat = ada.close_loops(model, [np.pi / 2, 0.0, np.pi])
    assert flat.is_singular
    assert flat.mobility_here == 2
    assert "singular" in flat.report()


def test_loops_that_cannot_close_with_held_joints_say_so() -> None:
    with refused(ada.ModelError, loop="pin", field="hold"):
        ada.close_loops(two_rods(1.0), [0.3, 0.9], hold=["joint_0", "joint_1"])


def test_a_loop_that_only_closes_the_wrong_way_round_is_refused() -> None:
    builder = ada.Builder("opposite").link("ground").link("rod", 1.0, (0, 0, 0.5), (1, 1, 1))
    builder.joint("joint", "revolute", "ground", "rod", axis=(0, 1, 0))
    builder.loop("pin", "revolute", "rod", "ground", child_rpy=(np.pi, 0, 0), axis=(0, 1, 0))
    with refused(ada.ModelError, loop="pin", field="axis"):
        ada.close_loops(builder.build())


@pytest.mark.parametrize(
    ("guess", "hold", "field", "joint"),
    [([0.0, np.nan, 0.0], (), "guess", None), ([0.0, 0.0, 0.0], ("joint_9",), "joint", "joint_9")],
)
def test_unusable_arguments_are_named(guess: list[float], hold: tuple[str, ...], field: str, joint: str | None) -> None:
    with refused(ada.InputError, field=field, joint=joint):
        ada.close_loops(mechanisms.four_bar().model, guess, hold)


def test_rods_that_do_not_reach_are_reported_with_the_gap_that_is_left() -> None:
    for reach in (0.1, 0.3, 0.49):
        with pytest.raises(ada.ModelError) as caught:
            ada.close_loops(two_rods(reach), [0.3, 0.2])
        assert float(caught.value.value["pin"].removesuffix(" m")) == pytest.approx(1.0 - 2.0 * reach, rel=2e-3)


def limited_four_bar(joint: str, lower: float, upper: float) -> tuple[ada.Model, np.ndarray]:
    """A four-bar linkage with limits, and a configuration that closes it."""
    model, q = mechanisms.four_bar((0.5, 1.0, 0.8, 1.0), crank=1.0)
    parts = Parts.of(model)
    parts.joints[joint] = replace(parts.joints[joint], limits=Limits(lower, upper))
    return parts.build(), q


@pytest.mark.parametrize("joint", ["joint_1", "joint_2", "joint_3"])
@pytest.mark.parametrize("crank", [-2.0, -0.5, 0.5, 2.5])
@pytest.mark.parametrize("is_crossed", [False, True])
def test_a_configuration_within_the_limits_is_found_wherever_the_guess_is(joint, crank, is_crossed):
    lengths = (0.5, 1.0, 0.8, 1.0)
    _, inside = mechanisms.four_bar(lengths, crank=crank, crossed=is_crossed)
    at = float(inside[int(joint[-1]) - 1])
    model, q = limited_four_bar(joint, at - 0.05, at + 0.05)
    found = ada.close_loops(model, q + 1e-3)  # next to a configuration that is closed, but beyond the limits
    assert np.max(np.abs(Oracle(model).gap(found))) < 1e-11
    assert limit_violations(model, np.asarray(found)).get(joint, 0.0) < 1e-6
    np.testing.assert_allclose(ada.close_loops(model, q), q, atol=1e-12)  # what is closed is kept


def test_limits_that_no_closed_configuration_keeps_are_warned_of_with_the_joint():
    model, _ = limited_four_bar("joint_3", -0.05, 0.05)  # coupler and rocker stretched are longer than crank and ground
    with pytest.warns(BeyondLimitsWarning) as met:
        found = ada.close_loops(model)
    assert found.residual < 1e-11
    assert list(met[0].message.joints) == ["joint_3"]
    assert met[0].message.joints["joint_3"] == pytest.approx(limit_violations(model, np.asarray(found))["joint_3"])


@pytest.mark.parametrize(("lower", "upper"), [(-3.0, 0.1), (-0.1, 3.0)])
def test_loops_close_within_limits_from_where_no_step_closes_them(lower: float, upper: float) -> None:
    builder, parent = ada.Builder("four_bar").link("ground"), "ground"
    for i, length in enumerate((0.0, 0.5, 1.0)):
        builder.link(f"rod_{i}", 1.0, inertia=(1, 1, 1))
        limits = Limits(lower, upper) if i == 2 else None
        builder.joint(f"joint_{i}", "revolute", parent, f"rod_{i}", (0, 0, length), axis=(0, 1, 0), limits=limits)
        parent = f"rod_{i}"
    builder.loop("closing", "revolute", parent, "ground", (0, 0, 0.8), child_xyz=(0, 0, -1), axis=(0, 1, 0))
    model = builder.build()
    found = ada.close_loops(model, np.zeros(3))  # all rods straight away from the second pivot
    assert np.max(np.abs(Oracle(model).gap(found))) < 1e-11
    assert lower - 1e-6 < found[2] < upper + 1e-6
