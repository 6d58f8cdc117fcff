# SPDX-License-Identifier: Apache-2.0
"""Least efforts of motors by elimination are those of a pseudo-inverse along the loops."""

from __future__ import annotations

import numpy as np
import pytest
from mechanism_oracle import Oracle, least_efforts

import ada_dynamics as ada
from ada_dynamics.dynamics import closed_efforts
from ada_dynamics.robots import mechanisms


@pytest.mark.parametrize(
    ("name", "by_all", "exact"),
    # softened conditions are left open by (e / (σ² + e))³
    [("five_bar", False, 1e-12), ("four_bar", False, 1e-12), ("bennett", True, 1e-6)],
)
def test_they_do_what_is_wanted_along_the_loops_with_the_least_effort(name: str, by_all: bool, exact: float) -> None:
    model, start = getattr(mechanisms, name)()
    dynamics, rng = ada.Dynamics(model, pose=start), np.random.default_rng(3)
    quantity = closed_efforts.inverse(dynamics.kernels.closed, False, by_all)
    assert quantity is not None and quantity.body is not None
    q, v = dynamics.project(start, 0.3 * rng.normal(size=model.nv))
    for _ in range(3):
        a = dynamics.forward(q, v, rng.normal(size=model.nv))
        expected = least_efforts(Oracle(model), q, v, a)
        found = quantity.body(q=q.tolist(), v=v.tolist(), a=a.tolist())
        tau = np.array(found.outputs["tau"], dtype=float)
        assert np.max(np.abs(tau - expected)) < exact * np.max(np.abs(expected))
        assert all(float(guard) >= 0.0 for guard in found.guards)


def test_guards_refuse_poses_in_which_the_loops_lose_rank_and_no_others() -> None:
    model, start = mechanisms.four_bar()
    quantity = closed_efforts.inverse(ada.Dynamics(model, pose=start).kernels.closed, False)
    assert quantity is not None and quantity.body is not None

    assert len(quantity.trace().guards) >= 5  # three velocities and two conditions

    def is_refused(lean: float) -> bool:
        q = [lean, np.pi / 2 - lean, np.pi / 2 + lean]
        return any(float(guard) < 0.0 for guard in quantity.body(q=q, v=[0.0] * 3, a=[0.0] * 3).guards)

    assert not any(map(is_refused, (0.4, 1.2, -0.7)))
    assert is_refused(np.pi / 2 - 1e-8)
