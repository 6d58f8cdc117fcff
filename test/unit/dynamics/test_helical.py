# SPDX-License-Identifier: Apache-2.0
"""Screws: pinocchio's helical joints, closed forms of a nut on its spindle, and what a screw forbids."""

import numpy as np
import pytest
from pin_tree import PinTree, pin
from random_trees import random_tree

import ada_dynamics as ada
from ada_dynamics import Builder, Dynamics
from ada_dynamics.constraints.closed_configuration import closed_configuration
from ada_dynamics.constraints.constraint_set import ConstraintSet

RELATIVE = 1e-12  # some hundred products in double precision on both sides
g = 9.81


def chain(seed):
    """Helical joints among revolute ones, all axes oblique."""
    return random_tree(seed, ["helical", "revolute"] * 3 + ["helical"], is_serial=True, damping=0.0)


def near(found, expected, tolerance=RELATIVE):
    return np.max(np.abs(found - expected)) < tolerance * max(1.0, np.max(np.abs(expected)))


def test_derivatives_are_those_of_pinocchio():
    model = chain(2)
    theirs, rng = PinTree(model), np.random.default_rng(4)
    q, v = model.random_state(rng)
    a = rng.normal(size=model.nv)
    found = Dynamics(model).inverse_derivatives(q, v, a)
    dq, dv, da = pin.computeRNEADerivatives(theirs.model, theirs.data, theirs.position(q), v, a)
    da = np.triu(da) + np.triu(da, 1).T
    for ours, other in zip(found, (dq, dv, da), strict=True):
        assert near(ours, other, 1e-11)


PITCH = 0.01 / (2 * np.pi)  # [m/rad], 10 mm per turn


def spindle(kind="loop", **rates):
    """A spindle that turns, and a nut that slides on it upright: one motion, m h² + I felt by the spindle."""
    builder = Builder("spindle").link("frame").link("screw", 1.0, inertia=(0.01, 0.01, 2e-3)).link("nut", 3.0)
    if kind == "loop":
        builder.joint("turn", "revolute", "frame", "screw", axis=(0, 0, 1), **rates)
        builder.joint("slide", "prismatic", "frame", "nut", axis=(0, 0, 1))
        # the nut is turned backwards on the screw, and goes up with it
        builder.loop("thread", "screw", "screw", "nut", axis=(0, 0, 1), pitch=-PITCH)
        return builder.build()
    # the same motion with the screw held: the nut turns, and takes the spindle's inertia
    alone = Builder("nut").link("frame").link("nut", 3.0, inertia=(0.01, 0.01, 2e-3))
    return alone.joint("turn", "helical", "frame", "nut", axis=(0, 0, 1), pitch=PITCH, **rates).build()


@pytest.mark.parametrize("algorithm", ["aba", "ada", "dca", "crba", "lagrange"])
def test_a_nut_on_a_spindle_accelerates_as_its_closed_form_says(algorithm):
    model = spindle()
    for turns in (0.0, 0.3, 7.25, -3.0):
        angle = 2 * np.pi * turns
        q = np.array([angle, PITCH * angle])
        assert np.max(np.abs(ConstraintSet(model).violation(q))) < 1e-12
        v, tau = np.array([2.0, 2.0 * PITCH]), np.array([0.5, 0.0])
        a = Dynamics(model, algorithm, q0=q).forward(q, v, tau)
        alpha = (0.5 - 3.0 * g * PITCH) / (2e-3 + 3.0 * PITCH**2)
        np.testing.assert_allclose(a, [alpha, alpha * PITCH], rtol=1e-12)
    # a nut that turns itself has the same closed form
    assert Dynamics(spindle("tree"), algorithm).forward([40.0], [2.0], [0.5]) == pytest.approx(alpha, rel=1e-13)


def test_assembling_stays_on_the_turn_that_the_start_is_on():
    model = spindle()
    start = np.array([2 * np.pi * 5.1, 0.05])  # 5 threads up, where the angle says 5.1
    q = closed_configuration(model, start)
    assert q[1] == pytest.approx(PITCH * q[0], abs=1e-12)
    assert abs(q[0] - start[0]) < 0.7


@pytest.mark.parametrize("kind", ["loop", "tree"])
def test_simulating_a_screw_keeps_its_energy(kind):
    model = spindle(kind)
    q = np.zeros(model.nq)
    log = ada.Simulation(model, q, np.zeros(model.nv), step=1e-3).run(0.5)
    fallen = log.q[-1, 0] * PITCH
    alpha = -3.0 * g * PITCH / (2e-3 + 3.0 * PITCH**2)
    assert log.q[-1, 0] == pytest.approx(0.5 * alpha * 0.25, rel=1e-9)
    assert log.energy_drift < 1e-9
    if kind == "loop":
        assert log.q[-1, 1] == pytest.approx(fallen, abs=1e-12)
