# SPDX-License-Identifier: Apache-2.0
"""An arm falls, is hit, and comes to rest under a controller; events, energy, a recording and a plot."""

import tempfile
from pathlib import Path

import numpy as np

import ada_dynamics as ada
from ada_dynamics.simulation import CompiledController, Event, half_sine

model = ada.load("pa10")
start = np.zeros(model.nq)
start[model.q_index("s2")] = 0.8

# 1. Without motors: energy is kept. A recording is written meanwhile; a killed run would leave all but its last chunk.
level = Event("the elbow is level with the shoulder", lambda t, q, v: q[1] - np.pi / 2)
with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "fall.mcap"
    fall = ada.Simulation(model, start, events=[level]).run(2.0, record=file)
    again = ada.Log.load(file)
assert np.array_equal(again.q, fall.q)
print(f"fall: {len(fall)} rows, energy drift {fall.energy_drift:.1e}, level at t = {fall.events[0].t:.6f} s")

# 2. The same with springs and dampers in the joints, compiled into the equations of motion, and a blow on the flange.
stiffness, damping = 2000.0, 60.0


def springs(t, q, v):
    """Efforts that pull back to the start; one law for numbers and for compiled code."""
    return [-stiffness * (q[i] - start[i]) - damping * v[i] for i in range(model.nv)]


blow = half_sine("flange", (0, 400, 0, 0, 0, 0), start=0.5, duration=0.05, frame="world")
held = ada.Simulation(
    model, start, controller=CompiledController(springs), external=[blow], integrator="semi_implicit"
).run(3.0)
moved = np.abs(held.q - held.q[400]).max(axis=1)
print(f"held: pushed by {np.degrees(moved.max()):.1f} deg, {np.degrees(moved[-1]):.2f} deg left after 2.5 s")

# 3. How exact is it? Eighth order to 1e-12 beside the fifth order at 1 ms.
exact = ada.Simulation(model, start, integrator="dop853", tolerance=1e-12, step=0.1).run(2.0)
print(f"rkf45 at 1 ms is off by {np.abs(exact.q[-1] - fall.q[-1]).max():.1e} rad after 2 s")
