# SPDX-License-Identifier: Apache-2.0
"""Mobility holds under any rounding that a file can have, and what is locked or nearly singular is not misjudged."""

import zlib

import numpy as np
import pytest
from mechanism_oracle import Oracle

import ada_dynamics as ada
from ada_dynamics.constraints.analysis import analyse
from benchmarks.linkages.families import FAMILIES
from benchmarks.linkages.linkage import model_of
from trials.random_mechanism import random_mechanism

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
