# SPDX-License-Identifier: Apache-2.0
"""Parts of the experiments T6.1 to T6.6 and R1; their simulations: test/nightly/scenarios."""

from __future__ import annotations

import numpy as np
import pytest

import ada_dynamics as ada
from ada_dynamics.simulation import Log
from ada_experiments.arm_in_null_space import momentum_of
from ada_experiments.pushed_humanoid import AT_THE_HAND


def test_impulse_of_a_push_is_the_integral_of_its_force() -> None:
    times = np.linspace(0.9, 1.2, 3001)
    force = [AT_THE_HAND.profile.at(t)[0] for t in times]
    assert np.sum(force) * (times[1] - times[0]) == pytest.approx(AT_THE_HAND.impulse, rel=1e-5)
    assert min(force) == pytest.approx(-7.0, rel=1e-5)


def test_momentum_of_links_adds_up_to_that_of_the_robot() -> None:
    builder = ada.Builder("pair").link("base").link("arm", 2.0, (0.5, 0, 0), np.diag([0.1, 0.2, 0.2]))
    model = builder.joint("turn", "continuous", "base", "arm", (0, 0, 0.3), axis=(0, 0, 1)).build()
    log: Log = ada.Simulation(model, np.zeros(1), np.ones(1), step=1e-3).run(0.1)
    assert momentum_of(log, "arm") == pytest.approx(np.linalg.norm(log.momentum[:, :3], axis=1), rel=1e-9)
