# SPDX-License-Identifier: Apache-2.0
"""What is told of loops, of linkages whose figures are known; mobility holds under roundings that a file can have."""

import zlib
from dataclasses import replace

import numpy as np
import pytest
from mechanism_oracle import Oracle

import ada_dynamics as ada
from ada_dynamics.constraints.analysis import analyse, constraint_state
from ada_dynamics.constraints.report import constraint_report
from ada_dynamics.model.edit import with_parts
from benchmarks.linkages.families import FAMILIES
from benchmarks.linkages.linkage import model_of
from trials.random_mechanism import random_mechanism

PLANAR = ["force along y", "moment about z", "moment about x"]


def linkage(*motors: str, pendulum: bool = False, base: str = "fixed") -> ada.Model:
    """Three rods of 1 m between two pivots 1 m apart; perhaps with a pendulum beside them."""
    builder = ada.Builder("linkage").link("base", 1.0, inertia=(1, 1, 1))
    parent = "base"
    for i in (1, 2, 3):
        builder.link(f"rod_{i}", 1.0, (0, 0, 0.5), (0.1, 0.1, 0.01))
        builder.joint(f"pin_{i}", "revolute", parent, f"rod_{i}", (0, 0, 1.0 if i > 1 else 0.0), axis=(0, 1, 0))
        parent = f"rod_{i}"
    if pendulum:
        builder.link("bob", 1.0, (0, 0, 0.5), (0.1, 0.1, 0.01)).joint("free", "revolute", "base", "bob", axis=(0, 1, 0))
    builder.loop("closing", "revolute", "rod_3", "base", (0, 0, 1), child_xyz=(1, 0, 0), axis=(0, 1, 0))
    return (builder.actuated(list(motors)) if motors else builder).build(base=base)


@pytest.mark.parametrize(
    ("motors", "pendulum", "figures"),
    [
        ((), False, (3, 1, 1, 2, 0)),
        (("pin_1",), False, (1, 1, 1, 0, 0)),
        (("pin_1", "pin_3"), True, (2, 1, 2, 1, 1)),
        (("free",), True, (1, 1, 2, 0, 1)),
        (("pin_2", "free"), True, (2, 2, 2, 0, 0)),
    ],
)
def test_motors_are_counted_beside_the_motions(motors, pendulum, figures) -> None:
    found = constraint_report(linkage(*motors, pendulum=pendulum)).motors
    assert (found.velocities, found.driven, found.mobility, found.surplus, found.missing) == figures
    assert found.are_named == bool(motors)
    assert found.joints == (motors or ("pin_1", "pin_2", "pin_3"))


def test_a_planar_linkage_is_told_as_it_is_on_paper() -> None:
    found = constraint_report(linkage())
    assert (found.analysis.trivial_names(), found.held, found.resists_all_motions) == ({"closing": PLANAR}, (), True)
    # upright, the three rods end 3 m above the ground and 1 m beside the pivot
    assert found.start_violation == {"closing": pytest.approx(3.0)}
    assert not found.start_is_closed
    assert found.moved == pytest.approx(float(np.abs(found.q).max()), rel=1e-15)
    ways = np.cumsum(found.q)
    assert np.sin(ways).sum() == pytest.approx(1.0) and np.cos(ways).sum() == pytest.approx(0.0, abs=1e-9)
    # in a plane, forces in it and the moment across it follow from the motion
    assert {name: flags.tolist() for name, flags in found.unique.items()} == {
        name: [True, False, True, False, True, False] for name in ("pin_1", "pin_2", "pin_3", "closing")
    }
    again = constraint_report(linkage(), found.q)
    assert again.start_is_closed and again.moved < 1e-9


def test_a_motion_that_moves_no_inertia_is_told() -> None:
    for arm, resists in ((0.5, True), (0.0, False)):
        model = linkage(pendulum=True)
        bob = replace(model.links["bob"], com=np.array([0.0, 0.0, arm]), inertia=np.zeros((3, 3)))
        assert constraint_report(with_parts(model, bob)).resists_all_motions == resists


@pytest.mark.parametrize("angle", [0.3, 1.0, 2.2, -0.8])
def test_the_state_of_a_rhombus_is_that_of_its_sine(angle: float) -> None:
    model = linkage()
    q = np.array([angle, np.pi / 2 - angle, np.pi / 2 + angle])
    at = analyse(model, q)
    v = np.array([1.0, -1.0, 1.0])
    found = constraint_state(at, q, v)
    assert found.largest_violation == pytest.approx(0.0, abs=1e-12) and found.mobility == 1 and not found.is_singular
    assert {name: len(x) for name, x in found.rate.items()} == {"closing": 5}
    assert max(np.abs(found.rate["closing"])) < 1e-12
    M = ada.Dynamics(model, q0=q).mass_matrix(q)
    # tips of the rods: where they go as the joints turn
    ends = np.cumsum(q)
    J = np.array([[sum(f(w) for w in ends[k:]) for k in range(3)] for f in (np.cos, lambda w: -np.sin(w))])
    s = np.sqrt(np.linalg.eigvalsh(J @ np.linalg.inv(M) @ J.T))
    assert found.sigma == pytest.approx(s[0] / s[1], rel=1e-9)
    speed = constraint_state(at, q, np.array([0.2, 0.0, 0.0])).rate["closing"]
    assert np.linalg.norm(speed) == pytest.approx(0.2 * np.hypot(*J[:, 0]))


# --- rank --------------------------------------------------------------------------------------------------------
DIGITS = [4, *(pytest.param(digits, marks=pytest.mark.fuzz) for digits in (None, 6, 9))]


@pytest.mark.parametrize("decimals", DIGITS)
@pytest.mark.parametrize(("family", "seed"), [*((family, ()) for family in FAMILIES), ("sarrus", (4,))])
def test_mobility_holds_under_rounding_in_any_frames_and_with_any_joint_cut(
    family: str, seed: tuple[int, ...], decimals: int | None
) -> None:
    rng = np.random.default_rng([*seed, zlib.crc32(family.encode())])
    linkage = FAMILIES[family](rng)
    cut = [int(rng.integers(len(linkage.pins)))] if len(linkage.loops) == 1 else None
    made = model_of(linkage, rng, cut, decimals)
    assert analyse(made.model, made.start).mobility == linkage.mobility


@pytest.mark.parametrize("rise", [0.3, 1e-2, 1e-3, 1e-4])
def test_a_truss_is_locked_however_flat_it_is(rise: float) -> None:
    builder = ada.Builder("truss").link("ground")
    for i, place in enumerate((0.0, 2.0 * np.sqrt(1.0 - rise**2))):
        builder.link(f"rod_{i}", 1.0, (0, 0, 0.5), (1 / 12, 1 / 12, 0.0))
        builder.joint(f"joint_{i}", "revolute", "ground", f"rod_{i}", (place, 0, 0), axis=(0, 1, 0))
    builder.loop("apex", "revolute", "rod_0", "rod_1", (0, 0, 1), child_xyz=(0, 0, 1), axis=(0, 1, 0))
    angle = np.arccos(rise)
    assert analyse(builder.build(), np.array([angle, -angle])).mobility == 0


def test_nearly_parallel_slides_with_all_their_digits_are_taken_at_their_word() -> None:
    model, q = random_mechanism(np.random.default_rng(0), spatial=False)
    assert analyse(model, q).mobility == Oracle(model).mobility(q) == 2


@pytest.mark.parametrize("tilt", [1.5e-3, 2e-3])
def test_slides_out_of_line_are_locked_where_rounding_and_truth_are_of_one_size(tilt: float) -> None:
    builder = ada.Builder("slides").link("ground")
    for i, axis in enumerate([(1, 0, 0), (1, 2e-3, 0), (1, 0, tilt)]):
        builder.link(f"slide_{i}", 1.0, inertia=(1, 1, 1))
        parent = f"slide_{i - 1}" if i else "ground"
        builder.joint(f"joint_{i}", "prismatic", parent, f"slide_{i}", (float(i > 0), 0, 0), axis=axis)
    builder.loop("tip", "spherical", "slide_2", "ground", child_xyz=(2, 0, 0))
    assert analyse(builder.build()).mobility == 0
