# SPDX-License-Identifier: Apache-2.0
"""Printed forms: C that compiles and agrees, Python source, LaTeX."""

from __future__ import annotations

import ctypes
import math
import shutil
import subprocess

import numpy as np
import pytest

from ada_dynamics.errors import InputError
from ada_dynamics.expr import (
    Traced,
    absolute,
    atan2,
    cos,
    evaluate,
    python_source,
    select,
    sin,
    sqrt,
    to_c,
    to_latex,
    trace,
)


def _body(q, v, unused):
    a, b, c = q
    y = (
        sin(a * b) / (2.0 + cos(c)),
        sqrt(3.0 + a * a) - 1e-7 * c,
        select(a, b, -a, 2.5),
        a,
        -0.75,
        1e30 * v[0],
        atan2(-a, c),
    )
    return Traced({"y": y, "m": ((a + b, 0.0), (absolute(b), -1.0 / c))}, (b - 0.5, a + 10.0))


FUNCTION = trace("mixed", {"q": 3, "v": 1, "unused": 2}, _body)
STATE = {"q": np.array([0.3, 1.7, -2.0]), "v": np.array([0.1]), "unused": np.zeros(2)}


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


def test_exported_c_tells_sizes_and_order():
    exported = to_c(FUNCTION)
    for line in ("in   q[3]", "out  m[2][2], 4 doubles", "2 guards"):
        assert line in exported.source
        assert line in exported.header
    assert "int mixed(const double *q, const double *v, const double *unused, double *y, double *m);" in exported.header


@pytest.mark.parametrize("word", ["int", "sin", "größe"])
def test_names_that_c_does_not_allow_are_refused(word):
    with pytest.raises(InputError, match=word):
        to_c(trace("f", {"q": 1}, lambda q: {word: q}))


@pytest.mark.parametrize("namespace", ["math", "numpy"])
def test_python_source_agrees(namespace):
    scope = {name: getattr(math if namespace == "math" else np, name) for name in ("sin", "cos", "sqrt")}
    scope["atan2"] = math.atan2 if namespace == "math" else np.arctan2
    exec(python_source(FUNCTION, namespace), {**scope, "where": np.where}, scope)
    inputs = [array.tolist() if namespace == "math" else list(array[:, None]) for array in STATE.values()]
    y, m, guards = scope["mixed"](*inputs)
    expected = evaluate(FUNCTION, **STATE)
    assert [float(np.ravel(x)[0]) for x in y] == expected["y"].tolist()
    assert [float(np.ravel(x)[0]) for x in m] == expected["m"].ravel().tolist()
    assert all(guard >= 0.0 for guard in guards)


def test_latex_names_what_is_used_twice():
    def body(q):
        shared = q[0] + 2.0 * q[1]
        return {"y": (shared * shared, sin(q[0]) / shared, select(q[0], q[1], 1.0, 0.0), -(q[0] - q[1]) * q[1])}

    function = trace("f", {"q": 2}, body)
    names = ("y_1", "y_2", "y_3", "y_4")
    printed = to_latex(dict(zip(names, function.outputs["y"], strict=True)))
    assert printed.definitions == (("x_{1}", r"q_{1} + 2 \, q_{2}"),)
    assert printed.expressions["y_1"] == "x_{1}^2"
    assert printed.expressions["y_2"] == r"\frac{\sin q_{1}}{x_{1}}"
    assert r"\begin{cases} 1 & q_{1} < q_{2}" in printed.expressions["y_3"]
    assert printed.expressions["y_4"] == r"q_{2} \, \left(q_{2} - q_{1}\right)"
    assert printed.aligned().startswith("\\begin{aligned}\nx_{1} &= ")


def test_latex_of_an_arctangent():
    function = trace("f", {"q": 2}, lambda q: {"y": (2.0 * atan2(-q[0], q[1] + 1.0),)})
    printed = to_latex({"y": function.outputs["y"][0]})
    assert printed.expressions["y"] == r"-2 \, \operatorname{atan2}\left(q_{1}, 1 + q_{2}\right)"


def test_latex_takes_names_from_the_caller():
    function = trace("f", {"tau": 1}, lambda tau: {"y": (1e-9 * tau[0], 3.0)})
    printed = to_latex({"a": function.outputs["y"][0], "b": 3.0}, name=lambda key, i: rf"\tau_{{a{i}}}")
    assert printed.expressions == {"a": r"1 \cdot 10^{-9} \, \tau_{a0}", "b": "3"}
