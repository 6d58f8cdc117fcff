# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics of a DELTA robot: hold the plate, let the loops place the legs; and what the motors must hold."""

import numpy as np

import ada_dynamics as ada
from ada_dynamics.robots.mechanisms import delta

RADIUS, HEIGHT, POINTS = 0.15, -0.55, 6  # of a circle of the plate [m]

model = ada.load("delta")
q = ada.close_loops(model)  # a first pose, from all joints at zero
dyn, rest = ada.Dynamics(model, q0=q), np.zeros(model.nv)
motors = [model.q_index(name).start for name in model.actuated]

azimuths = np.linspace(0.0, 2 * np.pi, POINTS, endpoint=False)
path = [(RADIUS * np.cos(t), RADIUS * np.sin(t), HEIGHT) for t in azimuths]
angles, torques, error = [], [], 0.0
for position in path:
    q[model.q_index("platform")] = (*position, 0, 0, 0, 1)
    q = ada.close_loops(model, q, hold=["platform"])  # the pose before is the guess for the next
    angles.append(np.degrees(q[motors]))
    efforts = dyn.inverse(q, rest, rest)  # on the joints that have motors
    torques.append([efforts[model.v_index(name)][0] for name in model.actuated])
    error = max(error, float(np.abs(q - delta(position).q).max()))

print(" x [m]   y [m]   cranks [deg]             torques that hold it [N m]")
for (x, y, _), own, effort in zip(path, angles, torques, strict=True):
    print(f"{x:6.3f}  {y:6.3f}  {np.round(own, 2)!s:24} {np.round(effort, 3)}")
print(f"angles agree with the closed form to {error:.1e} rad")
