# SPDX-License-Identifier: Apache-2.0
"""Batches on several threads are the batch on one, bit for bit."""

import numpy as np
import pytest
from refused import refused

import ada_dynamics as ada
from ada_dynamics.errors import InputError
from ada_dynamics.robots.mechanisms import four_bar


def states(model, count):
    rng = np.random.default_rng(count)
    return rng.normal(size=(count, model.nq)), *(rng.normal(size=(count, model.nv)) for _ in range(2))


@pytest.mark.parametrize("count", [0, 1, 4097, 13000])
def test_any_number_of_threads_gives_the_same_bits(count):
    dynamics = ada.Dynamics(ada.load("pa10"))
    rows = states(dynamics.model, count)
    for threads in (1, 2, 7):
        np.testing.assert_array_equal(ada.in_threads(dynamics.forward, *rows, threads=threads), dynamics.forward(*rows))


@pytest.mark.filterwarnings("ignore::ada_dynamics.errors.BifurcationWarning")
def test_states_that_kernels_refuse_are_solved_on_their_threads():
    """Flat four-bars among regular ones: the fast kernel refuses them."""
    model, regular = four_bar(masses=(1.0, 2.0, 0.5), offset=0.0)
    q = np.tile(regular, (9000, 1))
    q[[5, 4200, 8999]] = [np.pi / 2, 0.0, np.pi]
    v = np.zeros_like(q)
    tau = np.random.default_rng(0).normal(size=q.shape)
    dyn = ada.Dynamics(model)
    np.testing.assert_array_equal(ada.in_threads(dyn.forward, q, v, tau, threads=4), dyn.forward(q, v, tau))


def test_what_is_no_batch_is_refused():
    dyn = ada.Dynamics(ada.planar_chain(2))
    with refused(InputError, value=((2,), (3, 2))):
        ada.in_threads(dyn.gravity, np.zeros(2), np.zeros((3, 2)), threads=2)
    with refused(InputError, field="threads", value=0):
        ada.in_threads(dyn.gravity, np.zeros((3, 2)), threads=0)


def test_what_gives_no_array_with_a_row_for_each_state_is_refused():
    dyn, q = ada.Dynamics(ada.planar_chain(2)), np.zeros((5000, 2))
    for function, rows, what in (
        (dyn.energy, (q, q), "Energy"),
        (lambda rows: rows[0], (q,), "an array of shape (2,)"),
    ):
        with refused(InputError, field="function", value=what):
            ada.in_threads(function, *rows, threads=2)
    np.testing.assert_array_equal(ada.in_threads(dyn.energies, q, q, threads=2), dyn.energies(q, q))
