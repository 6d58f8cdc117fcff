# SPDX-License-Identifier: Apache-2.0
"""Going through singular poses keeps the branch and the energy, wherever the stages of an integrator land."""

import warnings
from collections.abc import Iterator

import numpy as np
import pytest
from mechanism_oracle import Oracle
from numpy.typing import NDArray

import ada_dynamics as ada
from ada_dynamics.robots.mechanisms import four_bar
from ada_experiments.singular_jumps import LEG, Passage, passages

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
        warnings.simplefilter("ignore", ada.DistantClosureWarning)
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


@pytest.fixture(scope="module")
def feet() -> Passage:
    return passages()["two feet"]


class MirroredLegs:
    """The same motion of both legs, with one foot on the ground and equal joints: nine constraints, never singular."""

    def __init__(self, model: ada.Model) -> None:
        self.model, self.oracle = model, Oracle(model)
        self.sides = [[model.v_index(f"{side}_{joint}").start for joint in LEG] for side in ("right", "left")]

    def jacobian(self, q: Array) -> Array:
        equal = np.eye(self.model.nv)
        return np.vstack([self.oracle.jacobian(q)[:6], equal[self.sides[0]] - equal[self.sides[1]]])

    def state(self, knee: float) -> tuple[Array, Array]:
        angles = {f"{side}_{joint}": -0.5 * knee for side in ("right", "left") for joint in LEG}
        angles |= {"right_knee": knee, "left_knee": knee}
        q = np.array(ada.close_loops(self.model, angles, hold=list(angles)))
        rates = np.vstack([self.jacobian(q), np.eye(self.model.nv)[self.sides[0]]])
        return q, np.linalg.solve(rates, [*np.zeros(9), 1.0, -3.0, 1.3])

    def forward(self, q: Array, v: Array, tau: Array) -> Array:
        M, J = self.oracle.tree.mass_matrix(q), self.jacobian(q)
        right = np.concatenate([tau - self.oracle.tree.bias(q, v), -self.oracle.gamma(q, v)[:6], np.zeros(3)])
        return np.linalg.solve(np.block([[M, J.T], [J, np.zeros((9, 9))]]), right)[: self.model.nv]


@pytest.mark.parametrize("solver", ["auto", "robust", "rank-revealing"])
def test_straight_legs_move_as_two_equal_legs(feet: Passage, solver: str) -> None:
    legs, dyn = MirroredLegs(feet.model), ada.Dynamics(feet.model, q0=feet.q, solver=solver)
    tau = np.random.default_rng(1).normal(size=feet.model.nv)
    for knee in (0.06, 1e-2, 1e-3, 3e-4, 1e-4, 1e-5, 1e-7, 1e-9, 0.0):  # [rad]: straight legs are singular
        q, v = legs.state(knee)
        for speed in (1.0, 0.0) if knee >= 1e-5 else (1.0,):  # at rest with straight legs no motion is determined
            wanted = legs.forward(q, speed * v, tau)
            np.testing.assert_allclose(dyn.forward(q, speed * v, tau), wanted, atol=1e-9 * np.abs(wanted).max())
    with pytest.warns(ada.BifurcationWarning):
        dyn.forward(q, 0.0 * v, tau)


def test_straight_legs_are_passed_alike_by_short_and_long_steps(feet: Passage) -> None:
    logs = [ada.Simulation(feet.model, feet.q, feet.v, integrator="rk4", step=h, stops=None) for h in (1e-3, 1e-4)]
    long, short = (simulation.run(feet.until) for simulation in logs)
    np.testing.assert_allclose(long.v[-1], short.v[-1], atol=1e-9)
    assert len(long.singular) == len(short.singular) == 1
    assert max(long.energy_drift, short.energy_drift) < 1e-10
