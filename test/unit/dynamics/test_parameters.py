# SPDX-License-Identifier: Apache-2.0
"""Efforts and accelerations as they depend on masses, losses, rotors and springs."""

import numpy as np
import pytest
from loop_robots import mechanism
from mechanism_oracle import Oracle
from numpy.typing import NDArray

import ada_dynamics as ada
from ada_dynamics.robots import mechanisms
from ada_experiments.pinocchio_model import PinocchioModel

Array = NDArray[np.float64]
# Where pinocchio has our inertial parameters of a body.
PINOCCHIO = ("mass", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")


def state(model: ada.Model, seed: int = 0) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    q = model.integrate(model.neutral(), 0.4 * rng.normal(size=model.nv))
    return q, rng.normal(size=model.nv), rng.normal(size=model.nv)


FREE_WITH_ROTOR = """<mujoco><worldbody><body><joint type="free" armature="0.7"/>
<geom type="box" size="0.1 0.2 0.3" pos="0.1 0 0"/></body></worldbody></mujoco>"""


@pytest.mark.parametrize(
    ("name", "base"),
    [("planar_3r", "floating"), (FREE_WITH_ROTOR, None), pytest.param("khr1", "fixed", marks=pytest.mark.fuzz)],
)
def test_efforts_are_the_regressor_times_the_parameters(name: str, base: str | None) -> None:
    model = ada.load(name, base=base)
    dynamics = ada.Dynamics(model)
    q, v, a = state(model)
    efforts = dynamics.inverse(q, v, a)
    values = np.array(list(dynamics.parameters.values()))
    assert np.max(np.abs(dynamics.regressor(q, v, a) @ values - efforts)) < 1e-13 * np.max(np.abs(efforts))


def test_columns_of_bodies_are_pinocchios() -> None:
    model = ada.load("pa10")
    other = PinocchioModel(model)
    theirs = other.model
    q, v, a = state(model)
    expected = other.pin.computeJointTorqueRegressor(theirs, theirs.createData(), q, v, a)
    dynamics = ada.Dynamics(model)
    names = list(dynamics.parameters)
    found = dynamics.regressor(q, v, a)
    for i, joint in enumerate(list(theirs.names)[1:]):
        link = model.joints[joint.split(".")[0]].child
        for k, parameter in enumerate(PINOCCHIO):
            mine = found[:, names.index(f"{link}.{parameter}")]
            assert np.allclose(mine, expected[:, 10 * i + k], rtol=0.0, atol=1e-12 * np.max(np.abs(expected)))


@pytest.mark.parametrize(
    "name", ["five_bar", *(pytest.param(name, marks=pytest.mark.fuzz) for name in ("delta", "stewart"))]
)
def test_forces_of_the_loops_are_projected_out(name: str) -> None:
    model, q = mechanism(name)
    dynamics, rng = ada.Dynamics(model), np.random.default_rng(1)
    v = np.asarray(Oracle(model).admissible(q, rng.normal(size=model.nv)), dtype=np.float64)
    tau = rng.normal(size=model.nv)
    Y = dynamics.regressor(q, v, dynamics.forward(q, v, tau), coordinates="actuated")
    wanted = dynamics.constraints.tangent_map(q, "actuated").T @ tau
    found = Y @ np.array(list(dynamics.parameters.values()))
    assert np.max(np.abs(found - wanted)) < 1e-10 * np.max(np.abs(Y))


def test_accelerations_change_with_a_parameter_as_another_robot_has_them() -> None:
    step = 1e-4
    masses = (1.0, 1.0, 1.0)
    (model, q), (more, _), (less, _) = (
        mechanisms.four_bar(masses=(masses[0], masses[1] + d, masses[2])) for d in (0.0, step, -step)
    )
    v = np.array([1.0, -1.0, 1.0])
    tau = np.array([0.3, 0.0, 0.0])
    dynamics = ada.Dynamics(model)
    found, names = dynamics.parameters.derivatives(q, v, tau), list(dynamics.parameters)
    # a thin rod of length 1 from its joint: first moment m / 2, inertia m / 3 about the joint
    of_mass = {"mass": 1.0, "mz": 0.5, "Ixx": 1 / 3, "Iyy": 1 / 3}
    column = sum(found[:, names.index(f"link_2.{name}")] * share for name, share in of_mass.items())
    wanted = (ada.Dynamics(more).forward(q, v, tau) - ada.Dynamics(less).forward(q, v, tau)) / (2 * step)
    assert np.max(np.abs(column - wanted)) < 1e-8
