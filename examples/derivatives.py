# SPDX-License-Identifier: Apache-2.0
"""Exact derivatives of the dynamics, and a linear controller made of them: no finite differences anywhere."""

import numpy as np

import ada_dynamics as ada

model = ada.load("pa10")
dyn = ada.Dynamics(model)
n = model.nv
q, v = np.full(n, 0.4), np.zeros(n)  # pose to hold [rad], at rest [rad/s]
tau = dyn.gravity(q)  # efforts that hold it [N m]

by = dyn.forward_derivatives(q, v, tau)  # ∂a/∂q, ∂a/∂v, ∂a/∂τ

# ẋ = A x + B u about that pose, x = [q - pose, v].
A = np.block([[np.zeros((n, n)), np.eye(n)], [by.dq, by.dv]])
B = np.vstack([np.zeros((n, n)), by.du])

# ∂a/∂τ is the inverse of the mass matrix, so these efforts make every joint a damped oscillator of 2 rad/s.
M = dyn.mass_matrix(q)
K = np.hstack([M @ (by.dq + 4.0 * np.eye(n)), M @ (by.dv + 4.0 * np.eye(n))])
print("fastest growth of the arm alone [1/s]:", round(max(np.linalg.eigvals(A).real), 3))
print("poles with the controller [1/s]:", np.round(np.linalg.eigvals(A - B @ K).real.mean(), 3), "(wanted: -2)")

step = 1e-6  # [rad]
change = (dyn.forward(q + step * np.eye(n)[1], v, tau) - dyn.forward(q - step * np.eye(n)[1], v, tau)) / (2 * step)
print(f"finite differences agree to {abs(change - by.dq[:, 1]).max():.1e}")
