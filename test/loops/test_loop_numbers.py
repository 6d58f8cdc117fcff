# SPDX-License-Identifier: Apache-2.0
"""Gap and Jacobian of loops: the same in every way in which they are worked out, and those of differences."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ada_dynamics.loops import numbers as loop_numbers
from ada_dynamics.loops.numbers import LoopNumbers
from ada_dynamics.robots import mechanisms


@pytest.mark.parametrize("make", [mechanisms.four_bar, mechanisms.stewart, mechanisms.cassie_leg, mechanisms.two_feet])
@pytest.mark.parametrize("turned", [False, True])
def test_the_function_that_is_written_down_gives_what_the_algorithms_give(
    make: Callable[[], mechanisms.Mechanism], turned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, start = make()
    rng = np.random.default_rng(3)
    poses = [model.integrate(start, 0.3 * rng.normal(size=model.nv)) for _ in range(4)]
    plain = LoopNumbers(model, turned)
    by_algorithm = [(plain.gap(q), plain.jacobian(q)) for q in poses]
    assert "_gap_and_jacobian" not in vars(plain)
    monkeypatch.setattr(loop_numbers, "WRITTEN_AFTER", 0)
    written = LoopNumbers(model, turned)
    for q, (gap, J) in zip(poses, by_algorithm, strict=True):
        # the graph folds constants in another order: some roundings of numbers of size 1
        assert written.gap(q) == pytest.approx(gap, abs=1e-14)
        assert written.jacobian(q) == pytest.approx(J, abs=1e-14)
    assert "_gap_and_jacobian" in vars(written)


@pytest.mark.parametrize("make", [mechanisms.four_bar, mechanisms.stewart, mechanisms.bennett])
def test_velocities_across_loops_are_differences_of_the_gap_over_time(
    make: Callable[[], mechanisms.Mechanism],
) -> None:
    model, q = make()
    numbers = LoopNumbers(model)
    V = np.random.default_rng(5).normal(size=(3, model.nv))
    drifts, scales = numbers.drifts(np.tile(q, (3, 1)), V)
    h = 1e-6
    for v, drift in zip(V, drifts.T, strict=True):
        ahead, behind = (numbers.gaps(model.integrate(q, s * h * v))[:, 0] for s in (1.0, -1.0))
        # central differences: rounding 1e-16 / h, truncation h²
        assert drift == pytest.approx(np.abs(ahead - behind) / (2.0 * h), abs=1e-8)
    assert np.all(scales >= drifts - 1e-12)
