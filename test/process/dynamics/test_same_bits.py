# SPDX-License-Identifier: Apache-2.0
"""The same inputs give the same bits: in other processes, on other processors, in any batch, without compiled code."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from paths import ROOT, SUPPORT
from random_trees import oblique, states_of

import ada_dynamics as ada
from ada_dynamics.dynamics.export import quantity_of
from ada_dynamics.expr.function import Function
from ada_dynamics.jit import scalar
from ada_dynamics.jit.compiler import compile_text
from ada_dynamics.jit.native import NativeBackend
from ada_dynamics.jit.signature import Signature
from ada_dynamics.jit.target import CodeLimits, Target

STATES = 19  # blocks of eight, of four and of two, and a rest
# Of the bytes of their accelerations, SHA-256: with fused multiply-adds (AVX2, AVX-512, ARM), and without (SSE2).
FUSED = {
    "planar_7r": "c3aa24bbfedee113",
    "pa10": "d1c2ba32e7102aa8",
    "stewart": "4076c0a5a7da5005",
    "hexa": "df8f3de062fa55d5",
}
PLAIN = {
    "planar_7r": "31ab26bb77e99e71",
    "pa10": "2813a650a5bfd39b",
    "stewart": "9a5e916db799ca0e",
    "hexa": "f889f2eb1e3abf82",
}


def numbers() -> Iterator[float]:
    """From -1 to 1, in 53 bits, by whole numbers alone: the same wherever this runs."""
    state = 2026
    while True:
        state = (6364136223846793005 * state + 1442695040888963407) % 2**64
        yield (state >> 11) / 2**52 - 1.0


@lru_cache
def world(name: str) -> tuple[ada.Dynamics, list[np.ndarray]]:
    """A robot, and states of it: with loops near a pose that closes them, which is rounded, for LAPACK found it."""
    model = ada.load(name)
    draw = numbers()

    def drawn(*shape: int) -> np.ndarray:
        return np.array([next(draw) for _ in range(int(np.prod(shape)))]).reshape(shape)

    start, spread = (np.round(ada.close_loops(model), 3), 1e-3) if model.loops else (model.neutral(), 1.0)
    q = start + spread * drawn(STATES, model.nq)
    for joint in model.joint_names:
        place = model.q_index(joint)
        if place.stop - place.start in (4, 7):
            turn = q[:, place.stop - 4 : place.stop]
            turn /= np.sqrt((turn[:, :1] ** 2 + turn[:, 1:2] ** 2) + (turn[:, 2:3] ** 2 + turn[:, 3:] ** 2))
    return ada.Dynamics(model), [q, drawn(STATES, model.nv), drawn(STATES, model.nv)]


@lru_cache
def function(name: str) -> Function:
    return quantity_of(world(name)[0], "forward", None).trace()


def backend(name: str, target: Target) -> NativeBackend:
    return NativeBackend(Signature.of(function(name)), lambda: function(name), f"same bits {name}", target)


def singly(code: NativeBackend, states: list[np.ndarray]) -> np.ndarray:
    found = np.empty_like(states[1])
    assert all(code.single([x[k].copy() for x in states], [row]) == 0 for k, row in enumerate(found))
    return found


def together(code: NativeBackend, states: list[np.ndarray]) -> np.ndarray:
    found = np.empty_like(states[1])
    assert code.batch(states, [found], STATES, False) == 0
    return found


def digest(found: np.ndarray) -> str:
    return hashlib.sha256(found.astype("<f8").tobytes()).hexdigest()[:16]


def runs_here(target: str) -> bool:
    import llvmlite.binding as llvm

    has = llvm.get_host_cpu_features()
    needs = {"avx512": ("avx512f", "avx512vl", "avx512dq", "avx512bw"), "avx2": ("avx2", "fma"), "sse2": ("sse2",)}
    return all(has.get(feature, False) for feature in needs[target])


@pytest.mark.parametrize("target", ["host", "avx512", "avx2", "sse2"])
@pytest.mark.parametrize("name", FUSED)
def test_accelerations_have_the_published_bits(name, target):
    if target != "host" and not runs_here(target):
        pytest.skip(f"this processor has no {target}")
    chosen = Target.named(target)
    published = (FUSED if chosen.fma else PLAIN)[name]
    native, states = backend(name, chosen), world(name)[1]
    assert digest(singly(native, states)) == published
    assert digest(together(native, states)) == published
    if target == "host":
        parts = backend(name, replace(chosen, limits=CodeLimits(registers=0, segment=300, part=300)))
        assert digest(singly(parts, states)) == published
        assert digest(together(parts, states)) == published
        assert digest(world(name)[0].forward(*states)) == published


@pytest.mark.parametrize(
    ("name", "method"),
    [
        *((name, m) for name in ("pa10", "five_bar") for m in ("forward", "joint_wrenches", "forward_derivatives")),
        *(("khr1", method) for method in ("forward", "inverse")),
        *((name, "forward_derivatives") for name in ("stewart", "two_feet")),
        ("pa10 generic", "forward"),
    ],
)
def test_the_bits_of_a_state_do_not_depend_on_its_neighbours(name, method):
    dynamics, (q, v, u) = world(name.removesuffix(" generic"))
    if name.endswith("generic"):
        dynamics = ada.Dynamics(dynamics.model, kernel="generic")
    if dynamics.model.loops:
        q, v = dynamics.project_to_constraints(q, v)
    call = getattr(dynamics, method)

    def answers(rows: slice | int) -> list[np.ndarray]:
        found = call(q[rows], v[rows], u[rows])
        if isinstance(found, Mapping):
            return list(found.values())
        return list(found) if isinstance(found, tuple) else [found]

    whole = answers(slice(None))
    assert whole
    for rows in (slice(0, 1), slice(3, 5), slice(2, 9), slice(1, 18), *range(STATES)):
        for part, one in zip(answers(rows), whole, strict=True):
            np.testing.assert_array_equal(part, one[rows])


# Inverse dynamics with loops is an elimination there, and a decomposition here (docs/gpu.md).
@pytest.mark.parametrize(("name", "method"), [("pa10", "forward"), ("pa10", "inverse"), ("stewart", "forward")])
def test_the_text_for_graphics_processors_gives_the_same_bits(name, method):
    dynamics, states = world(name)
    if dynamics.model.loops:
        states = [*dynamics.project_to_constraints(*states[:2]), states[2]]
    device = ada.Dynamics(dynamics.model, device="host")
    np.testing.assert_array_equal(getattr(device, method)(*states), getattr(dynamics, method)(*states))


def constants(name: str) -> str:
    tree = ada.load(name).tree
    poses = [body.placement for body in tree.bodies]
    poses += [pose for loop in tree.loops for pose in (loop.parent_pose, loop.child_pose, loop.turn)]
    found = [x for pose in poses for part in (pose.position, *pose.rotation.matrix()) for x in part]
    for own in (body.inertia for body in tree.bodies):
        found += [own.mass, *own.first_moment, *(x for row in own.about_origin for x in row)]
    return digest(np.array(found, dtype=float))


def elsewhere(tmp_path: Path, code: str, target: str = "host") -> dict[str, str]:
    """Pairs of words that code prints in a process for an older processor: numpy's loops, LAPACK, and kernels."""
    known = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])
    others = {"ADA_CACHE_DIR": str(tmp_path), "PYTHONHASHSEED": "7", "OPENBLAS_CORETYPE": "Prescott"}
    others |= {"NPY_DISABLE_CPU_FEATURES": " ".join(known)} if known else {}
    path = os.pathsep.join([os.path.dirname(__file__), *sys.path])  # noqa: PTH120
    run = subprocess.run(
        [sys.executable, "-c", f"import sys\nsys.path[:0] = {sys.path!r}\n{textwrap.dedent(code)}"],
        env={**os.environ, **others, "PYTHONPATH": path, "ADA_TARGET": target},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    return dict(line.split() for line in run.stdout.splitlines())


@pytest.mark.parametrize("target", ["host", "avx2", "sse2"])
def test_another_process_gives_the_same_bits(target, tmp_path):
    if target != "host" and not runs_here(target):
        pytest.skip(f"this processor has no {target}")
    found = elsewhere(
        tmp_path,
        """
        import test_same_bits as here
        for name in here.FUSED:
            dynamics, states = here.world(name)
            print(name, here.digest(dynamics.forward(*states)))
        """,
        target,
    )
    assert found == (FUSED if Target.named(target).fma else PLAIN)


@pytest.mark.parametrize("target", ["avx3", "aarch64" if runs_here("sse2") else "avx2"])
def test_a_target_that_this_processor_does_not_have_is_refused(target, tmp_path):
    with pytest.raises(AssertionError) as found:
        elsewhere(tmp_path, "from ada_dynamics.jit import Target; Target.host()", target)
    assert "InputError" in str(found.value)


def test_robots_of_the_catalogue_have_the_same_constants_on_another_processor(tmp_path):
    code = """
        import test_same_bits as here
        for name in here.ada.robots():
            print(name, here.constants(name))
    """
    assert elsewhere(tmp_path, code) == {name: constants(name) for name in ada.robots()}


KERNELS = ["specialised", "generic"]


def answers(model: ada.Model, states: Any, **options: str) -> list[Any]:
    """One state, a batch, wrenches, and quantities of other shapes."""
    (Q, V, U), d = map(np.array, states), ada.Dynamics(model, **options)
    wrench = {"tool": np.arange(6.0), "trunk": np.ones(6)}
    found = [
        d.forward(Q[0], V[0], U[0]), d.forward(Q, V, U), d.inverse(Q[1], V[1], U[1]),
        d.forward(Q[0], V[0], U[0], wrench), d.inverse(Q, V, U, wrench),
        d.mass_matrix(Q[0]), d.bias(Q, V), d.jacobian("tool", Q[0]), d.energy(Q[0], V[0]),
    ]  # fmt: skip
    return found + ([] if options.get("kernel") == "generic" else list(d.forward_derivatives(Q[0], V[0], U[0])))


ELSEWHERE = """
import sys
sys.path[:0] = sys.argv[1].split(":")
from test_same_bits import KERNELS, ada, answers, json, np, pickle
model, states = pickle.loads(bytes.fromhex(sys.argv[2]))
print(json.dumps([[np.asarray(x).tolist() for x in answers(model, states, kernel=kernel)] for kernel in KERNELS]))
try:
    ada.Dynamics(model, kernel="generic").forward(states[0][0] * np.nan, states[1][0], states[2][0])
except ada.InputError as error:
    print(error)
"""


def test_without_the_jit_the_answers_are_the_same() -> None:
    model = oblique()
    states = states_of(model, 3)
    found = subprocess.run(
        [sys.executable, "-c", ELSEWHERE, f"{Path(__file__).parent}:{SUPPORT}", pickle.dumps((model, states)).hex()],
        env={**os.environ, "ADA_JIT": "off", "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=True, timeout=300,
    )  # fmt: skip
    first, refusal = found.stdout.splitlines()
    assert found.stderr.count("ADA_JIT=off") == 1, "one clear line in the log"
    assert refusal.startswith("q[0] is nan (joint 'root_joint')")
    for result, kernel in zip(json.loads(first), KERNELS, strict=True):
        for ours, theirs in zip(result, answers(model, states, kernel=kernel), strict=True):
            # other sine and cosine, no fused operations; the mass matrix has condition 1e3
            assert np.max(np.abs(np.array(ours) - np.array(theirs))) < 1e-11 * np.max(np.abs(np.array(theirs)))


CROSS = shutil.which("aarch64-linux-gnu-gcc")
QEMU = shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static")
MAIN = """
#include <stdio.h>
int kernel(double *, double *, double *, double *);
int main(void) {
  static double q[%(nq)d], v[%(nv)d], u[%(nv)d], a[%(nv)d];
  while (fread(q, sizeof q, 1, stdin) == 1 && fread(v, sizeof v, 1, stdin) == 1 && fread(u, sizeof u, 1, stdin) == 1) {
    if (kernel(q, v, u, a)) return 1;
    fwrite(a, sizeof a, 1, stdout);
  }
  return 0;
}
"""


@pytest.mark.skipif(CROSS is None or QEMU is None, reason="needs qemu-user and gcc-aarch64-linux-gnu")
@pytest.mark.parametrize("name", FUSED)
def test_an_arm_processor_gives_the_same_bits(name, tmp_path):
    target, (q, v, u) = Target.named("aarch64"), world(name)[1]
    (tmp_path / "kernel.o").write_bytes(compile_text(scalar.module(function(name), target), target, level=0))
    (tmp_path / "main.c").write_text(MAIN % {"nq": q.shape[1], "nv": v.shape[1]})
    program = tmp_path / "program"
    subprocess.run(
        [str(CROSS), "-static", "-O1", tmp_path / "main.c", tmp_path / "kernel.o", "-o", program], check=True
    )
    fed = b"".join(x.astype("<f8").tobytes() for row in zip(q, v, u, strict=True) for x in row)
    run = subprocess.run([str(QEMU), program], input=fed, capture_output=True, check=True)
    assert digest(np.frombuffer(run.stdout)) == FUSED[name]
