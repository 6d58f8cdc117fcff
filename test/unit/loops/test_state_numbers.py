# SPDX-License-Identifier: Apache-2.0
"""States of loops, what joints and motors take part in, and which velocities tell a motion: on numbers by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ada_dynamics as ada
from ada_dynamics.errors import SingularPoseError
from ada_dynamics.loops import choices, overview, uniqueness, velocities
from ada_dynamics.loops.choices import Choices
from ada_dynamics.loops.state import loop_state
from ada_dynamics.loops.study import Study
from ada_dynamics.loops.velocities import Motions

Array = Any


def numbers_of(W: Array, J: Array | None = None, M: Array | None = None) -> Any:
    """Loops with these conditions in every pose."""
    J = W.T if J is None else J
    names = ["a", "b", "a", "b"][: len(J)]
    return SimpleNamespace(
        whitened=lambda q: W,
        jacobian=lambda q: J,
        gap=lambda q: np.arange(1.0, len(J) + 1.0) * q[0],
        mass_matrix=lambda q: np.eye(J.shape[1]) if M is None else M,
        weights=np.ones(len(J)),
        conditions=[(name, i, f"kind {i}") for i, name in enumerate(names)],
        model=SimpleNamespace(nv=J.shape[1], loop_names=["a", "b"]),
    )


@pytest.mark.parametrize("size", [0.01, 1.0, 100.0])
def test_a_pose_is_singular_under_a_ten_thousandth_of_the_largest_share(size: float) -> None:
    for share, lost in ((1.01e-4, 0), (0.99e-4, 1)):
        W = np.zeros((4, 3))
        W[:3] = size * np.diag([1.0, 0.5, share])
        study = Study(numbers_of(W), (), 3, (0, 1), (), (2,))
        found = loop_state(study, np.array([2.0]), np.array([1.0, 2.0, 3.0, 4.0]))
        assert found.sigma == pytest.approx(share) and found.is_singular == bool(lost)
        assert found.mobility == 1 + lost
        assert {k: x.tolist() for k, x in found.gap.items()} == {"a": [2.0, 6.0], "b": [4.0]}
        assert found.worst_gap == 6.0
        np.testing.assert_allclose(found.drift["a"], [size, 3.0 * share * size])
        np.testing.assert_allclose(found.drift["b"], [size])
    # no more than the rank counts, and without conditions nothing is singular
    assert loop_state(Study(numbers_of(np.eye(4, 3)), (), 2, (0, 1, 2), (), ()), np.zeros(1), None).mobility == 2
    free = loop_state(Study(numbers_of(np.zeros((4, 3))), (), 0, (), (0, 1, 2), ()), np.zeros(1), None)
    assert (free.sigma, free.mobility, free.is_singular) == (1.0, 4, False)
    assert not np.any(free.drift["a"])


# --- overview ---------------------------------------------------------------------------------------------------------
def test_joints_are_held_and_motions_resisted_but_for_rounding() -> None:
    model: Any = SimpleNamespace(joint_names=["one", "two"], v_index={"one": slice(0, 2), "two": slice(2, 3)}.get)
    for first, second, held in (
        ([0.99e-9, 0.5e-9, 1.0], [0.0, -0.99e-9, 0.0], ("one",)),
        ([0.99e-9, 0.0, 1.0], [0.0, -1.01e-9, 0.0], ()),
        ([1.0, 0.0, 0.0], [1.0, 0.0, 0.99e-9], ("two",)),
    ):
        assert overview._held(model, [np.array([first]).T, np.array([second]).T]) == held
    assert overview._held(model, [np.zeros((3, 0))]) == ("one", "two")
    for share, rank in ((1.01e-8, 2), (0.99e-8, 1)):
        assert overview._rank(np.diag([1.0, share])) == rank
    assert overview._rank(np.zeros((0, 3))) == 0
    for share, regular in ((1.01e-12, True), (0.99e-12, False), (-1.0, False)):
        for size in (1e-3, 1.0, 1e3):
            at = numbers_of(np.zeros((3, 1)), M=size * np.diag([1.0, share, 1.0]), J=np.array([[0.0, 0.0, 2.0]]))
            assert overview._is_regular(at, np.zeros(1), 1) == regular
    assert overview._is_regular(at, np.zeros(1), 3)
    assert not overview._is_regular(numbers_of(np.zeros((2, 1)), M=np.zeros((2, 2))), np.zeros(1), 0)


def test_motors_are_counted_by_the_motions_that_they_determine() -> None:
    names = ["root", "a", "b"]
    where = {name: slice(i, i + 1) for i, name in enumerate(names)}
    motions = [np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0]]), np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])]
    for actuated, velocities_, driven in ((["a"], 1, 1), (["a", "b"], 2, 2), (["root"], 1, 0), (names, 3, 2)):
        model: Any = SimpleNamespace(actuated=actuated, joint_names=names, v_index=where.get, nv=3)
        found = overview._motors(model, motions)
        assert (found.velocities, found.driven, found.mobility) == (velocities_, driven, 2)
        assert (found.surplus, found.missing) == (velocities_ - driven, 2 - driven)
        assert found.are_named == (actuated != names)


# --- velocities that tell a motion ------------------------------------------------------------------------------------
def chain(count: int = 3) -> ada.Model:
    builder, before = ada.Builder("chain").link("base"), "base"
    for i in range(count):
        kind = "spherical" if i == 1 else "revolute"
        builder.link(f"link_{i}", 1.0, inertia=(1, 1, 1)).joint(f"joint_{i}", kind, before, f"link_{i}")
        before = f"link_{i}"
    return builder.build()


def test_velocities_are_named_by_joint_and_component() -> None:
    at = Choices(chain(), None)
    assert [at.label(k) for k in range(5)] == ["joint_0", "joint_1[0]", "joint_1[1]", "joint_1[2]", "joint_2"]
    for place in (5, -1):
        with pytest.raises(IndexError):
            at.label(place)
    assert choices.velocities_of(at.model, ["joint_2", "joint_1[1]", "joint_0"]) == (4, 2, 0)
    assert choices.velocities_of(at.model, ["joint_1"]) == (1, 2, 3)
    for wrong in ("joint_1[3]", "joint_1[-1]", "joint_1[x]", "joint_0[1]", "nothing"):
        with pytest.raises(ada.InputError):
            choices.velocities_of(at.model, [wrong])
    names = [f"n{i}" for i in range(9)]
    assert choices._listed(names) == "n0, n1, n2, n3, n4, n5, n6, n7, ..."
    assert choices._listed(names[:8]) == "n0, n1, n2, n3, n4, n5, n6, n7" and choices._listed([]) == "none"
    motion = np.array([0.11, 0.0, -1.0, 0.0, 0.09])
    assert at._names(motion) == "joint_0, joint_1" and at._names(10.0 * motion) == "joint_0, joint_1"
    assert at.of("actuated") == (0, 1, 2, 3, 4) and at.of(["joint_0", "joint_1", "joint_2"]) == (0, 1, 2, 3, 4)


def test_sets_that_do_not_determine_the_motion_are_refused_with_what_is_missing_or_too_much() -> None:
    at = Choices(chain(), None)
    at.__dict__["samples"] = [np.array([[0.6, 0.0], [0.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.8, 0.0]])]
    at.mobility = 2
    assert at.refuse_missing((0, 2), "joints") == 0 and at.refuse_missing((0, 2, 4), "joints") == 1
    with pytest.raises(
        ada.InputError, match=r"the 1 velocities of the joints of model 'chain' \(joint_0\) do not"
    ) as e:
        at.refuse_missing((0,), "joints")
    assert "1 missing of 2. With them at rest, joint_1 can still move" in str(e.value)
    with pytest.raises(ada.InputError, match="1 missing of 2, and 1 too many, following from the others"):
        at.refuse_missing((0, 4), "joints")
    with pytest.raises(ada.InputError, match=r"1 too many for 2, following from the others"):
        at._refuse_unfit((0, 2, 4), "chosen joints")
    assert at._refuse_unfit((4, 2), "chosen joints") is None


@pytest.mark.parametrize(("sigma", "share", "words"), [(0.99e-4, 0.5, "hold"), (0.5, 0.99e-4, "with them at rest")])
def test_a_pose_in_which_velocities_do_not_tell_the_motion_is_refused(sigma: float, share: float, words: str) -> None:
    study: Any = SimpleNamespace(
        numbers=SimpleNamespace(length=1.0, conditions=[("a", 0, ""), ("b", 0, ""), ("c", 0, "")]),
        mobility=1,
        used=(0, 2),
        spare=(1,),
        rank=4,
        poses=(),
    )
    at = Choices(chain(), study)

    def found(sigma: float, share: float) -> Motions:
        V = np.eye(5)
        V[:, 4] = [share, 0.0, 0.0, 0.0, np.sqrt(1.0 - share * share)]
        return Motions(V, 4, np.array(sigma), np.array(0), np.array([0.11, -0.9, 0.09]))

    at.refuse_singular(found(1.01e-4, 1.01e-4), (0,), "state 3: ")
    assert not at.is_singular(found(1.01e-4, 1.01e-4), (0,)) and at.is_singular(found(sigma, share), (0,))
    with pytest.raises(SingularPoseError, match=words) as said:
        at.refuse_singular(found(sigma, share), (0,), "state 3: ")
    assert str(said.value).startswith("state 3: model 'chain' is in a ")
    named = "its loops (a, b) hold" if sigma < 1e-4 else "joint_2 can still move"
    assert named in str(said.value)


def test_units_of_velocities_are_lengths_for_slides() -> None:
    builder = ada.Builder("two").link("base").link("a", 1.0, inertia=(1, 1, 1)).link("b", 1.0, inertia=(1, 1, 1))
    builder.joint("turn", "revolute", "base", "a").joint("slide", "prismatic", "a", "b")
    assert velocities.velocity_units(builder.build(), 2.5).tolist() == [1.0, 2.5]
    assert velocities.units_of_rates(builder.build()) == ["rad", "m"]
    samples = [np.eye(3)[:, :2], np.diag([1.0, 0.99e-8, 0.0])[:, :2]]
    assert velocities.rank_of_some(samples, [0, 1]) == 2 and velocities.rank_of_some(samples[1:], [0, 1]) == 1
    assert velocities.rank_of_some(samples, [2]) == 0 and velocities.rank_of_some([], [0]) == 0


def test_components_are_unique_that_no_self_stress_reaches() -> None:
    """Two conditions that are the same one: a force on one against the other stays in the joints that it passes."""
    J = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    for reach, unique in ((0.99e-9, True), (1.01e-9, False)):
        model = SimpleNamespace(full_tree=SimpleNamespace(bodies=[SimpleNamespace(name="j")]), loop_names=["l"])
        asked: list[Array] = []

        def wrenches(q: Array, multipliers: Array, reach: float = reach, asked: list[Array] = asked) -> list[Any]:
            asked.append(multipliers)
            return [{"j": np.array([0.0, -2.0 * reach, 0.0, 0.0, 0.0, 0.0])}]

        numbers: Any = SimpleNamespace(
            jacobian=lambda q: J,
            weights=np.array([1.0, 2.0, 1.0]),
            wrenches=wrenches,
            moment_units=np.array([1.0, 2.0, 1.0, 1.0, 1.0, 1.0]),
            model=model,
        )
        found = uniqueness.at_pose(numbers, np.zeros(2), 2)
        assert found["j"].tolist() == [True, unique, *[True] * 4] and found["l"].all()
        (n,) = asked
        # (J/w)ᵀ n w = 0 in units of forces
        np.testing.assert_allclose((n * numbers.weights) @ (J / numbers.weights[:, None]), 0.0, atol=1e-15)
        assert np.linalg.norm(n * numbers.weights) == pytest.approx(1.0)
    both = uniqueness.common([{"j": np.array([True, True])}, {"j": np.array([True, False])}])
    assert both["j"].tolist() == [True, False]
