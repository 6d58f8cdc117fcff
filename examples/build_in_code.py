# SPDX-License-Identifier: Apache-2.0
"""A double pendulum built in code, checked against its textbook equation."""

import numpy as np

import ada_dynamics as ada

LENGTH, MASS, G = 0.5, 2.0, 9.81  # [m], [kg], [m/s²]; point masses at the ends of massless rods

pendulum = ada.Builder("double_pendulum")
pendulum.link("ceiling")
pendulum.link("upper", mass=MASS, com=(0, 0, -LENGTH))
pendulum.link("lower", mass=MASS, com=(0, 0, -LENGTH))
pendulum.joint("shoulder", "revolute", "ceiling", "upper", axis=(0, 1, 0))
pendulum.joint("elbow", "revolute", "upper", "lower", xyz=(0, 0, -LENGTH), axis=(0, 1, 0))
model = pendulum.build()
dyn = ada.Dynamics(model)

q = np.array([0.3, -0.8])  # [rad]; the elbow's angle counts from the upper rod
v, tau = np.zeros(2), np.zeros(2)  # at rest [rad/s], free [N m]
a = dyn.forward(q, v, tau)  # [rad/s²]

# The textbook: two equal masses at rest, x and y the rods' angles to the vertical, L the length:
#   2 L ẍ + L cos(x - y) ÿ = -2 g sin x
#   L cos(x - y) ẍ + L ÿ = -g sin y
x, y = q[0], q[0] + q[1]
left = LENGTH * np.array([[2, np.cos(x - y)], [np.cos(x - y), 1]])
expected = np.linalg.solve(left, -G * np.array([2 * np.sin(x), np.sin(y)]))
found = np.array([a[0], a[0] + a[1]])  # angles to the vertical

print("accelerations to the vertical [rad/s²]:", found)
print(f"the textbook's to {abs(found - expected).max():.1e}")
print(f"energy: {dyn.energy(q, v).kinetic:.3f} J kinetic, {dyn.energy(q, v).potential:.3f} J potential")
