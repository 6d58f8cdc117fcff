# SPDX-License-Identifier: Apache-2.0
"""Exported C and C++ compile without a warning and compute what the library computes: kernels and transmissions."""

from __future__ import annotations

import ctypes
import math
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from ankles import ANKLES
from jit_examples import PRINTED as FUNCTION
from jit_examples import PRINTED_STATE as STATE
from loop_robots import mechanism
from refused import refused

import ada_dynamics as ada
from ada_dynamics.dynamics.export import ExportedC, export_c
from ada_dynamics.expr import evaluate, to_c
from ada_dynamics.robots import mechanisms
from ada_dynamics.transmission import export_transmission

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


@pytest.fixture(scope="module")
def ankle():
    model, q = mechanism("parallel_ankle")
    return ada.Transmission(model, ["left_crank", "right_crank"], ["ankle_pitch", "ankle_roll"], q)


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
@pytest.mark.parametrize("name", ANKLES)
def test_compiled_c_equals_python_and_the_closed_form_in_ten_thousand_states(name, tmp_path):
    ankle, closed_form, ranges = ANKLES[name]()
    export_transmission(ankle, "ros2_control", tmp_path, "ankle")
    library = tmp_path / "libankle.so"
    flags = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-pedantic", "-shared", "-fPIC", f"-I{tmp_path}/include"]
    subprocess.run(["cc", *flags, "-o", library, tmp_path / "src/ankle.c", "-lm"], check=True, timeout=60)
    rows = np.random.default_rng(2).uniform(np.negative(ranges), ranges, (10_000, 2))
    exact = ankle.from_joints(rows)
    code = ctypes.CDLL(str(library))
    state = _state(ankle.model.nq)()
    code.ankle_init(ctypes.byref(state))
    vector = ctypes.c_double * 2
    found = []
    for i, row in enumerate(rows):
        backwards = i % 2
        solve = code.ankle_from_motors if backwards else code.ankle_from_joints
        assert solve(ctypes.byref(state), vector(*(exact.motors[i] if backwards else row))) == 0
        found.append([*state.motors, *state.joints, *state.jacobian, *state.inverse])
    expected = np.hstack(
        [exact.motors, exact.joints, exact.jacobian.reshape(-1, 4), exact.inverse_jacobian.reshape(-1, 4)]
    )
    np.testing.assert_allclose(found, expected, atol=1e-9)
    np.testing.assert_allclose(np.array(found)[:, :2], [closed_form(*row) for row in rows], atol=1e-9)
    before = np.array(state.q)
    if name != "rh5":  # linear actuators reach all angles, beyond their limits
        assert code.ankle_from_joints(ctypes.byref(state), vector(1.6, 1.4)) in (2, 3)
        assert np.array_equal(before, state.q)  # unchanged
    efforts = vector()
    code.ankle_motor_efforts(ctypes.byref(state), vector(20.0, 5.0), efforts)
    np.testing.assert_allclose(efforts, np.reshape(state.jacobian, (2, 2)).T @ [20.0, 5.0])


def _state(nq):
    sizes = {"q": nq, "motors": 2, "joints": 2, "jacobian": 4, "inverse": 4}
    return type("State", (ctypes.Structure,), {"_fields_": [(k, ctypes.c_double * n) for k, n in sizes.items()]})


@pytest.mark.skipif(shutil.which("c++") is None, reason="needs a C++ compiler")
def test_the_class_of_cpp_compiles_without_a_warning(ankle, tmp_path):
    export_transmission(ankle, "cpp", tmp_path, "ankle")
    program = tmp_path / "main.cpp"
    program.write_text(
        '#include "ankle.hpp"\n#include <cstdio>\n'
        "int main() { AnkleTransmission t; int code = t.from_joints({0.1, -0.05});\n"
        'std::printf("%d %.17g %.17g", code, t.state().motors[0], t.motor_efforts({20.0, 5.0})[1]); }\n'
    )
    compile_c = ["cc", "-std=c99", "-O2", "-c", tmp_path / "ankle.c", "-o", tmp_path / "ankle.o"]
    subprocess.run(compile_c, check=True, timeout=60)
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Werror", "-pedantic"]
    binary = tmp_path / "main"
    subprocess.run(["c++", *flags, program, tmp_path / "ankle.o", "-o", binary, "-lm"], check=True, timeout=60)
    code, motor, effort = subprocess.run(
        [binary], capture_output=True, text=True, check=True, timeout=60
    ).stdout.split()
    state = ankle.from_joints([0.1, -0.05])
    assert code == "0"
    np.testing.assert_allclose([float(motor), float(effort)], [state.motors[0], state.motor_efforts([20.0, 5.0])[1]])
