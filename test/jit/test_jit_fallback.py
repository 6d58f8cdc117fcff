# SPDX-License-Identifier: Apache-2.0
"""Kernels without a compiler: the same interface, the same answers, one log line."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from jit_examples import kernel_of, mixed, reference, states

from ada_dynamics.errors import CompileError, InputError
from ada_dynamics.expr import trace
from ada_dynamics.jit import GuardError, compiler, fallback

FUNCTION = mixed()


@pytest.fixture
def off(monkeypatch):
    monkeypatch.setenv("ADA_JIT", "off")
    fallback.announce.cache_clear()


def test_answers_are_the_same_to_rounding(off, monkeypatch):
    kernel = kernel_of(FUNCTION)
    batch = states(FUNCTION, 11)
    expected = reference(FUNCTION, batch)
    for found, wanted in zip(kernel.batch(*batch), expected, strict=True):
        assert found == pytest.approx(wanted, rel=1e-14, abs=1e-14)
    for found, wanted in zip(kernel.batch(*map(np.asfortranarray, batch)), expected, strict=True):
        assert found == pytest.approx(wanted, rel=1e-14, abs=1e-14)
    for found, wanted in zip(kernel.single(*(array[4] for array in batch)), expected, strict=True):
        assert found == pytest.approx(wanted[4], rel=1e-14, abs=1e-14)
        assert found.shape == wanted[4].shape
    for found, wanted in zip(kernel.native_repeat(*batch), expected, strict=True):
        assert found == pytest.approx(wanted, rel=1e-14, abs=1e-14)
    assert kernel.info().backend == "python"


def test_status_and_errors_are_the_same(off):
    kernel = kernel_of(FUNCTION)
    batch = states(FUNCTION, 5)
    batch[1][3, 1] = -50.5
    assert kernel.batch_status(*batch)[1] == 2
    assert kernel.single_status(*(array[3] for array in batch))[1] == 2
    with pytest.raises(GuardError):
        kernel.batch(*batch)
    batch[0][2, 0] = np.nan
    assert kernel.batch_status(*batch)[1] & 1
    with pytest.raises(InputError, match=r"q\[2, 0\] is nan"):
        kernel.batch(*batch)
    with pytest.raises(InputError, match="float32"):
        kernel.single(*(array[0].astype(np.float32) for array in batch))


def test_division_by_zero_goes_on_as_on_the_machine(off):
    kernel = kernel_of(trace("f", {"q": 1}, lambda q: {"y": (1.0 / q[0], -1.0 / (q[0] * q[0]))}))
    for result, status in (kernel.single_status(np.zeros(1)), kernel.batch_status(np.zeros((3, 1)))):
        assert np.atleast_2d(result)[-1].tolist() == [np.inf, -np.inf]
        assert status == 1
    with pytest.raises(InputError, match="result is not finite"):
        kernel.single(np.zeros(1))


def test_the_general_function_is_the_call(off):
    def general(*_):
        return 1

    assert kernel_of(FUNCTION).python_call(general) is general


def test_one_log_line_says_why(off, caplog):
    with caplog.at_level(logging.WARNING, "ada_dynamics"):
        for _ in range(3):
            kernel_of(FUNCTION).batch(*states(FUNCTION, 2))
    assert len(caplog.records) == 1
    assert "ADA_JIT=off" in caplog.text


def test_code_that_cannot_be_loaded_falls_back(monkeypatch, caplog):
    def refuse(*_, **__):
        raise CompileError("compiled code cannot be loaded: memory may not be executable")

    monkeypatch.setattr(compiler, "load", refuse)
    fallback.announce.cache_clear()
    with caplog.at_level(logging.WARNING, "ada_dynamics"):
        kernel = kernel_of(FUNCTION)
        batch = states(FUNCTION, 3)
        assert kernel.batch(*batch)[0] == pytest.approx(reference(FUNCTION, batch)[0])
    assert "may not be executable" in caplog.text
    assert kernel.info().backend == "python"


def test_native_code_is_asked_for_in_vain(off):
    with pytest.raises(CompileError, match="ADA_JIT=off"):
        kernel_of(FUNCTION).native_address()
