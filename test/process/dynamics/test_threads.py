# SPDX-License-Identifier: Apache-2.0
"""One `Dynamics` in the hands of eight threads, from its first call on: each gets the bits that a thread alone gets."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from random_trees import random_tree

import ada_dynamics as ada
from ada_dynamics.dynamics.dynamics import kernel_of

THREADS, STATES = 8, 24
CASES: dict[str, tuple[Callable[[], ada.Model], dict[str, Any]]] = {
    "own code": (lambda: ada.load("pa10"), {}),
    "loop kernels": (lambda: ada.load("pa10"), {"kernel": "generic"}),
    "loops": (lambda: ada.load("five_bar"), {}),
    "redundant loops": (lambda: ada.load("bennett"), {}),
    "floating base": (lambda: random_tree(3, ["revolute", "spherical"], "floating"), {}),
}
Question = Callable[[ada.Dynamics, Any, Any, Any], Any]
QUESTIONS: dict[str, Question] = {
    "forward": lambda dyn, q, v, u: dyn.forward(q, v, u),
    "inverse": lambda dyn, q, v, u: dyn.inverse(q, v, u),
    "forward, by lists": lambda dyn, q, v, u: dyn.forward(q.tolist(), v.tolist(), u.tolist()),
    "mass_matrix": lambda dyn, q, v, u: dyn.mass_matrix(q),
    "bias": lambda dyn, q, v, u: dyn.bias(q, v),
    "gravity": lambda dyn, q, v, u: dyn.gravity(q),
    "jacobian": lambda dyn, q, v, u: dyn.jacobian(dyn.model.link_names[-1], q),
    "pose": lambda dyn, q, v, u: dyn.pose(dyn.model.link_names[-1], q),
    "com": lambda dyn, q, v, u: dyn.com(q),
    "energy": lambda dyn, q, v, u: dyn.energy(q, v),
    "joint_wrenches": lambda dyn, q, v, u: dyn.joint_wrenches(q, v, u),
    "forward_derivatives": lambda dyn, q, v, u: dyn.forward_derivatives(q, v, u),
}
NOT_GENERIC = ("forward_derivatives",)  # which refuse loop kernels


@pytest.fixture(autouse=True)
def hurried() -> Iterator[None]:
    """Threads take turns within a call, not between calls."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def numbers(answer: Any) -> list[np.ndarray]:
    if isinstance(answer, Mapping):
        return [array for value in answer.values() for array in numbers(value)]
    if isinstance(answer, tuple):
        return [array for value in answer for array in numbers(value)]
    return [np.array(answer)]


def states(model: ada.Model) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)
    start = ada.close_loops(model) if model.loops else model.neutral()
    q = np.array([model.integrate(start, 0.2 * rng.normal(size=model.nv), 1.0) for _ in range(STATES)])
    v, u = rng.normal(size=(2, STATES, model.nv))
    return (*ada.Dynamics(model).project_to_constraints(q, v), u) if model.loops else (q, v, u)


def together(work: Callable[[int], list[str]]) -> list[str]:
    """What eight threads that begin at the same time found wrong."""
    start, wrong = threading.Barrier(THREADS), []

    def begin(number: int) -> None:
        start.wait()
        try:
            wrong.extend(work(number))
        except Exception as error:
            wrong.append(repr(error))

    threads = [threading.Thread(target=begin, args=(i,)) for i in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return wrong


@pytest.mark.parametrize("case", CASES)
def test_answers_are_those_of_one_thread(case):
    make, options = CASES[case]
    model = make()
    q, v, u = states(model)
    asked = [name for name in QUESTIONS if "kernel" not in options or name not in NOT_GENERIC]
    alone = ada.Dynamics(model, **options)
    rows = range(STATES)
    expected = {name: [numbers(QUESTIONS[name](alone, q[i], v[i], u[i])) for i in rows] for name in asked}
    batches = {name: numbers(QUESTIONS[name](alone, q, v, u)) for name in asked}
    shared = ada.Dynamics(model, **options)

    def same(found: Any, wanted: list[np.ndarray]) -> bool:
        return all(np.array_equal(a, b) for a, b in zip(numbers(found), wanted, strict=True))

    def work(number: int) -> list[str]:
        wrong = []
        for turn in range(2 * len(asked)):
            name = asked[(number + turn) % len(asked)]
            ask = QUESTIONS[name]
            for i in ((5 * number + turn + k) % STATES for k in range(6)):
                if not same(ask(shared, q[i], v[i], u[i]), expected[name][i]):
                    wrong.append(f"thread {number}: {name} of state {i}")
            if not same(ask(shared, q, v, u), batches[name]):
                wrong.append(f"thread {number}: {name} of all states")
        return wrong

    assert not together(work)


@pytest.mark.parametrize("name", ["pa10", "khr1"])
def test_threads_that_meet_at_the_first_call_share_one_kernel(name, monkeypatch, tmp_path):
    monkeypatch.setenv("ADA_CACHE_DIR", str(tmp_path))
    shared = ada.Dynamics(ada.load(name))
    q, v, u = (x[0] for x in states(shared.model))
    kernels: list[Any] = []

    def work(number: int) -> list[str]:
        kernels.append(kernel_of(shared, "forward"))
        shared.forward(q, v, u)
        return [] if shared.algorithm in ("aba", "crba", "lanes") else [shared.algorithm]

    assert not together(work)
    assert len(set(map(id, kernels))) == 1


def test_simulations_of_one_model_do_not_feel_each_other():
    model = ada.load("five_bar")
    start = ada.close_loops(model)
    alone = ada.Simulation(model, start).run(0.05)

    def work(number: int) -> list[str]:
        log = ada.Simulation(model, start).run(0.05)
        return [] if np.array_equal(log.q, alone.q) else [f"thread {number}"]

    assert not together(work)
