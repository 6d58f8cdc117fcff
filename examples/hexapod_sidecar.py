# SPDX-License-Identifier: Apache-2.0
"""Add the six legs of a hexapod to a URDF of base and platform by a sidecar file, and close its loops."""

import json
import tempfile
from pathlib import Path

import numpy as np

import ada_dynamics as ada
from ada_dynamics.spatial.orientation import pose_of, upper_quaternion

HEIGHT, GAP = 0.6, np.radians(20.0)  # of the platform [m], between two joints of a pair [rad]
URDF = f"""<robot name="hexapod"><link name="base"/><link name="platform"><inertial><mass value="10"/>
<inertia ixx="0.2" iyy="0.2" izz="0.4" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="platform" type="floating"><parent link="base"/><child link="platform"/><origin xyz="0 0 {HEIGHT}"/></joint>
</robot>"""
thirds = 2.0 * np.pi / 3.0 * np.arange(3)
below = np.ravel([(a - GAP / 2, a + GAP / 2) for a in thirds])
above = np.ravel([(a - np.pi / 3 + GAP / 2, a + np.pi / 3 - GAP / 2) for a in thirds])
feet = 0.5 * np.stack([np.cos(below), np.sin(below), 0 * below], axis=1)  # on the base [m]
heads = 0.3 * np.stack([np.cos(above), np.sin(above), 0 * above], axis=1)  # on the platform [m]

legs = {"links": [], "joints": [], "loops": [], "passive": ["platform"]}
reach = heads + np.array([0, 0, HEIGHT]) - feet
lengths = np.linalg.norm(reach, axis=1)
for i, (foot, head, (x, y, z), length) in enumerate(zip(feet, heads, reach, lengths, strict=True), start=1):
    rpy = [-np.arcsin(y / length), np.arctan2(x, z), 0]  # z along the leg
    legs["links"] += [
        {"name": f"{part}_{i}", "mass": 1, "inertia": [0.01, 0.01, 1e-3]} for part in ("sleeve", "piston")
    ]
    hip = {"type": "universal", "axis": [1, 0, 0], "axis2": [0, 1, 0], "child": f"sleeve_{i}"}
    slide = {"type": "prismatic", "axis": [0, 0, 1], "child": f"piston_{i}", "lower": -0.2, "upper": 0.2}
    legs["joints"].append({"name": f"hip_{i}", "parent": {"link": "base", "xyz": [*foot], "rpy": rpy}, **hip})
    legs["joints"].append({"name": f"slide_{i}", "parent": {"link": f"sleeve_{i}", "xyz": [0, 0, length]}, **slide})
    ends = {"parent": {"link": f"piston_{i}"}, "child": {"link": "platform", "xyz": [*head]}}
    legs["loops"].append({"name": f"ball_{i}", "type": "spherical", **ends})
    legs["passive"].append(f"hip_{i}")

with tempfile.TemporaryDirectory() as folder:
    robot, sidecar = Path(folder) / "hexapod.urdf", Path(folder) / "hexapod.loops.json"
    robot.write_text(URDF, encoding="utf-8")
    sidecar.write_text(json.dumps(legs, indent=1), encoding="utf-8")
    model = ada.load(robot, loops=sidecar)
print(model)
print("motors:", ", ".join(model.actuated))

pose = pose_of((0.05, -0.03, HEIGHT + 0.04), (0.1, -0.1, 0.2))
at = [*(pose[:3, 3] - (0, 0, HEIGHT)), *upper_quaternion(pose[:3, :3])]
q = ada.close_loops(model, {"platform": at}, hold="platform")
print(q.report())
strokes = [q[model.q_index(name)][0] for name in model.actuated]
known = np.linalg.norm(heads @ pose[:3, :3].T + pose[:3, 3] - feet, axis=1) - lengths
print("strokes [m]:", np.round(strokes, 6))
print("largest difference to the closed form:", f"{np.abs(strokes - known).max():.0e}", "m")
