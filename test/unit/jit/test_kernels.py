# SPDX-License-Identifier: Apache-2.0
"""Kernels of every kind: compiled, in parts, and without a compiler they give the same results and refusals."""

import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import product

import llvmlite.binding
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jit_examples import TARGETS, close, kernel_of, mixed, parts_of, programs, reference, run_program, square, states
from refused import refused

from ada_dynamics.errors import CompileError, InputError
from ada_dynamics.expr import Function, Traced, cos, select, sqrt, trace
from ada_dynamics.expr.function import COLUMN, SHARED, Columns
from ada_dynamics.jit import GuardError, Kernel, Signature, Target, fallback

FUNCTION = mixed()
MAKERS = {"whole": kernel_of, "parts": parts_of}
KINDS = [*((kind, target) for kind in MAKERS for target in TARGETS), ("whole", "off")]


@pytest.fixture(params=KINDS, ids=" ".join)
def made(request, monkeypatch):
    """Makes a kernel of a function: of each kind for each target, and where code may not be compiled."""
    kind, target = request.param
    if target == "off":
        monkeypatch.setenv("ADA_JIT", "off")
        fallback.announce.cache_clear()

    def make(function: Function, **options):
        return MAKERS[kind](function, "host" if target == "off" else target, **options)

    make.backend = "python" if target == "off" else "native"
    return make


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 8, 9, 16, 23])
def test_one_state_and_batches_of_any_length_and_order_are_right(made, count):
    kernel = made(FUNCTION)
    batch = states(FUNCTION, count)
    for order in "CF":
        results = kernel.batch(*(np.asarray(array, order=order) for array in batch))
        assert [result.shape for result in results] == [(count, 2, 3), (count,), (count, 2)]
        if count:
            close(results, reference(FUNCTION, batch))
    for row, *expected in zip(zip(*batch, strict=True), *reference(FUNCTION, batch), strict=True) if count else ():
        one = kernel.single(*row)
        close(one, expected)
        assert [x.shape for x in one] == [x.shape for x in expected]
    assert kernel.info().backend == made.backend


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(program=programs(), sizes=st.tuples(st.integers(1, 9), st.integers(1, 3)), count=st.integers(1, 20))
def test_random_functions_agree_with_the_expressions_in_every_way(made, program, sizes, count):
    def body(q, v):
        pool = run_program(program, [*q, *v, 1.0])
        return {"last": tuple(pool[-min(len(program), 5) :]), "one": pool[-1]}

    function = trace("f", {"q": sizes[0], "v": sizes[1]}, body)
    kernel = made(function)
    batch = states(function, count, seed=count)
    singles = zip(*(kernel.single(*row) for row in zip(*batch, strict=True)), strict=True)
    ways = [kernel.batch(*batch), kernel.batch(*map(np.asfortranarray, batch)), tuple(map(np.array, singles))]
    for results in (*ways, kernel.native_repeat(*batch, repeats=2)):
        close(results, reference(function, batch), 1e-12)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_threads_do_not_share_what_they_write(make):
    function = square(size=40)
    kernel, batch, wrong = make(function), states(function, 8), []
    wanted = kernel.batch(*batch)

    def work(i):
        row = [array[i] for array in batch]
        alone = kernel.single(*row)
        close([alone], [wanted[i]])
        wrong.extend(1 for _ in range(1000) if not np.array_equal(kernel.single(*row), alone))
        wrong.extend(1 for _ in range(100) if not np.array_equal(kernel.batch(*batch), wanted))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert not wrong


def test_a_failing_guard_is_reported_for_one_state_and_for_a_batch(made):
    kernel = made(FUNCTION)
    batch = states(FUNCTION, 21)
    assert kernel.batch_status(*batch)[1] == 0
    batch[1][20, 1] = -50.5
    assert kernel.single_status(*(array[20] for array in batch))[1] == 2
    assert kernel.single_status(*(array[19] for array in batch))[1] == 0
    assert kernel.batch_status(*batch)[1] == 2
    with pytest.raises(GuardError):
        kernel.batch(*batch)


def test_a_guard_that_is_not_a_number_fails(made):
    kernel = made(trace("f", {"q": 1}, lambda q: Traced({"y": q}, (sqrt(q[0]),))))
    assert kernel.single_status(np.zeros(1))[1] == 0
    with np.errstate(invalid="ignore"):
        assert kernel.single_status(-np.ones(1))[1] == 2


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_an_input_that_is_not_finite_is_reported_wherever_it_is(made, value):
    kernel = made(FUNCTION)
    with np.errstate(invalid="ignore"):
        for position, size in enumerate(FUNCTION.inputs.values()):
            for element in range(size):
                batch = states(FUNCTION, 21)
                batch[position][17, element] = value
                assert kernel.single_status(*(array[17] for array in batch))[1] & 1
                assert kernel.batch_status(*batch)[1] & 1
                assert kernel.batch_status(*map(np.asfortranarray, batch))[1] & 1
        with refused(InputError, field=list(FUNCTION.inputs)[2]):
            kernel.batch(*batch)


def test_a_result_that_is_not_finite_is_reported_and_division_by_zero_goes_on(made):
    kernel = made(trace("f", {"q": 1}, lambda q: {"y": (1.0 / q[0], -1.0 / (q[0] * q[0]), 3.0)}))
    batch = np.ones((11, 1))
    assert kernel.batch_status(batch)[1] == 0
    batch[9] = 0.0
    for given_batch in (batch, np.asfortranarray(batch)):
        result, status = kernel.batch_status(given_batch)
        assert (result[9].tolist(), status) == ([np.inf, -np.inf, 3.0], 1)
    result, status = kernel.single_status(batch[9])
    assert (result.tolist(), status) == ([np.inf, -np.inf, 3.0], 1)
    with pytest.raises(InputError):
        kernel.batch(batch)


@pytest.mark.parametrize("seed", range(60))
def test_a_number_that_is_not_finite_is_told_of_wherever_it_goes(seed):
    rng = np.random.default_rng(seed)

    def some(shared, column=()):
        values = [*shared, *column]
        for _ in range(12):
            a, b, c = (values[int(i)] for i in rng.integers(0, len(values), 3))
            kinds = (a * b, a + b, a - b, a * b + c, -a, 1.0 / (1.0 + b * b), select(a, b, c, a), cos(a))
            values.append(kinds[int(rng.integers(0, len(kinds)))])
        return {"y": values[-3:] if not column else [values[int(i)] for i in rng.integers(0, len(values), 5)]}

    def columns(x):
        each = trace("each", {SHARED: 3, COLUMN: 2}, some)
        return Traced({}, columns=[Columns("y", each, x[:3], tuple((a, *[0.5 * a] * 29) for a in x[3:]))])

    function = trace(f"f{seed}", {"x": 5}, columns if seed % 2 else lambda x: some(x))
    kernel = kernel_of(function)
    x = rng.normal(size=(19, 5))
    assert kernel.batch_status(x)[1] == 0
    for value, i, k in product((np.nan, np.inf, -np.inf, 1e104, 1e155), range(5), (0, 18)):
        bad = x.copy()
        bad[k, i] = value
        result, status = kernel.single_status(bad[k])
        assert status & 1 or np.isfinite([value, *np.ravel(result)]).all()
        for order in "CF":
            assert kernel.batch_status(np.asarray(bad, order=order))[1] == status


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_code_that_cannot_be_loaded_is_replaced(make, monkeypatch, caplog):
    def refuse(*_):
        raise RuntimeError("memory may not be executable")

    monkeypatch.setattr(llvmlite.binding.JITLibraryBuilder, "link", refuse)
    fallback.announce.cache_clear()
    batch = states(FUNCTION, 3)
    with caplog.at_level(logging.WARNING, "ada_dynamics"):
        kernel = make(FUNCTION, replace(Target.host(), fma=False))  # of which no code is loaded yet
        close(kernel.batch(*batch), reference(FUNCTION, batch))
    assert "may not be executable" in caplog.text and kernel.info().backend == "python"


SIGNATURE = Signature("k", (("q", 2), ("v", 3)), (("a", (2, 2)), ("b", ())))
WRONG = [np.zeros((2, 1)), np.zeros(3), np.zeros(2, np.float32), np.zeros(2, ">f8"), [0.0, 0.0], None, np.zeros(4)[::2]]


def test_arrays_that_do_not_fit_a_kernel_are_refused_by_name_before_anything_is_compiled():
    one, many = (np.zeros(2), np.zeros(3)), (np.zeros((4, 2)), np.asfortranarray(np.zeros((4, 3))))
    assert SIGNATURE.check_single(one) is one and SIGNATURE.check_batch(many) == (many, 4)
    for wrong in WRONG:
        with refused(InputError, field="q"):
            SIGNATURE.check_single((wrong, one[1]))
    for k, wrong in ((0, one[0]), (0, np.zeros((4, 2), int)), (0, "q"), (1, np.zeros((5, 3))), (1, np.zeros((4, 2)))):
        with refused(InputError, field="qv"[k]):
            SIGNATURE.check_batch((*many[:k], wrong, *many[k + 1 :]))
    for call, count in ((SIGNATURE.check_single, one[:1]), (SIGNATURE.check_batch, many[:1])):
        with refused(InputError, value=1):
            call(count)
    with pytest.raises(CompileError):  # its trace has other inputs
        Kernel(Signature("square", (("q", 7),), (("a", (7,)),)), square, "key").single(np.zeros(7))
