# SPDX-License-Identifier: Apache-2.0
"""Transmissions as code: compiled by the machine's C and C++ compilers and compared with Python."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest
from ankles import ANKLES
from loop_robots import mechanism

import ada_dynamics as ada
from ada_dynamics.transmission import export_transmission


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
