# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics of a Cassie-like leg: the foot swings along an arc, rods and all, with its springs at rest."""

import numpy as np

import ada_dynamics as ada
from ada_dynamics.robots.catalogue import start_of

POINTS, STRIDE, LIFT = 9, 0.3, 0.12  # [m]
LIMITS = {"hip_roll": (-0.3, 0.3), "knee": (0.6, 2.4), "foot_crank": (-0.7, 1.2)}  # [rad]

model, q = ada.load("cassie_leg"), start_of("cassie_leg")
q[model.q_index("hip_roll")] = q[model.q_index("hip_yaw")] = 0.0  # the loops are below the hip
dyn = ada.Dynamics(model, q0=q)  # compiled once for all goals
middle = dyn.pose("foot", q)
springs = ada.PostureTask(q, joints=["shin", "heel"])

poses = []
print("  x [m]   z [m]   left [mm]  steps   hip   knee  crank [deg]")
for share in np.linspace(0.0, 1.0, POINTS):
    goal = middle.copy()  # the foot keeps its orientation
    goal[:3, 3] += ((share - 0.5) * STRIDE, 0.0, LIFT * np.sin(np.pi * share))
    foot = ada.PoseTask("foot", goal)
    found = ada.solve_ik(dyn, [foot, springs], q, limits=LIMITS)  # from the pose before: a warm start
    assert found.reached, (found.reason, found.distance, found.at_limit)
    q = found.q
    poses.append(q)
    angles = np.degrees([q[model.q_index(name)][0] for name in ("hip_pitch", "knee", "foot_crank")])
    x, _, z = goal[:3, 3]
    print(f"{x:7.3f} {z:7.3f} {1e3 * found.distance[0]:11.1e} {found.steps:6d} {np.round(angles, 2)}")

far = middle.copy()
far[:3, 3] -= (0, 0, 0.5)  # below the reach of the leg
found = ada.solve_ik(dyn, [ada.PositionTask("foot", far[:3, 3]), springs], q, limits=LIMITS)
print(f"0.5 m lower: reached {found.reached}, {found.reason}, {found.distance[0]:.3f} m left, at {found.at_limit}")
print(f"loops closed to {max(float(dyn.constraints.closure_error(pose)) for pose in [*poses, found.q]):.0e} m")
