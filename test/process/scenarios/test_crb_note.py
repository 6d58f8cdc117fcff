# SPDX-License-Identifier: Apache-2.0
"""C1: three ways to the inertia matrix."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import ada_dynamics as ada
from ada_experiments import crb_note
from ada_experiments.crb_note import METHODS, Costs
from ada_tools.scenario.registry import Quantity


@pytest.fixture(scope="module")
def arm() -> Costs:
    return crb_note.costs_of(ada.load("pa10"), rounds=5)


def test_error_is_that_of_the_matrices() -> None:
    """A planar arm by hand: the methods agree with Σ m J_Gᵀ J_G + J_Aᵀ I J_A of two rods."""
    model = ada.planar_chain(2)
    q = np.array([0.3, 0.8])
    c = np.cos(q[1])
    # Rods of 1 m and 1 kg: I = 1/12 about the middle, so 1/3 about the end.
    wanted = np.array([[5.0 / 3.0 + c, 1.0 / 3.0 + c / 2.0], [1.0 / 3.0 + c / 2.0, 1.0 / 3.0]])
    for method in METHODS:
        assert np.allclose(ada.Dynamics(model).mass_matrix(q, method=method), wanted, atol=1e-14)


def test_claims_fail_where_matrices_differ_or_composites_need_more_operations(arm: Costs) -> None:
    assert all(claim.holds for claim in crb_note.claims_of([arm]))
    wrong = replace(arm, error=1e-6)
    many = replace(arm, operations={**arm.operations, "unit_vector": arm.operations["crba"] - 1})
    for bad in (wrong, many):
        assert not all(claim.holds for claim in crb_note.claims_of([bad]))


def test_times_are_quantities_with_a_spread_and_no_claims(arm: Costs) -> None:
    slow = replace(arm, ratios=dict.fromkeys(METHODS, 0.9), spreads=dict.fromkeys(METHODS, (0.5, 1.4)))
    assert all(claim.holds for claim in crb_note.claims_of([slow]))
    found = crb_note.quantities_of([slow, arm])
    assert found["least_time_ratio"] == Quantity(0.9, spread=(0.5, 1.4))
    assert found["largest_time_ratio"].value == max(arm.ratios.values())


def test_without_a_compiler_there_are_no_timings(arm: Costs) -> None:
    found = crb_note.quantities_of([replace(arm, seconds={}, ratios={}, spreads={})])
    assert all(math.isnan(quantity.value) for quantity in found.values())
