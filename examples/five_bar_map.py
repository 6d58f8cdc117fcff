# SPDX-License-Identifier: Apache-2.0
"""Singular configurations of a five-bar linkage: Jacobian of its tip by the motors, map of its workspace, stiffness."""

import numpy as np

import ada_dynamics as ada
from ada_dynamics.analysis.singularity import point_jacobian, singularity_distance
from ada_dynamics.analysis.workspace import singularity_map
from ada_dynamics.robots.mechanisms import five_bar

L, WIDTH = 0.35, 0.3  # four equal links, distance of the pivots [m]
model, q = five_bar((L, L, L, L), width=WIDTH, tip=(0.15, 0.5))
dyn = ada.Dynamics(model, q0=q)
tip = {"link": "left_rod", "rows": "linear", "point": (0, 0, L)}

# All velocities from those of the two motors, and the rod's Jacobian by them.
v = dyn.constraints.complete_velocity(q, [1.0, -1.0])  # [rad/s]
print("all joints when the cranks open [rad/s]:", v.round(3))
print("rod's Jacobian by the motors:", dyn.jacobian("left_rod", q, coordinates="actuated").shape)

# Every place that the tip reaches without changing its way of assembly.
axes = {"x": np.linspace(-0.43, 0.73, 88), "z": np.linspace(-0.7, 0.7, 106)}  # [m]
map_ = singularity_map(dyn, q=q, axes=axes, **tip)
print("places reached:", map_.workspace.is_reached.sum(), "of", map_.workspace.is_reached.size)

# The rods lie on one line where the elbows are 2 L apart: then the tip moves while the motors stand.
z = np.sqrt(L**2 - (L - WIDTH / 2) ** 2)
for height in (0.5, 0.4, z + 0.01, z):
    at = singularity_distance(dyn, q=five_bar((L, L, L, L), width=WIDTH, tip=(0.15, height))[1], **tip)
    print(f"tip at {height:.4f} m: motors' share {at.parallel:.1e}, condition number {at.condition:.2f}")

J = point_jacobian(dyn, "left_rod", q, tip["point"], "actuated")[[0, 2]]  # of the tip along x and z by the motors
K = np.linalg.inv(J @ J.T / 100.0)  # motors of 100 N m/rad
print("stiffness of the tip along x and z [N/m]:", np.diag(K).round(1))
