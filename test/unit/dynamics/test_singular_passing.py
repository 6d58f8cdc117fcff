# SPDX-License-Identifier: Apache-2.0
"""Going through singular poses keeps the branch and the energy, wherever the stages of an integrator land."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

import ada_dynamics as ada
from ada_dynamics.robots.mechanisms import four_bar

Array = NDArray[np.float64]

STEP = 1e-3  # [s]
# Runge-Kutta-Fehlberg, fifth order (Takahashi 2012, eqs. 5.1-5.3)
NODES = (0.0, 1 / 4, 3 / 8, 12 / 13, 1.0, 1 / 2)
WEIGHTS = (
    (),
    (1 / 4,),
    (3 / 32, 9 / 32),
    (1932 / 2197, -7200 / 2197, 7296 / 2197),
    (439 / 216, -8.0, 3680 / 513, -845 / 4104),
    (-8 / 27, 2.0, -3544 / 2565, 1859 / 4104, -11 / 40),
)
RESULT = (16 / 135, 0.0, 6656 / 12825, 28561 / 56430, -9 / 50, 2 / 55)

FLAT = np.array([np.pi / 2, 0.0, np.pi])  # crank and coupler along +x, the rocker back to its pivot
STRAIGHT = {
    "parallelogram": ((0.5, 1.0, 0.5, 1.0), (1.0, 2.0, 0.5), 0.07),
    "rhombus": ((1.0, 1.0, 1.0, 1.0), (1.0, 2.0, 0.5), 0.1),
}
CURVED = ((0.4, 0.9, 0.5, 1.0), (1.0, 2.0, 0.5), 0.05)
FLAT_CURVED = np.array([-np.pi / 2, np.pi, 0.0])  # crank along -x, coupler and rocker along +x
ALONG_STRAIGHT = np.array([1.0, -1.0, 1.0])


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ada.SingularConfigurationWarning)
        yield


def linkage(lengths: tuple[float, ...], masses: tuple[float, ...], offset: float) -> ada.Dynamics:
    return ada.Dynamics(four_bar(lengths, masses, offset=offset).model)


def passing(dyn: ada.Dynamics, q: Array, v: Array, steps: int = 40) -> tuple[float, Array]:
    """Largest change of energy as a share of the weight times 1 m, and the last pose."""
    tau = np.zeros(3)
    start = sum(dyn.energy(q, v))
    worst = 0.0
    for _ in range(steps):
        rates_q: list[Array] = []
        rates_v: list[Array] = []
        for row in WEIGHTS:
            at_q = q + STEP * sum((w * k for w, k in zip(row, rates_q, strict=True)), np.zeros(3))
            at_v = v + STEP * sum((w * k for w, k in zip(row, rates_v, strict=True)), np.zeros(3))
            rates_q.append(at_v)
            rates_v.append(dyn.forward(at_q, at_v, tau))
        q = q + STEP * sum((w * k for w, k in zip(RESULT, rates_q, strict=True)), np.zeros(3))
        v = v + STEP * sum((w * k for w, k in zip(RESULT, rates_v, strict=True)), np.zeros(3))
        q, v = dyn.project_to_constraints(q, v)
        worst = max(worst, abs(sum(dyn.energy(q, v)) - start))
    return worst / (9.81 * dyn.model.total_mass), q


@pytest.mark.parametrize("name", STRAIGHT)
@pytest.mark.parametrize("speed", [5.0, 0.05])
@pytest.mark.parametrize("off", [0.0, 1e-9, 1e-5])
def test_a_straight_branch_is_passed_with_the_energy_kept(name: str, speed: float, off: float) -> None:
    dyn = linkage(*STRAIGHT[name])
    for node in NODES if off == 0.0 else NODES[1:3]:
        q = FLAT + (off - speed * node * STEP) * ALONG_STRAIGHT
        change, end = passing(dyn, q, speed * ALONG_STRAIGHT, 12)
        assert change < 1e-8
        assert abs(np.sin(end[0] + end[1] - np.pi / 2)) < 1e-9  # the coupler stays level: this branch, not the other


@pytest.mark.parametrize("speed", [5.0, 0.5])
@pytest.mark.parametrize("way", [0, 1])
def test_curved_branches_are_passed_with_the_energy_kept(speed: float, way: int) -> None:
    dyn = linkage(*CURVED)
    with pytest.warns(ada.BifurcationWarning):
        dyn.forward(FLAT_CURVED, np.zeros(3), np.zeros(3))
    tangent = dyn.constraints.branch_directions(FLAT_CURVED)[way]
    for node in NODES:
        q, v = dyn.project_to_constraints(FLAT_CURVED - speed * node * STEP * tangent, speed * tangent)
        change, _ = passing(dyn, q, v, 12)
        assert change < 1e-8
