# SPDX-License-Identifier: Apache-2.0
"""Expressions and kernels that are exported as C compile without a warning and compute what the library computes."""

from __future__ import annotations

import ctypes
import math
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from jit_examples import PRINTED as FUNCTION
from jit_examples import PRINTED_STATE as STATE
from refused import refused

import ada_dynamics as ada
from ada_dynamics.dynamics.export import ExportedC, export_c
from ada_dynamics.expr import evaluate, to_c
from ada_dynamics.robots import mechanisms

COMPILER = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler")


def compiled(files: ExportedC) -> ctypes.CDLL:
    library = files.source.with_suffix(".so")
    strict = ["-std=c99", "-Wall", "-Wextra", "-Wno-unused-variable", "-Werror", "-O1", "-shared", "-fPIC"]
    subprocess.run([str(COMPILER), *strict, str(files.source), "-o", str(library), "-lm"], check=True)
    return ctypes.CDLL(str(library))


def pointers(*arrays: np.ndarray) -> list[ctypes.c_void_p]:
    return [ctypes.c_void_p(array.ctypes.data) for array in arrays]


@needs_compiler
@pytest.mark.parametrize("quantity", [pytest.param("forward", marks=pytest.mark.smoke), "inverse"])
def test_the_c_function_computes_what_the_library_computes(quantity: str, tmp_path: Path) -> None:
    dynamics = ada.Dynamics(ada.load("pa10"))
    function = getattr(compiled(export_c(dynamics, quantity, tmp_path / "new" / "folder")), quantity)
    rng = np.random.default_rng(0)
    q, v, u = rng.normal(size=(3, 7))
    result = np.empty(7)
    assert function(*pointers(q, v, u, result)) == 0
    expected = getattr(dynamics, quantity)(q, v, u)
    np.testing.assert_allclose(result, expected, rtol=0.0, atol=1e-12 * abs(expected).max())


@needs_compiler
def test_a_mechanism_with_loops_is_exported_with_its_loops_closed(tmp_path: Path) -> None:
    model, q = mechanisms.four_bar()
    dynamics = ada.Dynamics(model)
    function = compiled(export_c(dynamics, "forward", tmp_path, name="four_bar")).four_bar
    v, tau, result = np.array([1.0, -1.0, 1.0]), np.array([0.1, 0.2, 0.3]), np.empty(3)
    assert function(*pointers(q, v, tau, result)) == 0
    np.testing.assert_allclose(result, dynamics.forward(q, v, tau), rtol=1e-12)
    flat = np.array([np.pi / 2, 0.0, np.pi])
    assert function(*pointers(flat, v, tau, result)) == 1  # a pivot vanishes in a singular pose
    inverse = compiled(export_c(dynamics, "inverse", tmp_path)).inverse
    assert inverse(*pointers(q, v, tau, result)) == 0
    np.testing.assert_allclose(result, dynamics.inverse(q, v, tau), rtol=1e-12, atol=1e-12)


@needs_compiler
def test_the_c_function_refuses_a_quaternion_off_unit_length(tmp_path: Path) -> None:
    dynamics = ada.Dynamics(ada.chain_3d(1, base="floating"))
    function = compiled(export_c(dynamics, "forward", tmp_path, name="free_body")).free_body
    q, v, tau, a = dynamics.model.neutral(), np.zeros(7), np.zeros(7), np.empty(7)
    assert function(*pointers(q, v, tau, a)) == 0
    q[3:7] *= 1.5
    assert function(*pointers(q, v, tau, a)) == 1


def test_an_unknown_quantity_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    with refused(ada.InputError, field="quantity", value="forwards") as caught:
        export_c(ada.Dynamics(ada.planar_chain(2)), "forwards", tmp_path)
    assert "inverse" in caught.value.allowed
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["", "2d", "a-b", "double", "größe", "../evil"])
def test_a_name_that_is_no_identifier_of_c_is_refused(name: str, tmp_path: Path) -> None:
    with refused(ada.InputError, field="name", value=name):
        export_c(ada.Dynamics(ada.planar_chain(2)), "forward", tmp_path, name=name)


def test_generic_kernels_are_refused(tmp_path: Path) -> None:
    with refused(ada.InputError, field="kernel", allowed=("specialised",)):
        export_c(ada.Dynamics(ada.planar_chain(2), kernel="generic"), "forward", tmp_path)


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
