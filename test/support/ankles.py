# SPDX-License-Identifier: Apache-2.0
"""Three public ankles of humanoids, each with the closed form of its motors, derived by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

import ada_dynamics as ada
from ada_dynamics.arrays import Array


def turned_x(angle: float) -> Array:
    """Rotation about x by an angle [rad]."""
    return Rotation.from_euler("x", angle).as_matrix()


def turned_y(angle: float) -> Array:
    """Rotation about y by an angle [rad]."""
    return Rotation.from_euler("y", angle).as_matrix()


class Ankle(NamedTuple):
    """A transmission, its motors at given pitch and roll in closed form, and half the ranges of pitch and roll."""

    transmission: ada.Transmission
    motors: Callable[[float, float], list[float]]
    ranges: tuple[float, float]


def crank_angle(reach: Array, tip: Array, axis: Array, rod: float, near: float = 0.0) -> float:
    """Angle about an axis after which the tip of a crank, perpendicular to it, is a rod's length from a point.

    |reach - R tip| = rod with R tip = tip cos + (axis x tip) sin:
    (reach . tip) cos + (reach . axis x tip) sin = (reach² + tip² - rod²) / 2.
    """
    a, b = reach @ tip, reach @ np.cross(axis, tip)
    spread = np.arccos((reach @ reach + tip @ tip - rod**2) / (2.0 * np.hypot(a, b)))
    both = np.arctan2(b, a) + np.array([spread, -spread]) - near
    folded = np.arctan2(np.sin(both), np.cos(both))
    return float(folded[np.argmin(np.abs(folded))] + near)


def parallelogram() -> Ankle:
    """Cranks and rods parallel to lever and shank, sizes of github.com/HuNingHe/closed_loop_ankle (commit 02d039a0)."""
    lever, width, heights = 0.12, 0.06, (0.49, 0.37)
    text = '<robot name="ankle"><link name="shank"/>'
    for joint, parent, axis in (("pitch", "shank", "0 1 0"), ("roll", "pitch", "1 0 0")):
        text += (
            f'<link name="{joint}"/><joint name="ankle_{joint}" type="continuous"><parent link="{parent}"/>'
            f'<child link="{joint}"/><axis xyz="{axis}"/></joint>'
        )
    parts: dict[str, list[object]] = {"links": [], "joints": [], "loops": [], "passive": ["ankle_pitch", "ankle_roll"]}
    for name, side, height in (("left", 1, heights[0]), ("right", -1, heights[1])):
        crank, rod, y = f"{name}_crank", f"{name}_rod", side * width
        parts["links"] += [{"name": link, "mass": 0.1, "inertia": [1e-4] * 3} for link in (crank, rod)]
        motor = {"type": "revolute", "axis": [0, 1, 0], "parent": {"link": "shank", "xyz": [0, y, height]}}
        hinge = {"type": "universal", "axis": [0, 1, 0], "axis2": [1, 0, 0]}
        joint = {**hinge, "parent": {"link": crank, "xyz": [-lever, 0, 0]}}
        parts["joints"] += [{"name": crank, "child": crank, **motor}, {"name": rod, "child": rod, **joint}]
        ends = {"parent": {"link": rod, "xyz": [0, 0, -height]}, "child": {"link": "roll", "xyz": [-lever, y, 0]}}
        parts["loops"].append({"name": f"{name}_end", "type": "spherical", **ends})
        parts["passive"].append(rod)
    model = ada.load(f"{text}</robot>", loops=parts)
    ankle = ada.Transmission(model, ["left_crank", "right_crank"], ["ankle_pitch", "ankle_roll"])

    def motors(pitch: float, roll: float) -> list[float]:
        found = []
        for side, height in ((1, heights[0]), (-1, heights[1])):
            end = turned_y(pitch) @ turned_x(roll) @ [-lever, side * width, 0.0]
            reach = end - [0.0, side * width, height]
            found.append(crank_angle(reach, np.array([-lever, 0.0, 0.0]), np.array([0.0, 1.0, 0.0]), height))
        return found

    return Ankle(ankle, motors, (0.4, 0.3))


G1 = "".join(
    f'<link name="{side}_knee_link"/><joint name="{side}_knee" type="fixed"><parent link="pelvis"/>'
    f'<child link="{side}_knee_link"/></joint><link name="{side}_ankle_pitch_link"/>'
    f'<link name="{side}_ankle_roll_link"><inertial><mass value="0.608"/><origin xyz="0.0265 0 -0.0164"/>'
    '<inertia ixx="2e-4" iyy="2e-3" izz="2e-3" ixy="0" '
    f'ixz="0" iyz="0"/></inertial></link><joint name="{side}_ankle_pitch_joint" type="revolute"><parent '
    f'link="{side}_knee_link"/><child link="{side}_ankle_pitch_link"/><origin xyz="0 {sign}9.4445e-05 -0.30001"/><axis '
    f'xyz="0 1 0"/><limit lower="-0.87267" upper="0.5236" effort="35" velocity="30"/></joint><joint '
    f'name="{side}_ankle_roll_joint" type="revolute"><parent link="{side}_ankle_pitch_link"/><child '
    f'link="{side}_ankle_roll_link"/><origin xyz="0 0 -0.017558"/><axis xyz="1 0 0"/><limit lower="-0.2618" '
    'upper="0.2618" effort="35" velocity="30"/></joint>'
    for side, sign in (("left", "-"), ("right", ""))
)


def g1() -> Ankle:
    """Left ankle of the Unitree G1, whose axes of pitch and roll do not intersect; its sizes are those of the file."""
    model = ada.load(f'<robot name="g1"><link name="pelvis"/>{G1}</robot>', loops="g1_ankles")  # both ankles
    names = [f"left_ankle_{k}_motor" for k in ("lower", "upper")]
    joints = ["left_ankle_pitch_joint", "left_ankle_roll_joint"]

    def motors(pitch: float, roll: float) -> list[float]:
        found = []
        for y, motor, tip in (
            (0.015, (0.035, 0.0, 0.15087), (0.0, 0.01653, -0.00397)),
            (-0.015, (0.0395, 0.0, 0.21587), (0.0, -0.01636, -0.00462)),
        ):
            offset, end = np.array([0.0, 0.0, -0.017558]), np.array([0.022, y, 0.008])
            rod = np.linalg.norm(offset + end - motor - tip)
            reach = turned_y(pitch) @ (offset + turned_x(roll) @ end) - motor
            found.append(crank_angle(reach, np.array(tip), np.array([1.0, 0.0, 0.0]), rod))
        return found

    return Ankle(ada.Transmission(model, names, joints), motors, (0.35, 0.2))


RH5_LINKS = {  # masses [kg]
    "LLAnkleBase": 0.0,
    "LLAnkleRoll": 0.025,
    "LLAnklePitch": 1.235,
    "LLAnkle_E11": 0.025,
    "LLAnkle_E21": 0.025,
    "LLAnkle_B11": 0.0065,
    "LLAnkle_B12": 0.627,
    "LLAnkle_Act1": 0.079,
    "LLAnkle_B21": 0.0065,
    "LLAnkle_B22": 0.627,
    "LLAnkle_Act2": 0.079,
}
RH5_JOINTS = (  # name, type, parent, xyz, rpy, axis
    ("LLAnkleRoll", "revolute", "LLAnkleBase", "0 0 0", "0 0 0", "1 0 0"),
    ("LLAnklePitch", "revolute", "LLAnkleRoll", "0 0 0", "0 0 0", "0 1 0"),
    ("LLAnkle_E11", "revolute", "LLAnklePitch", "-0.07 0.04 0", "0.05066 0 0", "1 0 0"),
    ("LLAnkle_E21", "revolute", "LLAnklePitch", "-0.07 -0.04 0", "-0.05066 0 0", "1 0 0"),
    ("LLAnkle_B11", "revolute", "LLAnkleBase", "-0.0223 0.025 0.29127", "3.091 -0.174503 3.14159", "1 0 0"),
    ("LLAnkle_B12", "revolute", "LLAnkle_B11", "0 0 0", "0 -0.0060102 0", "0 1 0"),
    ("LLAnkle_Act1", "prismatic", "LLAnkle_B12", "0 0 0.26597", "0 0 0", "0 0 1"),
    ("LLAnkle_B21", "revolute", "LLAnkleBase", "-0.0223 -0.025 0.29127", "-3.09098 -0.174503 3.14159", "1 0 0"),
    ("LLAnkle_B22", "revolute", "LLAnkle_B21", "0 0 0", "0 -0.0060102 0", "0 1 0"),
    ("LLAnkle_Act2", "prismatic", "LLAnkle_B22", "0 0 0.26597", "0 0 0", "0 0 1"),
)


def rh5() -> Ankle:
    """Left ankle of the RH5 (2SPRR+1U) with linear actuators, sizes of github.com/ARC-OPT/wbc (commit 3c48916b)."""
    text = "".join(
        f'<link name="{name}_Link"><inertial><mass value="{mass}"/><inertia ixx="{1e-3 * mass}" iyy="{1e-3 * mass}" '
        f'izz="{1e-3 * mass}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        for name, mass in RH5_LINKS.items()
    ) + "".join(
        f'<joint name="{name}" type="{kind}"><parent link="{parent}_Link"/><child link="{name}_Link"/>'
        f'<origin xyz="{xyz}" rpy="{rpy}"/><axis xyz="{axis}"/>'
        '<limit lower="-1" upper="1" effort="571" velocity="0.266"/></joint>'
        for name, kind, parent, xyz, rpy, axis in RH5_JOINTS
    )
    model = ada.load(f'<robot name="rh5">{text}</robot>', loops="rh5_ankle")
    ankle = ada.Transmission(model, ["LLAnkle_Act1", "LLAnkle_Act2"], ["LLAnklePitch", "LLAnkleRoll"])

    def motors(pitch: float, roll: float) -> list[float]:
        """Strokes: the hinge at the foot turns until its plane contains the other end of the actuator."""
        foot, found = turned_x(roll) @ turned_y(pitch), []
        for side in (1, -1):
            x, y, z = foot.T @ [-0.0223, side * 0.025, 0.29127] - [-0.07, side * 0.04, 0.0]
            found.append(np.hypot(x, np.hypot(y, z) - 0.03) - 0.26597)
        return found

    return Ankle(ankle, motors, (0.5, 0.4))


ANKLES: dict[str, Callable[[], Ankle]] = {"parallelogram": parallelogram, "g1": g1, "rh5": rh5}
