# SPDX-License-Identifier: Apache-2.0
"""Going through singular poses keeps the branch and the energy, wherever the stages of an integrator land."""

import warnings
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

import ada_dynamics as ada
from ada_dynamics.robots.mechanisms import four_bar

Array = NDArray[np.float64]

STEP = 1e-3  # [s]
NODES = (0.0, 1 / 4, 3 / 8, 12 / 13, 1.0, 1 / 2)  # of the stages of rkf45 (Takahashi 2012, eqs. 5.1-5.3)

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


def passing(dynamics: ada.Dynamics, q: Array, v: Array, steps: int = 12) -> tuple[float, Array]:
    """Largest change of energy relative to the weight times 1 m, and the last configuration."""
    log = ada.Simulation(dynamics.model, q, v, integrator="rkf45", step=STEP).run(steps * STEP)
    change = np.max(np.abs(log.total_energy - log.total_energy[0]))
    return float(change) / (9.81 * dynamics.model.total_mass), log.q[-1]


@pytest.mark.parametrize("name", STRAIGHT)
@pytest.mark.parametrize("speed", [5.0, 0.05])
@pytest.mark.parametrize("off", [0.0, 1e-9, 1e-5])
def test_a_straight_branch_is_passed_with_the_energy_kept(name: str, speed: float, off: float) -> None:
    dyn = linkage(*STRAIGHT[name])
    for node in NODES if off == 0.0 else NODES[1:3]:
        q = FLAT + (off - speed * node * STEP) * ALONG_STRAIGHT
        change, end = passing(dyn, q, speed * ALONG_STRAIGHT)
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
        change, _ = passing(dyn, q, v)
        assert change < 1e-8
