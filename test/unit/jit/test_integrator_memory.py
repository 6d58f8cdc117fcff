# SPDX-License-Identifier: Apache-2.0
"""Compiled marches around kernels of Python: what these are handed never overlaps; linear systems move as on paper."""

import ctypes
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.linalg import expm

from ada_dynamics.jit import integrator
from ada_dynamics.jit.fallback import reason_for_fallback
from ada_dynamics.jit.integrator import IntegratorState, compiled_integrators
from ada_dynamics.simulation.methods import METHODS

pytestmark = pytest.mark.skipif(reason_for_fallback() is not None, reason="nothing is compiled here")

N, M = 11, 3  # more than a vector, and no multiple of one
RNG = np.random.default_rng(4)
A, B = RNG.normal(size=(N, N)) - 0.5 * np.eye(N), RNG.normal(size=(N, M))
S = np.eye(N) - 0.1 * np.outer(RNG.normal(size=N), RNG.normal(size=N))  # settles a state, as far as this test cares
P = ctypes.c_void_p


class Kernels:
    """ẋ = A x + B u + t, or x⁺ of a direct method; states are settled by S. Each call's memory is looked at."""

    def __init__(self, is_settled: bool = True) -> None:
        self.calls: list[str] = []
        self.problems: list[str] = []
        self.native: list[object] = []
        self.status = 0  # of a call
        self.rate_kernel = self._kernel("rate", (N, M, 1), N)
        self.settle_kernel = self._kernel("settle", (N, M), N) if is_settled else None

    def _kernel(self, name: str, sizes: tuple[int, ...], room: int) -> SimpleNamespace:
        def called(*places: int) -> int:
            *inputs, out, states = places
            self.calls.append(name)
            spans = [(at, at + 8 * size) for at, size in zip(inputs, sizes, strict=True)]
            if any(begin < out + 8 * room and out < end for begin, end in spans) or states != 1:
                self.problems.append(f"{name} writes over what it reads")
            given = [
                np.array((ctypes.c_double * size).from_address(at)) for at, size in zip(inputs, sizes, strict=True)
            ]
            self.status = 0
            np.frombuffer((ctypes.c_double * room).from_address(out))[:] = getattr(self, name)(*given)
            return self.status

        made = ctypes.CFUNCTYPE(ctypes.c_int32, *(P,) * (len(sizes) + 1), ctypes.c_int64)(called)
        self.native.append(made)
        return SimpleNamespace(native_address=lambda _: ctypes.cast(made, P).value)

    def rate(self, x, u, t):
        return A @ x + B @ u + t[0]

    def settle(self, x, u):
        return S @ x


ADAPTIVE = [name for name, method in METHODS.items() if method.is_adaptive]


def adaptive_state(name, kernels, until):
    """One step of the grid, all at once at first; with the state that moves, and where it starts."""
    method, lanes = METHODS[name], compiled_integrators().lanes
    padded = -(-N // lanes) * lanes
    x, u, t, table = np.zeros(padded), np.zeros(M), np.zeros(1), method.table()
    kernels.kept = u, t, table, np.zeros((method.stages + 3) * padded)
    x[:N] = start = RNG.normal(size=N)
    state = IntegratorState(stages=method.stages, tolerance=1e-9, roots=method.roots, every=1)
    arrays = (x, u, t, kernels.kept[3], table)
    state.x, state.u, state.t, state.work, state.table = (array.ctypes.data for array in arrays)
    state.n, state.used, state.states, state.steps, state.h, state.length = padded, N, 1, 1, until, until
    state.rate = kernels.rate_kernel.native_address("")
    state.settle = None if kernels.settle_kernel is None else kernels.settle_kernel.native_address("")
    return state, x, start


@pytest.mark.parametrize("name", ADAPTIVE)
@pytest.mark.parametrize("is_settled", [True, False])
def test_adaptive_steps_keep_what_they_read_apart_from_what_they_write(name, is_settled):
    kernels = Kernels(is_settled)
    state, x, start = adaptive_state(name, kernels, 0.5)  # much too long: some steps are refused
    assert compiled_integrators().adaptive(ctypes.addressof(state)) == 0
    assert kernels.problems == [] and state.refused > 0 and state.time == 0.5
    if is_settled:
        assert kernels.calls.count("settle") == state.taken > 0
        return
    # ẋ = A x + t, as one linear system with t and 1 for states
    whole = np.zeros((N + 2, N + 2))
    whole[:N, :N], whole[:N, N], whole[N, N + 1] = A, 1.0, 1.0
    exact = expm(0.5 * whole) @ [*start, 0.0, 1.0]
    np.testing.assert_allclose(x[:N], exact[:N], atol=1e-6)


class Refusing(Kernels):
    """At rest; of the calls after the first one, some have a status."""

    def __init__(self, statuses: list[int]) -> None:
        self.statuses, self.times = [0, *statuses], []
        super().__init__(is_settled=False)

    def rate(self, x, u, t):
        self.times.append(t[0])
        self.status = self.statuses.pop(0) if self.statuses else 0
        return np.full(N, np.nan if self.status else 0.0)


@pytest.mark.parametrize("name", ADAPTIVE)
def test_a_trial_that_is_not_finite_is_refused_and_the_next_one_a_quarter_as_long(name):
    kernels = Refusing([1, 1, 1])
    state, x, start = adaptive_state(name, kernels, 0.4)
    assert compiled_integrators().adaptive(ctypes.addressof(state)) == 0
    node = METHODS[name].c[1]
    assert kernels.times[:5] == pytest.approx([0.0, *(node * h for h in (0.4, 0.1, 0.025, 0.00625))])
    # without an error steps grow tenfold: 0.00625, 0.0625, and what is left
    assert (state.refused, state.taken, state.time) == (3, 3, 0.4)
    assert np.array_equal(x[:N], start)


@pytest.mark.parametrize("name", ADAPTIVE)
def test_a_guard_ends_a_march_with_its_status(name):
    for statuses, status in (([2], 2), ([1, 3], 3)):
        state, x, start = adaptive_state(name, Refusing(statuses), 0.4)
        assert compiled_integrators().adaptive(ctypes.addressof(state)) == status
        assert (state.taken, state.time, state.done) == (0, 0.0, 0) and np.array_equal(x[:N], start)
    state, *_ = adaptive_state(name, Refusing([1] * 60), 0.4)
    assert compiled_integrators().adaptive(ctypes.addressof(state)) == integrator.STEP_TOO_SMALL
    assert 0.25 * integrator.SMALLEST_STEP <= state.length < integrator.SMALLEST_STEP
