# SPDX-License-Identifier: Apache-2.0
"""Tapes of large functions: right to the last digits, small, and linear in the number of operations."""

from __future__ import annotations

import numpy as np
import pytest
from jit_examples import reference, states

from ada_dynamics.expr import Function, cos, sin, trace
from ada_dynamics.jit import Signature
from ada_dynamics.jit.tape import FORMATS, NARROW_MULTIPLY_ADD, NARROW_SLOTS, Tape, make_tape
from ada_dynamics.jit.tape_kernel import TapeKernel
from ada_dynamics.jit.tape_program import MULTIPLY_ADD, SINCOS


def recursion(steps: int, outputs: int = 7) -> Function:
    """A long recursion with products, quotients, and sines of results; about 20 operations for each step.

    Each number depends on the two before it by less than a half in all, so that errors die away.
    """

    def body(x, y):
        first, second = x[0], x[1]
        found = []
        for i in range(steps):
            a, b = x[i % len(x)], y[i % len(y)]
            angle = 0.1 * first - 0.05 * second + a
            drift = a * b - 0.1 * first * b + 0.05 * (first * first - second * a)
            bounded = sin(angle) * 0.2 - 0.1 * cos(angle) * first if i % 64 == 0 else 0.1 * angle
            first, second = (bounded + 0.1 * drift) / (1.5 + 0.1 * first * first), first
            if i % (steps // outputs) == 0:
                found.append(first)
        return {"z": tuple(found), "last": first}

    return trace("recursion", {"x": 5, "y": 3}, body)


def kernel_of(function: Function, key: str) -> TapeKernel:
    return TapeKernel(Signature.of(function), lambda: function, key)


def test_two_hundred_thousand_operations_are_right_to_the_last_digits():
    function = recursion(12_000)
    kernel = kernel_of(function, "large")
    assert kernel.info().flops > 200_000
    batch = states(function, 9, seed=4)
    results = kernel.batch(*batch)
    # Only the last few steps can still be seen in a result: a handful of roundings of numbers near one.
    for found, one, wanted in zip(
        results, kernel.single(*(x[0] for x in batch)), reference(function, [x[:1] for x in batch]), strict=True
    ):
        assert np.array_equal(found[0], one)
        assert found[0] == pytest.approx(wanted[0], rel=4e-16, abs=4e-16)


def test_the_tape_takes_few_bytes_and_its_slots_hold_only_what_is_alive():
    short, long = (make_tape(recursion(steps)) for steps in (1_000, 4_000))
    assert long.slots == short.slots < 100, "the recursion keeps two numbers alive"
    assert long.flops > 3.9 * short.flops
    for tape in (short, long):
        assert len(tape.to_bytes()) < 12 * tape.flops
        assert tape.instructions < 0.8 * tape.flops, "most products are taken in by sums"


def test_more_slots_than_fit_in_a_word_are_written_wide():
    size = NARROW_SLOTS + 10
    function = trace("f", {"x": size}, lambda x: {"y": [x[i] * x[i - 1] - x[i] for i in range(0, size, 8)]})
    kernel = kernel_of(function, "wide")
    kinds = kernel.backend.tape.runs[:, 0]
    assert MULTIPLY_ADD in kinds
    assert NARROW_MULTIPLY_ADD not in kinds
    x = np.random.default_rng(0).normal(size=(9, size))
    wanted = (x * np.roll(x, 1, axis=1) - x)[:, ::8]
    # One rounding of a product and one of a difference, of numbers below 25.
    assert kernel.single(x[0]) == pytest.approx(wanted[0], rel=0.0, abs=1e-14)
    assert kernel.batch(x) == pytest.approx(wanted, rel=0.0, abs=1e-14)


def test_sines_of_inputs_are_taken_in_one_run_and_sines_of_sines_are_not():
    def body(x):
        total = 0.0
        for a in x:
            total = total + sin(a) * cos(2.0 * a) * sin(sin(a))
        return {"y": total}

    tape = make_tape(trace("f", {"x": 10}, body))
    runs = [count for kind, count in tape.runs.tolist() if kind == SINCOS]
    assert runs[0] == 20
    assert sum(runs) == 30


def test_no_instruction_reads_what_was_not_written():
    tape = make_tape(recursion(300))
    written = set(range(tape.inputs + len(tape.constants)))
    place = 0
    for kind, count in tape.runs[:-1].tolist():
        form, results = FORMATS[kind], 2 if kind == SINCOS else 1
        end = place + count * form.words
        parts = [tape.words[place:end] >> np.uint64(i * form.bits) for i in range(form.per_word)]
        rows = (np.stack(parts, axis=1) & np.uint64(2**form.bits - 1)).reshape(count, -1)
        for row in rows[:, : form.slots].tolist():
            assert set(row[results:]) <= written
            written |= set(row[:results])
        place = end
    assert place == len(tape.words)
    assert set(tape.ends.tolist()) <= written
    assert written == set(range(tape.slots))


def test_a_tape_survives_the_way_through_the_cache():
    tape = make_tape(recursion(100))
    again = Tape.from_bytes(tape.to_bytes())
    for name in ("runs", "words", "ends", "constants", "sizes"):
        assert np.array_equal(getattr(again, name), getattr(tape, name))
