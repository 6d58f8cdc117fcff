# SPDX-License-Identifier: Apache-2.0
"""A linkage swings through the flat pose, where its loop loses rank and two branches of motion cross."""

import warnings

import numpy as np

import ada_dynamics as ada
from ada_dynamics.robots.mechanisms import four_bar

STEP, NOTHING = 1e-3, np.zeros(3)  # [s], [N m]
model, _ = four_bar(masses=(1.0, 2.0, 0.5), offset=0.1)  # a rhombus, all of whose rods can lie on one line
dyn = ada.Dynamics(model)
flat = np.array([np.pi / 2, 0.0, np.pi])

with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    dyn.forward(flat, NOTHING, NOTHING)
warnings.simplefilter("ignore", ada.SingularConfigurationWarning)  # it is meant to go there
print("at rest there:", str(said[0].message).split(": ", 1)[1].split(";")[0])
print("ways out of it:", [way.round(4).tolist() for way in dyn.constraints.branch_directions(flat)])


def step(q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The classical rule of fourth order, then back onto the loop."""
    kq, kv = [v], [dyn.forward(q, v, NOTHING)]
    for part in (0.5, 0.5, 1.0):
        at = q + part * STEP * kq[-1], v + part * STEP * kv[-1]
        kq.append(at[1])
        kv.append(dyn.forward(*at, NOTHING))
    weights = np.array([1, 2, 2, 1]) * STEP / 6
    return dyn.project_to_constraints(q + weights @ kq, v + weights @ kv)


q, v = dyn.project_to_constraints(flat - 0.2 * np.array([1, -1, 1]), np.array([2.0, -2.0, 2.0]))
start, states = sum(dyn.energy(q, v)), []
for _ in range(1000):
    q, v = step(q, v)
    states.append((*q, sum(dyn.energy(q, v)), dyn.constraints.state(q).sigma))
crank, coupler, _, energy, sigma = np.array(states).T
print(f"passed the flat pose {np.sum(np.diff(np.sign(np.cos(crank))) != 0)} times in 1 s, as near as {sigma.min():.0e}")
level = np.abs(np.cos(crank + coupler)).max()  # the coupler's slope: this branch keeps it level, the other does not
print(f"energy kept to {np.abs(energy - start).max() / abs(start):.0e}, the coupler level to {level:.0e}")
