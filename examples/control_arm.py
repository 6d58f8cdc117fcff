# SPDX-License-Identifier: Apache-2.0
"""One arm under three control laws by name: computed torque, PID control, and springs at its hand."""

import numpy as np

import ada_dynamics as ada
from ada_controllers import JointReference, PoseReference, make
from ada_controllers.in_simulation import InSimulation
from ada_dynamics.simulation import rectangle

model = ada.load("pa10")
dynamics = ada.Dynamics(model)
start = np.array([0.2, 0.5, -0.3, 1.0, 0.2, 0.6, 0.1])
goal = start + np.radians(5.0)


def run(name, settings, reference, seconds, **options):
    """Settings by name; the log, and what the controller said."""
    loop = InSimulation(make(name, model, settings), reference)
    return loop.simulation(model, start, step=1e-3, **options).run(seconds), loop


# 1. Errors die out as ë + 2 w ė + w² e = 0, whatever the arm's pose.
w = 8.0
log, loop = run("computed_torque", {"stiffness": [w * w], "damping": [2.0 * w]}, JointReference(goal), 2.0)
wanted = (goal - start) * ((1.0 + w * log.t) * np.exp(-w * log.t))[:, None]
print(f"computed torque: at most {np.degrees(np.abs(goal - log.q - wanted).max()):.4f} deg off its closed form")

# 2. Joint by joint, without a model: the sum finds the weight.
gains = {"gain": [2000.0, 2000.0, 500.0, 500.0, 20.0, 20.0, 10.0], "integral_time": [1.0], "derivative_time": [0.1]}
log, loop = run("pid", gains, JointReference(goal), 6.0)
held, weight = loop.signals["integral"][-1], dynamics.gravity(log.q[-1])
left, off = np.degrees(np.abs(goal - log.q[-1]).max()), np.abs(held - weight).max()
print(f"PID: {left:.4f} deg left after 6 s; its sums hold the weight to {off:.3f} N m")
print(f"     {loop.controller.saturations} of {len(loop.times)} commands were cut to the motors' limits")

# 3. Springs at the hand: pushed with 20 N for two seconds, it gives way by F / K and comes back.
pose = dynamics.pose("flange", start)
push = rectangle("flange", (20.0, 0.0, 0.0, 0.0, 0.0, 0.0), start=0.5, duration=2.0, frame="world")
springs = {"space": "link", "link": "flange", "linear_stiffness": [1000.0], "damping_ratio": 1.0}
log, loop = run("impedance", springs, PoseReference(pose), 5.0, external=[push])
moved = dynamics.pose("flange", log.q)[:, 0, 3] - pose[0, 3]
print(f"impedance: {1e3 * moved[2490]:.2f} mm under 20 N at 1000 N/m, {1e3 * moved[-1]:.2f} mm after it")
