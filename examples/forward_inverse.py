# SPDX-License-Identifier: Apache-2.0
"""Forward and inverse dynamics of a robot: the accelerations that efforts cause, and the efforts back from them."""

import numpy as np

import ada_dynamics as ada

model = ada.load("pa10")  # or the path of a .urdf or .xacro file
dyn = ada.Dynamics(model)
q, v = model.random_state(np.random.default_rng(0))  # positions [rad], velocities [rad/s]
tau = np.zeros(model.nv)  # joint efforts [N m]: the arm is let go
a = dyn.forward(q, v, tau)  # accelerations [rad/s²]
back = dyn.inverse(q, v, a)  # efforts that give these accelerations [N m]

print("accelerations [rad/s²]:", np.round(a, 3))
print(f"efforts found again to {abs(back - tau).max():.1e} N m")
