# SPDX-License-Identifier: Apache-2.0
"""S3: the map of passivity over delay and K_p, and what decides its claims."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from refused import refused

from ada_experiments import late_loop
from ada_experiments.late_loop import PassivityMap
from ada_tools.scenario.fields import ScenarioError
from ada_tools.scenario.reader import load

TWO = {
    "settings.stiffnesses": ["800 N m/rad", "1600 N m/rad"],
    "settings.dampings": ["4 N m s/rad", "5.5 N m s/rad"],
    "settings.delays": ["10 ms", "14 ms"],
    "settings.duration": "0.4 s",
}


@pytest.fixture(scope="module")
def found() -> PassivityMap:
    return late_loop.passivity_map(load("S3").with_changes(TWO), lambda share, what: None)


def test_energy_comes_in_beyond_the_bound_and_the_observer_sees_it(found: PassivityMap) -> None:
    assert found.delay == pytest.approx([0.027, 0.035], abs=5e-4)
    assert found.bound == pytest.approx([0.0366, 0.0273], rel=0.01)  # 1.224 √(m_e / k) of 30.92 kg, 34563 and 61983 N/m
    assert found.gain[0, 0] < 0.0
    assert found.made[0, 0] == 0.0
    assert found.gain[0, 1] == pytest.approx(found.given[0, 1], rel=0.05)  # one touch, and hardly a loss elsewhere
    for cell in ((0, 1), (1, 1)):
        assert found.made[cell] == pytest.approx(found.given[cell], rel=0.25)  # by the held energy, by ½ m_e v²
        assert found.given[cell] > 0.05


def test_claims_and_picture_are_of_the_map(found: PassivityMap, tmp_path: Path) -> None:
    claims = late_loop.claims_of(found)
    assert all(claim.holds for claim in claims[:2] + claims[3:])
    deaf = late_loop.claims_of(replace(found, made=np.zeros_like(found.made)))
    noisy = late_loop.claims_of(replace(found, given=np.zeros_like(found.given)))
    assert [claim.holds for claim in deaf[3:]] == [False, True]
    assert [claim.holds for claim in noisy[3:]] == [True, False]
    assert not late_loop.claims_of(replace(found, gain=np.abs(found.gain)))[0].holds
    late_loop.draw(found, tmp_path / "map.png")
    assert (tmp_path / "map.png").exists()
    assert late_loop.table_of(found).rows[1][-1].endswith("*")


def test_a_table_turns_active_where_its_gain_crosses_zero(found: PassivityMap) -> None:
    gain = np.array([[-0.1, 0.3], [-0.2, -0.1]])
    crossing = replace(found, gain=gain, delay=np.array([0.020, 0.028]))
    assert crossing.turns_active(0) == pytest.approx(0.022)
    assert crossing.turns_active(1) == np.inf
    assert replace(crossing, gain=-gain).turns_active(1) == 0.0


def test_delays_out_of_order_are_refused_by_key() -> None:
    scenario = load("S3").with_changes({"settings.delays": ["4 ms", "0 ms"]})
    with refused(ScenarioError, field="settings.delays"):
        late_loop.passivity_map(scenario, lambda share, what: None)
