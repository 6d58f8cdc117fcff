# SPDX-License-Identifier: Apache-2.0
"""One linkage in several spellings of closed loops: written, read back, and compared by its accelerations."""

import tempfile
from pathlib import Path

import numpy as np

import ada_dynamics as ada
from ada_dynamics.robots.writers import SPELLINGS, Inexpressible, write

model = ada.load("five_bar")
q, rest = ada.close_loops(model), np.zeros(model.nv)
a = ada.Dynamics(model).forward(q, rest, rest)

with tempfile.TemporaryDirectory() as folder:
    for name in SPELLINGS:
        ending = "xml" if name == "mjcf" else "urdf"
        try:
            main, *beside = write(model, Path(folder) / f"{name}.{ending}", name)
        except Inexpressible as problem:
            print(f"{name:11} cannot say it: {problem.refused[0].split(':')[0]}.")
            continue
        again = ada.load(main, loops=beside[0] if beside else None)
        error = np.abs(ada.Dynamics(again, q0=q).forward(q, rest, rest) - a).max()
        print(f"{name:11} {', '.join(p.name for p in (main, *beside)):36} same to {error:.0e} rad/s²")
        if name == "sidecar":
            text = beside[0].read_text(encoding="utf-8")
print(f"\nThe loop in our own spelling:\n{text}")
