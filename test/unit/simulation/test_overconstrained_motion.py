# SPDX-License-Identifier: Apache-2.0
"""Linkages that move although counting says that they cannot, against a judge that shares no code with the library."""

import functools
import warnings
import zlib

import numpy as np
import pytest
from tiers import nightly

import ada_dynamics as ada
from benchmarks.linkages.families import FAMILIES
from benchmarks.linkages.judge import Judge
from benchmarks.linkages.linkage import Long, Modelled, model_of
from benchmarks.linkages.trials import INTERVAL, STEP, Trial, groups, largest, trials

SECONDS = 0.25
TIMES = 10.0  # worse than the same method on independent coordinates
EPS = np.finfo(float).eps


@functools.cache
def tried(families: tuple[str, ...], count: int, seed: int) -> list[Trial]:
    """Trials of families that the judge takes together."""
    return trials(families, count, SECONDS, seed)


def of_family(family: str, count: int = 1, seed: int = 0) -> list[Trial]:
    (together,) = [tuple(group) for group in groups() if family in group]
    return [trial for trial in tried(together, count, seed) if trial.family == family]


def modelled(trial: Trial, index: int, **options: int) -> Modelled:
    """With random frames; in single loops a random joint closes the loop."""
    rng = np.random.default_rng([index, zlib.crc32(trial.family.encode())])
    pins = len(trial.linkage.pins)
    cut = [int(rng.integers(pins))] if len(trial.linkage.loops) == 1 else None
    return model_of(trial.linkage, rng, cut, **options)


GATE = ("bennett", "planar_four_bar")  # a spatial and a planar one that the judge takes together
EACH = [family if family in GATE else nightly(family) for family in FAMILIES]
MORE = [pytest.param(5, seed, marks=pytest.mark.soak, id=f"more_{seed}") for seed in (1, 2, 3)]


@pytest.mark.parametrize(("count", "seed"), [pytest.param(1, 0, id="one"), *MORE])
@pytest.mark.parametrize("family", EACH)
def test_a_simulation_is_as_right_as_the_same_method_on_independent_coordinates(
    family: str, count: int, seed: int
) -> None:
    found, wrong = [], False
    for index, trial in enumerate(of_family(family, count, seed)):
        made, truth = modelled(trial, index), trial.truth
        log = ada.Simulation(made.model, made.q(truth.angles[0]), made.v(truth.rates[0])).run(SECONDS)
        every = round(INTERVAL / STEP)
        error = largest(log.v[::every] - made.v(truth.rates))
        drift = largest(log.total_energy - log.total_energy[0])
        rounding = SECONDS / STEP * EPS / float(truth.regular.min())
        wrong |= not error < TIMES * trial.error + rounding * trial.speed
        wrong |= not drift < TIMES * trial.drift + rounding * largest(truth.energy)
        found.append(
            f"error {error:.1e} against {trial.error:.1e} rad/s, drift {drift:.1e} against {trial.drift:.1e} J"
        )
    assert not wrong, f"{family}: " + "; ".join(found)


@pytest.mark.parametrize("family", EACH)
def test_accelerations_in_closed_poses_are_those_of_the_independent_coordinates(family: str) -> None:
    for index, trial in enumerate(of_family(family)):
        made = modelled(trial, index)
        dyn, judge = ada.Dynamics(made.model), Judge([trial.linkage])
        rng = np.random.default_rng(index)
        for k in (0, 6, 12):
            angles, rates = trial.truth.angles[k], trial.truth.rates[k]
            # Efforts of the pins that are in both trees: the two may cut the loop at different ones.
            tau = np.where(np.isin(np.arange(len(angles)), made.pins), rng.normal(size=len(angles)), 0.0)
            tau[judge.n :] = 0.0
            wanted = accelerations(judge, angles, rates, tau[: judge.n])
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                got = dyn.forward(made.q(angles), made.v(rates), made.v(tau))
            assert largest(got - made.v(wanted)) < closely(trial, wanted)
            assert dyn.constraints.state(made.q(angles)).mobility == trial.linkage.mobility


@pytest.mark.parametrize("family", EACH)
def test_efforts_of_inverse_dynamics_do_the_power_that_the_motion_needs(family: str) -> None:
    for index, trial in enumerate(of_family(family)):
        made = modelled(trial, index)
        dyn, judge = ada.Dynamics(made.model), Judge([trial.linkage])
        rng = np.random.default_rng(index)
        for k in (0, 12):
            angles, rates = trial.truth.angles[k], trial.truth.rates[k]
            a = accelerations(judge, angles, rates, 3.0 * rng.normal(size=judge.n))
            q, v = angles[None, : judge.n], rates[None, : judge.n]
            M, h = judge.mass_matrix_and_bias(q, v)
            T, _ = judge.tangent(judge.residual(judge.place(q))[1], judge.charts(q))
            needed = (M[0] @ a[: judge.n] + h[0]) @ T[0]
            motions = [made.v(judge.all_rates(q, motion[None])[0]) for motion in T[0].T]
            tau = dyn.inverse(made.q(angles), made.v(rates), made.v(a))
            size = largest(M) * largest(a) + largest(h)
            off = max(abs(float(tau @ motion - wanted)) for motion, wanted in zip(motions, needed, strict=True))
            assert off < 100 * EPS * size / float(trial.truth.regular.min()) ** 2
            back = dyn.forward(made.q(angles), made.v(rates), tau)
            assert largest(back - made.v(a)) < 10 * closely(trial, a)  # twice, and efforts are larger than needed


@pytest.mark.parametrize("gap", [1e-6, pytest.param(1e-9, marks=pytest.mark.fuzz)])
@pytest.mark.parametrize("family", EACH)
@pytest.mark.parametrize("is_in_file", [False, True])
def test_states_and_geometry_of_so_many_decimals_have_the_accelerations_of_closed_poses_nearby(
    family: str, gap: float, is_in_file: bool
) -> None:
    found = []
    for index, trial in enumerate(of_family(family)):
        made = modelled(trial, index, **({"decimals": round(-np.log10(gap))} if is_in_file else {}))
        dyn, judge, rng = ada.Dynamics(made.model), Judge([trial.linkage]), np.random.default_rng(index)
        for k in (0, 12):
            wanted = accelerations(judge, trial.truth.angles[k], trial.truth.rates[k])
            q, v = made.q(trial.truth.angles[k]), made.v(trial.truth.rates[k])
            if not is_in_file:
                q, v = q + gap * rng.uniform(-1, 1, len(q)), v * (1.0 + gap * rng.uniform(-1, 1, len(v)))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that the loops are open
                got = dyn.forward(q, v, np.zeros(len(q)))
                assert not is_in_file or dyn.constraints.state(q).mobility == trial.linkage.mobility
            found.append((largest(got - made.v(wanted)), off_by(trial, k, gap, wanted)))
    assert all(error < limit for error, limit in found), f"{family}, errors and their limits: {found}"


def closely(trial: Trial, acceleration: np.ndarray) -> float:
    """A few hundred roundings, and the condition of the solves: once for the loops, once for the masses."""
    size = largest(acceleration) + trial.speed**2
    return 100 * EPS * size / float(trial.truth.regular.min()) ** 2


def accelerations(judge: Judge, angles: np.ndarray, rates: np.ndarray, tau: np.ndarray | None = None) -> np.ndarray:
    """Those of all pins, in one closed pose; `tau` of the judge's own tree."""
    q, v = (np.asarray(x[: judge.n], dtype=Long)[None] for x in (angles, rates))
    charts = judge.charts(q)
    _, at, J = judge.close(q, charts)
    motion = judge.move(at, J, np.take_along_axis(v, charts.free, 1), charts, tau)
    return np.asarray(judge.all_accelerations(at, motion)[0])


def off_by(trial: Trial, k: int, gap: float, acceleration: np.ndarray) -> float:
    """What a gap does to accelerations: of its size in all coefficients, beside the loops' smallest singular value."""
    size = largest(acceleration) + trial.speed**2
    return TIMES * gap * size / float(trial.truth.regular[k])


@pytest.mark.parametrize("family", ["spherical_4", "bennett", "sarrus"])
def test_a_linkage_that_six_decimals_keep_from_closing_moves_without_a_complaint(family: str) -> None:
    rng = np.random.default_rng(4)
    made = model_of(FAMILIES[family](rng), rng, decimals=6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        log = ada.Simulation(made.model, ada.close_loops(made.model, made.start)).run(0.5)
    assert 1e-9 < log.loop_gap.max() < 1e-5
    assert log.energy_drift < 1e-4
