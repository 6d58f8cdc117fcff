# SPDX-License-Identifier: Apache-2.0
"""`assemble` closes loops from rough poses, says what it found, and refuses with the reason where it cannot."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from loop_cases import random_case
from mechanism_oracle import Oracle

import ada_dynamics as ada
from ada_dynamics.loops.assemble import AssembledPose
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
    model, q = getattr(mechanisms, name)()
    guess = model.integrate(q, 0.2 * np.random.default_rng(1).normal(size=model.nv))
    found = ada.assemble(model, guess)
    assert np.max(np.abs(Oracle(model).gap(found))) < 1e-11
    assert found.residual < 1e-11
    assert found.mobility == Oracle(model).mobility(np.asarray(q))
    assert f"mobility {found.mobility}" in found.report()


def test_an_assembled_pose_is_an_array_like_any_other() -> None:
    model, q = mechanisms.four_bar()
    found = ada.assemble(model, q)
    assert isinstance(found, np.ndarray)
    zero = np.zeros(3)
    dynamics = ada.Dynamics(model)
    assert np.array_equal(dynamics.forward(found, zero, zero), dynamics.forward(np.array(found), zero, zero))


@pytest.mark.parametrize(
    "again",
    [copy.copy, copy.deepcopy, lambda q: q.copy(), lambda q: pickle.loads(pickle.dumps(q)), lambda q: q.copy()[:]],
)
def test_a_copy_of_an_assembled_pose_says_the_same(again: Callable[[AssembledPose], Any]) -> None:
    found = ada.assemble(mechanisms.four_bar().model)
    other = again(found)
    assert (other.report(), other.moved, other.mobility) == (found.report(), found.moved, found.mobility)
    assert "closed to" in other.report() and not np.shares_memory(other, found)


@pytest.mark.parametrize("guess", [None, "closed"])
def test_a_pose_that_was_changed_says_what_it_is_now(guess: str | None) -> None:
    model, closed = mechanisms.four_bar()
    found = ada.assemble(model, None if guess is None else closed)
    before, residual = found.moved, found.residual
    found += 3.0
    assert residual < 1e-12 < 0.1 < found.residual == np.max(np.abs(found.gaps["closing"]))
    assert found.moved != before and found.report().startswith(f"open by {found.residual:.3g}, {found.moved:.3g} from")
    found[:] = [np.pi / 2, 0.0, np.pi]
    assert found.is_singular and "mobility 1, 2 in this pose, which is singular" in found.report()


def test_a_part_of_a_pose_says_that_it_is_one_and_what_is_computed_of_it_is_plain() -> None:
    found = ada.assemble(mechanisms.four_bar().model)
    assert {type(x) for x in (found + 0.0, np.sin(found), np.eye(3) @ found)} == {np.ndarray}
    assert type(found.sum()) is np.float64
    for ask in ("report", "moved", "gaps", "mobility", "redundant"):
        with pytest.raises(ada.InputError) as caught:
            getattr(found[1:], ask)()
        assert caught.value.field == "pose"


def test_held_joints_stay_and_the_others_follow() -> None:
    model, q = mechanisms.four_bar()
    guess = q.copy()
    guess[0] += 0.3
    found = ada.assemble(model, guess, hold=["joint_1"])
    assert found[0] == guess[0]
    assert found.residual < 1e-12
    assert np.array_equal(found, ada.assemble(model, guess, hold="joint_1")), "one name is one joint"


def test_a_planar_four_bar_in_space_has_one_motion_and_three_redundant_conditions() -> None:
    model, q = mechanisms.four_bar()
    found = ada.assemble(model, q)
    assert found.mobility == 1
    assert "force along y, moment about z, moment about x" in "".join(found.redundant)


def test_mobility_is_found_by_rank_where_formulas_fail() -> None:
    model, q = mechanisms.bennett()  # Grübler's formula gives 4 joints - 6 = -2
    found = ada.assemble(model, q)
    assert found.mobility == 1
    assert "3 of the conditions that act follow from the others" in "".join(found.redundant)


def test_a_singular_pose_is_named() -> None:
    model, _ = mechanisms.four_bar()
    flat = ada.assemble(model, [np.pi / 2, 0.0, np.pi])
    assert flat.is_singular
    assert flat.mobility_here == 2
    assert "singular" in flat.report()


def test_loops_that_cannot_close_are_named_with_what_is_missing() -> None:
    with pytest.raises(ada.ModelError) as caught:
        ada.assemble(two_rods(0.4))
    assert (caught.value.loop, caught.value.field, caught.value.value) == ("pin", "guess", {"pin": "0.2 m"})


def test_loops_that_cannot_close_with_held_joints_say_so() -> None:
    with pytest.raises(ada.ModelError) as caught:
        ada.assemble(two_rods(1.0), [0.3, 0.9], hold=["joint_0", "joint_1"])
    assert (caught.value.loop, caught.value.field) == ("pin", "hold")


def test_a_loop_that_only_closes_the_wrong_way_round_is_refused() -> None:
    builder = ada.Builder("opposite").link("ground").link("rod", 1.0, (0, 0, 0.5), (1, 1, 1))
    builder.joint("joint", "revolute", "ground", "rod", axis=(0, 1, 0))
    builder.loop("pin", "revolute", "rod", "ground", child_rpy=(np.pi, 0, 0), axis=(0, 1, 0))
    with pytest.raises(ada.ModelError) as caught:
        ada.assemble(builder.build())
    assert (caught.value.loop, caught.value.field) == ("pin", "axis")


def test_a_loop_between_links_that_are_fixed_to_each_other_is_refused() -> None:
    builder = ada.Builder("rigid").link("ground").link("rod", 1.0, (0, 0, 0.5), (1, 1, 1)).link("tip")
    builder.joint("joint", "revolute", "ground", "rod", axis=(0, 1, 0)).joint("weld", "fixed", "rod", "tip")
    builder.loop("pin", "spherical", "rod", "tip", child_xyz=(0, 0.2, 0))
    with pytest.raises(ada.ModelError) as caught:
        ada.assemble(builder.build())
    assert (caught.value.loop, caught.value.link, caught.value.value) == ("pin", "rod", pytest.approx(0.2))


@pytest.mark.parametrize(
    ("guess", "hold", "field", "joint"),
    [([0.0, np.nan, 0.0], (), "guess", None), ([0.0, 0.0, 0.0], ("joint_9",), "joint", "joint_9")],
)
def test_unusable_arguments_are_named(guess: list[float], hold: tuple[str, ...], field: str, joint: str | None) -> None:
    with pytest.raises(ada.InputError) as caught:
        ada.assemble(mechanisms.four_bar().model, guess, hold)
    assert (caught.value.field, caught.value.joint) == (field, joint)


@pytest.mark.parametrize("seed", range(10))
def test_random_mechanisms_close_from_a_disturbed_configuration(seed: int) -> None:
    case, rng = random_case(seed, loops=1 + seed % 2), np.random.default_rng(seed)
    found = ada.assemble(case.model, case.model.integrate(case.q, 0.1 * rng.normal(size=case.model.nv)))
    assert case.oracle.gap(found) < 1e-11
    assert found.mobility == case.oracle.mobility(np.asarray(found))


def test_rods_that_do_not_reach_are_reported_with_the_gap_that_is_left() -> None:
    for reach in (0.1, 0.3, 0.49):
        with pytest.raises(ada.ModelError) as caught:
            ada.assemble(two_rods(reach), [0.3, 0.2])
        assert float(caught.value.value["pin"].removesuffix(" m")) == pytest.approx(1.0 - 2.0 * reach, rel=2e-3)
