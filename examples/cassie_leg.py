# SPDX-License-Identifier: Apache-2.0
"""Forces in the two rods of a Cassie-like leg that stands: in closed loops, each joint carries what it must."""

import numpy as np

import ada_dynamics as ada
from ada_dynamics.model.edit import lock
from ada_dynamics.robots.catalogue import start_of

LOAD = 160.0  # [N], half of the robot's weight, from the ground to the foot
BALL = np.array([0.06, 0.0, -0.04])  # where it acts, in the foot [m]

leg, q = ada.load("cassie_leg"), start_of("cassie_leg")
q[leg.q_index("hip_roll")] = q[leg.q_index("hip_yaw")] = 0.0  # the loops are below the hip
model = lock(leg, {"shin": 0.0, "heel": 0.0})  # leaf springs as stiff as they are when they carry this load
q = ada.close_loops(model, np.delete(q, [leg.q_index("shin").start, leg.q_index("heel").start]))
print(f"mobility {q.mobility}, {len(model.actuated)} motors")

dyn, rest = ada.Dynamics(model), np.zeros(model.nv)
up = dyn.pose("foot", q)[:3, :3].T @ (0, 0, LOAD)
ground = {"foot": [*up, *np.cross(BALL, up)]}  # about the origin of the foot, in its axes
efforts = dyn.inverse(q, rest, rest, ground)  # of the motors
for name in model.actuated:
    print(f"{name:12} {efforts[model.v_index(name)][0]:9.3f} N m")

wrenches = dyn.joint_wrenches(q, rest, efforts, ground)
for rod, end in (("achilles", "achilles_end"), ("plantar", "plantar_end")):
    pull = wrenches[f"{rod}_2"][2]  # along the rod, on its upper end; less than zero where the rod is drawn out
    print(
        f"{rod:12} {abs(pull):9.3f} N of {'tension' if pull < 0 else 'compression'}, unique: {wrenches.unique[end][:3]}"
    )
for spring in ("shin", "heel"):
    print(f"{spring:12} {wrenches[spring][4]:9.3f} N m in the leaf spring")
