# SPDX-License-Identifier: Apache-2.0
"""S2: settings of the hybrid motion simulation, its cases, and what decides its claims."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from refused import refused

from ada_experiments import hybrid_motion, hybrid_motion_claims
from ada_experiments.hybrid_motion_pictures import pictures_of, table_of
from ada_experiments.hybrid_motion_rig import Case, Rig, Settings, plate_takes
from ada_tools.scenario.fields import ScenarioError
from ada_tools.scenario.reader import load

STEP = 2e-3


@pytest.fixture(scope="module")
def chosen() -> Settings:
    return replace(hybrid_motion.read_settings(load("S2")), duration=0.34)


@pytest.fixture(scope="module")
def rig(chosen: Settings) -> Rig:
    return Rig(chosen)


@pytest.fixture(scope="module")
def case(rig: Rig) -> Case:
    return rig.case("K_p = 800 N m/rad", 2, heavy=False)


def test_the_touch_on_the_table_is_that_by_numbers(case: Case) -> None:
    peak, duration, impulse = hybrid_motion_claims.differences(case)
    assert max(peak, duration, impulse) < hybrid_motion_claims.ALIKE
    assert case.numeric.peak == pytest.approx(0.01 * np.sqrt(case.stiffness * case.numeric.mass), rel=0.05)


def test_stiffness_is_that_of_table_and_probe_in_a_row(case: Case, chosen: Settings) -> None:
    # S1: 39063 N/m of the table alone with K_p = 800 N m/rad
    assert case.stiffness == pytest.approx(1.0 / (1.0 / 39063.0 + 1.0 / chosen.probe_stiffness), rel=1e-4)


def test_delay_feeds_energy_in_and_compensation_does_not(case: Case) -> None:
    assert case.late.gain > 0.3  # exp(π ω T) - 1 = 1.2 for 7 ms, less what the touch's beginning takes
    assert case.hybrid.gain < 0.0


def test_what_is_lost_is_what_stops_the_plate(case: Case) -> None:
    assert plate_takes(case) == pytest.approx(2.0 * 1.436 / 30.92, rel=0.01)  # masses at the plate, of the touch
    assert case.hybrid.gain == pytest.approx(-plate_takes(case), abs=hybrid_motion_claims.PLATE)


def test_both_robots_keep_their_momentum(case: Case) -> None:
    linear, angular = hybrid_motion_claims.momentum_change(case.hybrid)
    assert linear < hybrid_motion_claims.CONSERVED
    assert angular < hybrid_motion_claims.SLIDES


def test_the_delay_is_that_of_the_loop_and_the_table_is_sent_nothing_that_it_must_not_be_sent(
    rig: Rig, case: Case
) -> None:
    assert case.hybrid.delays.delay_p50 == pytest.approx(3.5 * STEP, abs=hybrid_motion_claims.DELAY)
    assert rig.violations == 0


def test_claims_pictures_and_table_are_of_all_cases(case: Case, chosen: Settings, tmp_path) -> None:  # type: ignore[no-untyped-def]
    cases = [replace(case, name=name) for name in ("a", "b", "c", "d")]
    bad = [case.hybrid, case.late]
    claims = hybrid_motion_claims.claims_of(chosen, cases, bad, case.hybrid, case.hybrid, 0)
    assert len({claim.text for claim in claims}) == len(claims)
    by_text = {claim.text: claim for claim in claims}
    assert not by_text["peaks grow with the square root of K_p"].holds  # the same case four times
    assert by_text["linear momentum of both robots is kept: what is measured acts on both, oppositely"].holds
    assert len(table_of(cases).rows) == 4
    assert all(path.exists() for path in pictures_of(cases, bad, tmp_path))


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"settings.stiffnesses": ["400 N m/rad", "200 N m/rad"]}, "settings.stiffnesses"),
        ({"settings.dampings": ["2 N m s/rad"]}, "settings.dampings"),
        ({"settings.dampings": ["2 N m s/rad", "2 N m s/rad", "0 N m s/rad"]}, "settings.dampings"),
        ({"settings.approach": "0.01 m"}, "settings.approach"),
        ({"settings.sensor": "jr3"}, "settings.sensor"),
        ({"settings.network.loss": 0.7}, "settings.network.loss"),
        ({"settings.network.losses": 0.1}, "settings.network"),
        ({"settings.probe_stiffness": "-1 N/m"}, "settings.probe_stiffness"),
    ],
)
def test_wrong_settings_are_refused_by_key(change: dict[str, object], field: str) -> None:
    with refused(ScenarioError, field=field):
        hybrid_motion.read_settings(load("S2").with_changes(change))
