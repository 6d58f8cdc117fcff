# SPDX-License-Identifier: Apache-2.0
"""With ADA_JIT=off, in another process, every quantity is the same."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from paths import ROOT, SUPPORT
from random_trees import oblique, states_of

import ada_dynamics as ada

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
from test_without_jit import KERNELS, ada, answers, json, np, pickle
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
