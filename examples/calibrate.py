# SPDX-License-Identifier: Apache-2.0
"""Calibrate a Stewart platform: where its 12 ball joints really are, from poses that a camera measured."""

import numpy as np
from scipy.spatial.transform import Rotation

import ada_dynamics as ada
from ada_dynamics.model import edit
from ada_dynamics.robots.mechanisms import stewart

POSES, NOISE, OFF = 60, 1e-4, 3e-3  # camera's deviation [m, rad]; what joints are off [m]
rng = np.random.default_rng(3)
model, home = stewart()
names = [f"leg_{i}_{place}{axis}" for i in range(1, 7) for place in ("hip.", "ball.child_") for axis in "xyz"]

# A length is a joint that stands still: zero as it was drawn, elsewhere as it was built.
robot = edit.adjustable(model, names)
dynamics, by = ada.Dynamics(robot), [*model.actuated, *names]
places = [robot.q_index(name).start for name in by]
start = np.zeros(robot.nq)
start[[k for name in model.joint_names for k in range(robot.nq)[robot.q_index(name)]]] = home


def closed(legs, lengths, near):
    """The pose with these lengths of legs, in a machine with these lengths."""
    near[places] = [*legs, *lengths]
    return ada.close_loops(robot, near, hold=by)


truth = OFF * rng.uniform(-1.0, 1.0, len(names))
strokes = start[places[:6]] + 0.12 * rng.uniform(-1.0, 1.0, (POSES, 6))
measured = [dynamics.pose("platform", closed(legs, truth, start.copy())) for legs in strokes]
for T in measured:
    T[:3, 3] += NOISE * rng.normal(size=3)
    T[:3, :3] = Rotation.from_rotvec(NOISE * rng.normal(size=3)).as_matrix() @ T[:3, :3]

found, poses, misses = np.zeros(len(names)), [start.copy() for _ in strokes], []
for turn in range(4):
    poses = [closed(legs, found, q) for legs, q in zip(strokes, poses, strict=True)]
    is_at = [dynamics.pose("platform", q) for q in poses]
    turned = [Rotation.from_matrix(T[:3, :3] @ A[:3, :3].T).as_rotvec() for T, A in zip(measured, is_at, strict=True)]
    missed = np.array([np.r_[T[:3, 3] - A[:3, 3], r] for T, A, r in zip(measured, is_at, turned, strict=True)])
    misses.append(np.sqrt(np.mean(missed**2)))
    print(f"step {turn}: poses missed by {1e3 * misses[-1]:.3f} mm, mrad")
    J = np.vstack([dynamics.jacobian("platform", q, coordinates=by)[:, 6:] for q in poses])
    found = found + np.linalg.lstsq(J, missed.ravel(), rcond=None)[0]
print(f"joints were off by {1e3 * abs(truth).max():.1f} mm, and are known to {1e3 * abs(found - truth).max():.2f} mm")
