# SPDX-License-Identifier: Apache-2.0
"""The Jacobian of a hand: its velocity from the joints' velocities, and joint efforts from a force at the hand."""

import numpy as np

import ada_dynamics as ada

model = ada.load("pa10")
dyn = ada.Dynamics(model)
hand = model.link_names[-1]
q, v = model.random_state(np.random.default_rng(1))  # [rad], [rad/s]

J = dyn.jacobian(hand, q)  # rows: linear [m], angular [1], in the world's axes at the hand
velocity = dyn.velocity(hand, q, v)  # [m/s] and [rad/s]
print(f"J v is the hand's velocity to {abs(J @ v - velocity).max():.1e}")

wrench = np.array([0, 0, -50, 0, 0, 0])  # 50 N downward on the hand [N, N m], world's axes
print("efforts that resist it [N m]:", np.round(-J.T @ wrench, 2))

# How well the arm can move its hand there: 0 at a singular pose.
print(f"manipulability: {np.sqrt(np.linalg.det(J @ J.T)):.4f}")

# Acceleration of the hand = J a + J̇ v.
a = dyn.forward(q, v, np.zeros(model.nv))  # [rad/s²]
acceleration = J @ a + dyn.jacobian_rate(hand, q, v) @ v
print(f"J a + J̇ v is its acceleration to {abs(acceleration - dyn.acceleration(hand, q, v, a)).max():.1e} m/s²")
