# SPDX-License-Identifier: Apache-2.0
"""Swing a four-bar up with a motor that cannot lift it: trajectory optimisation, its derivatives through the loop."""

from functools import lru_cache

import numpy as np
from scipy.optimize import Bounds, minimize

import ada_dynamics as ada
from ada_dynamics.robots import mechanisms

N, SECONDS, STRONGEST = 31, 3.0, 1.5  # knots, [s], [N m]; holding it in any pose takes 4.3 N m
DOWN, UP, CRANK = 2.98, -0.235, ["joint_1"]  # at rest [rad]
model, start = mechanisms.four_bar((0.4, 0.9, 0.8, 1.0), masses=(0.5, 0.8, 0.7), crank=DOWN)
dyn, h = ada.Dynamics(model), SECONDS / (N - 1)


@lru_cache(maxsize=1)
def closed(angles):
    """Poses with these angles of the crank."""
    poses = [start]
    for angle in angles:
        poses.append(ada.close_loops(model, [angle, *poses[-1][1:]], hold=CRANK))
    return np.array(poses[1:])


def states(z):
    """All coordinates from those of the crank, z = [angles, speeds, torques]."""
    q = closed(tuple(z[:N]))
    return (
        q,
        dyn.constraints.complete_velocity(q, z[N : 2 * N, None], coordinates=CRANK),
        np.outer(z[2 * N :], [1.0, 0.0, 0.0]),
    )


def defects(z):
    """Defects of the trapezoidal rule between knots, and errors at both ends."""
    pairs = (z[:N], z[N : 2 * N]), (z[N : 2 * N], dyn.forward(*states(z))[:, 0])
    missed = [x[1:] - x[:-1] - h / 2 * (rate[1:] + rate[:-1]) for x, rate in pairs]
    return np.concatenate([*missed, z[[0, N - 1]] - [DOWN, UP], z[[N, 2 * N - 1]]])


def slopes(z):
    """Their derivatives, exact ones."""
    by = [d[:, 0, 0] for d in dyn.forward_derivatives(*states(z), coordinates=CRANK)]
    step, mean, ends = np.diff(np.eye(N), axis=0), h / 2 * (np.eye(N)[1:] + np.eye(N)[:-1]), np.eye(N)[[0, -1]]
    none = 0.0 * ends
    of_speed = [-mean * by[0], step - mean * by[1], -mean * by[2]]
    return np.block([[step, -mean, 0.0 * mean], of_speed, [ends, none, none], [none, ends, none]])


effort = lambda z: (h * z[2 * N :] @ z[2 * N :], 2.0 * h * np.r_[np.zeros(2 * N), z[2 * N :]])  # noqa: E731
guess, most = np.r_[np.linspace(DOWN, UP, N), np.zeros(2 * N)], np.repeat([10.0, 30.0, STRONGEST], N)
motion = {"type": "eq", "fun": defects, "jac": slopes}
found = minimize(effort, guess, jac=True, method="SLSQP", bounds=Bounds(-most, most), constraints=motion)
angle, speed, torque = found.x.reshape(3, N)
print(f"up in {SECONDS} s with {abs(torque).max():.2f} N m, after {found.nit} steps: {found.message}")
print(
    f"defects {abs(defects(found.x)).max():.0e}, "
    f"loops open by {dyn.constraints.closure_error(states(found.x)[0]).max():.0e} m"
)
