# SPDX-License-Identifier: Apache-2.0
"""Design a Stephenson six-bar linkage: from dimensions to coupler curve, dead points, simulation and a film."""

import sys

import numpy as np

import ada_dynamics as ada
from ada_dynamics.analysis.linkages import coupler_curve, dead_points, transmission_angle

CRANK, COUPLER, ROCKER, ROD, OUTPUT = 0.3, 0.8, 0.7, 0.7, 0.8  # lengths [m]
PIVOT, OUTPUT_PIVOT, CORNER = (0.9, 0, 0), (-0.6, 0, 0.2), (-0.3, 0, 0.5)  # on the ground; on the coupler [m]
LINKS = {  # name: parent, its joint on the parent, length
    "crank": ("ground", (0, 0, 0), CRANK),
    "coupler": ("crank", (0, 0, CRANK), COUPLER),
    "rocker": ("ground", PIVOT, ROCKER),
    "rod": ("coupler", CORNER, ROD),
    "output": ("ground", OUTPUT_PIVOT, OUTPUT),
}
robot, axis = ada.Builder("six_bar").link("ground"), {"axis": (0, 1, 0)}
for name, (parent, at, size) in LINKS.items():
    robot.link(name, rod=size, density=1.5)  # [m, kg/m]
    robot.joint(name, "revolute", parent, name, xyz=at, **axis)
for pin, one, other in (("knee", "coupler", "rocker"), ("tip", "rod", "output")):
    ends = [(0, 0, LINKS[link][2]) for link in (one, other)]
    robot.loop(pin, "revolute", one, other, parent_xyz=ends[0], child_xyz=ends[1], **axis)
model = robot.actuated(["crank"]).build()
q0 = ada.close_loops(model, {"crank": 0.6, "coupler": 0.6, "rocker": -0.1, "rod": -1.6, "output": 0.3}, hold=["crank"])
dyn = ada.Dynamics(model, q0=q0)

crank = q0[0] + np.linspace(0, 2 * np.pi, 361)
turn, curve = coupler_curve(dyn, "coupler", "crank", crank, CORNER)
knee = ("rocker", (0, 0, ROCKER))
angle = np.degrees(transmission_angle(dyn, turn, ("coupler", (0, 0, 0)), knee, ("rocker", (0, 0, 0))))
line = np.hypot(PIVOT[0] - CRANK * np.sin(crank), CRANK * np.cos(crank))
known = np.degrees(np.arccos((COUPLER**2 + ROCKER**2 - line**2) / (2 * COUPLER * ROCKER)))
print("coupler curve [m]: ", np.ptp(curve[:, 0]).round(3), "wide,", np.ptp(curve[:, 2]).round(3), "high")
print(f"transmission angle [deg]: {angle.min():.9f}, closed form {np.minimum(known, 180 - known).min():.9f}")
print("dead points by the output, crank at [rad]:", dead_points(dyn, crank, turn, ["output"]).round(3))
log = ada.Simulation(model, q0, tau=[3.0, 0, 0, 0, 0]).run(2.0)
print(
    "the corner of the coupler moves",
    np.linalg.norm(np.diff(log.path("coupler", CORNER), axis=0), axis=1).sum().round(3),
    "m",
)
if len(sys.argv) > 1:  # such as six_bar.gif
    print(log.animate(sys.argv[1], trace=("coupler", CORNER)))
