# SPDX-License-Identifier: Apache-2.0
"""100 000 states by one call: a leading axis makes a batch."""

import time

import numpy as np

import ada_dynamics as ada

STATES = 100_000
model = ada.load("pa10")
dyn = ada.Dynamics(model)

rng = np.random.default_rng(0)
q = rng.uniform(-1.5, 1.5, (STATES, model.nq))  # [rad], a row for each state
v = rng.normal(size=(STATES, model.nv))  # [rad/s]
tau = np.zeros(model.nv)  # [N m]; one vector among batches counts for all states

dyn.forward(q[:8], v[:8], tau)  # the first call compiles, or fetches the kernel from the cache
start = time.perf_counter()
a = dyn.forward(q, v, tau)  # [rad/s²]
seconds = time.perf_counter() - start

print(f"{STATES} states in {seconds * 1e3:.1f} ms: {seconds / STATES * 1e9:.0f} ns each")
print(f"the same as one by one to {abs(a[7] - dyn.forward(q[7], v[7], tau)).max():.1e} rad/s²")
