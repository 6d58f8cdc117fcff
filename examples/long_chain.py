# SPDX-License-Identifier: Apache-2.0
"""A chain of 100 000 links: time and memory grow with the number of links alone.

`python long_chain.py 1000` takes another number of links. Most of the time goes into building the model in Python.
"""

import sys
import time

import numpy as np

import ada_dynamics as ada

links = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000

start = time.perf_counter()
model = ada.chain_3d(links)  # equal rods, joints about x, y, z in turn
dyn = ada.Dynamics(model)  # past 60 joints: one loop kernel for all robots, nothing is compiled per robot
rng = np.random.default_rng(0)
q, v, tau = (0.01 * rng.normal(size=links) for _ in range(3))  # [rad], [rad/s], [N m]
a = dyn.forward(q, v, tau)  # [rad/s²]
print(f"{links} links, ready after {time.perf_counter() - start:.1f} s")

start = time.perf_counter()
a = dyn.forward(q, v, tau)
seconds = time.perf_counter() - start
print(f"forward dynamics: {seconds * 1e3:.2f} ms, {seconds / links * 1e9:.0f} ns per link")

back = dyn.inverse(q, v, a)  # [N m]
weight = abs(dyn.gravity(q)).max()  # [N m]: the first joint carries all links
print(f"inverse dynamics gives the efforts back to {abs(back - tau).max() / weight:.1e} of what holds the weight")
