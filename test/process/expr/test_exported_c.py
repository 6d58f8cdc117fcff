# SPDX-License-Identifier: Apache-2.0
"""Exported C compiles without a warning and computes what the expressions say."""

import ctypes
import math
import shutil
import subprocess

import numpy as np
import pytest
from jit_examples import PRINTED as FUNCTION
from jit_examples import PRINTED_STATE as STATE

from ada_dynamics.expr import evaluate, to_c


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler here")
    folder = tmp_path_factory.mktemp("c")
    exported = to_c(FUNCTION)
    (folder / "mixed.c").write_text(exported.source)
    (folder / "mixed.h").write_text(exported.header)
    flags = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC"]
    subprocess.run([compiler, *flags, "mixed.c", "-o", "mixed.so", "-lm"], cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "mixed.so"))


def _call(library, state):
    y, m = np.empty(7), np.empty((2, 2))
    pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in (*state.values(), y, m)]
    return library.mixed(*pointers), y, m


def test_exported_c_compiles_without_a_warning_and_agrees(library):
    status, y, m = _call(library, STATE)
    expected = evaluate(FUNCTION, **STATE)
    assert status == 0
    assert y == pytest.approx(expected["y"], rel=1e-15)
    assert m == pytest.approx(expected["m"], rel=1e-15)


@pytest.mark.parametrize("b", [0.4, math.nan])
def test_exported_c_reports_a_failing_guard(library, b):
    assert _call(library, {**STATE, "q": np.array([0.3, b, -2.0])})[0] == 1
