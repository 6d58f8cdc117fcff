# SPDX-License-Identifier: Apache-2.0
"""A loop in fifteen lines: three rods from one pivot on the ground to another (Takahashi 2012, fig. 3.9)."""

import numpy as np

import ada_dynamics as ada

robot = ada.Builder("four_bar").link("ground")
for rod, carrier, height in (("crank", "ground", 0.0), ("coupler", "crank", 1.0), ("rocker", "coupler", 1.0)):
    robot.link(rod, mass=1.0, rod=1.0)  # [kg], length along z [m]
    robot.joint(rod, "revolute", carrier, rod, xyz=(0, 0, height), axis=(0, 1, 0))
robot.loop("closing", "revolute", "rocker", "ground", parent_xyz=(0, 0, 1), child_xyz=(1, 0, 0), axis=(0, 1, 0))
model = robot.build()
q = ada.close_loops(model, np.radians([130, -40, 220]))  # a rough guess is enough
dyn, rest = ada.Dynamics(model), np.zeros(3)
print(q.report())
print(f"crank: {dyn.forward(q, rest, rest)[0]:.12f} rad/s², closed form {1.2 * 9.81 * np.sin(q[0]):.12f} rad/s²")
closing = dyn.joint_wrenches(q, rest, rest)
print("force of the closing joint [N]:", closing["closing"][:3].round(6), "unique:", closing.unique["closing"][:3])
