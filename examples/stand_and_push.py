# SPDX-License-Identifier: Apache-2.0
"""A small humanoid stands on its soles, is pushed, and keeps its feet: contact forces and the zero-moment point."""

import numpy as np

import ada_dynamics as ada
from ada_dynamics.analysis.balance import balance_of
from ada_dynamics.robots.catalogue import start_of
from ada_dynamics.simulation import CompiledController, half_sine

model = ada.load("khr1")
home = start_of("khr1")
contact = ada.Contact.of_soles(model)  # corner points of both feet


def servos(t, q, v):
    """Springs and dampers hold the home pose; the base has no motor."""
    joints = range(6, model.nv)
    return [0.0] * 6 + [-20.0 * (q[i + 1] - home[i + 1]) - 0.3 * v[i] for i in joints]


push = half_sine("trunk", (2.0, 0, 0, 0, 0, 0), start=1.0, duration=0.1, frame="world", at=(0.0, 0.0, 0.05))
sim = ada.Simulation(
    model,
    home,
    controller=CompiledController(servos),
    contact=contact,
    external=[push],
    integrator="semi_implicit",  # stiff contacts are implicit: stable at 1 ms
)
log = sim.run(3.0)

weight = model.total_mass * 9.81
force = sum(wrench[:, 2] for wrench in log.contact_wrenches.values())
balance = balance_of(log)
print(f"force of the ground: {force[-1]:.3f} N, weight {weight:.3f} N")
print(f"least margin of the zero-moment point: {1e3 * balance.margin[500:].min():.1f} mm inside the soles")
print(f"the trunk moved by {1e3 * np.ptp(log.q[500:, 0]):.1f} mm; it stands at {log.q[-1, 2]:.4f} m")
