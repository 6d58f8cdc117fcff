# SPDX-License-Identifier: Apache-2.0
"""RViz configurations of each robot: view point, fixed frame and displayed joint wrenches."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Picture:
    """An RViz configuration, stored in config/ under its name.

    Attributes:
        name: file name without extension.
        fixed_frame: fixed frame.
        joints: joints whose wrenches are displayed.
        distance: distance from the camera to the focal point [m].
        focus: height of the focal point [m].
        newton: arrow length of 1 N [m].
        newton_metre: arrow length of 1 N m [m].
        robot: catalogue name; "" for any robot.
        has_target: whether an interactive target is displayed.
        sensors: topics of force/torque sensors to display.
        is_simulated: whether the simulation publishes markers.
    """

    name: str
    fixed_frame: str
    joints: tuple[str, ...]
    distance: float
    focus: float
    newton: float
    newton_metre: float
    robot: str
    has_target: bool = False
    sensors: tuple[str, ...] = ()
    is_simulated: bool = True

    @property
    def file(self) -> str:
        """File name in config/."""
        return f"{self.name}.rviz"


_CLOSED_CHAIN = "closed_chain_"


def _mechanism(
    name: str, joints: tuple[str, ...], distance: float, focus: float, newton: float, newton_metre: float
) -> Picture:
    return Picture(f"{_CLOSED_CHAIN}{name}", "world", joints, distance, focus, newton, newton_metre, name)


_RHOMBUS = ("joint_1", "joint_2", "joint_3")
_KHR1_LEGS = ("left_hip_pitch", "left_ankle_roll", "right_hip_pitch", "right_ankle_roll")
_HOAP2_LEGS = ("right_hip_pitch", "right_ankle_roll", "left_hip_pitch", "left_ankle_roll")
_LEGS_OF_10 = ("joint_1", "joint_5", "joint_6", "joint_10")

# Arrow scale: the weight of the robot is about a third of its size.
PICTURES = {
    picture.name: picture
    for picture in (
        Picture("pa10_sim", "world", ("s1", "s2", "e1", "w1"), 2.8, 0.6, 0.001, 0.004, "pa10"),
        Picture("khr1_sim", "odom", _KHR1_LEGS, 0.9, 0.18, 0.01, 0.1, "khr1"),
        Picture("hoap2_sim", "odom", _HOAP2_LEGS, 1.4, 0.28, 0.002, 0.02, "hoap2"),
        Picture("hoap2_sim_10dof", "odom", _LEGS_OF_10, 1.4, 0.28, 0.002, 0.02, "hoap2_10dof"),
        Picture("hexa_sim", "world", ("leg_1_crank", "leg_3_crank", "leg_5_crank"), 2.0, -0.25, 0.004, 0.02, "hexa"),
        _mechanism("four_bar", (*_RHOMBUS, "closing"), 4.5, -0.4, 0.02, 0.02),
        _mechanism("slider_crank", ("crank", "rod", "slider", "guide"), 2.2, 0.1, 0.01, 0.05),
        _mechanism("five_bar", ("left_crank", "left_rod", "right_crank", "right_rod", "tip"), 1.8, 0.3, 0.01, 0.05),
        _mechanism("closed_4r", (*_RHOMBUS, "joint_4"), 4.5, -0.4, 0.02, 0.02),
        _mechanism("watt_six_bar", ("crank", "rocker", "rocker_pin", "outer_pin"), 3.0, 0.6, 0.01, 0.05),
        _mechanism("stephenson_six_bar", ("crank", "rocker", "rocker_pin", "outer_pin"), 3.0, 0.4, 0.01, 0.05),
        _mechanism("bennett", (*_RHOMBUS, "closing"), 2.0, 0.0, 0.01, 0.05),
        _mechanism("delta", ("leg_1_crank", "leg_2_crank", "leg_3_crank"), 2.0, -0.3, 0.01, 0.05),
        _mechanism("stewart", ("leg_1_slide", "leg_3_slide", "leg_5_slide"), 2.4, 0.35, 0.002, 0.02),
        Picture(
            "pa10_control",
            "world",
            ("s1", "s2", "e1", "w1", "flange_fixed"),
            2.8,
            0.6,
            0.001,
            0.004,
            "pa10",
            has_target=True,
        ),
        Picture(
            "closed_chain_control", "world", (*_RHOMBUS, "joint_4"), 4.5, 0.0, 0.02, 0.02, "planar_4r", has_target=True
        ),
        Picture("hoap2_balance", "world", ("joint_4", "joint_9"), 1.4, 0.28, 0.002, 0.02, "hoap2_standing"),
        Picture(
            "pa10_bringup",
            "world",
            (),
            2.8,
            0.6,
            0.005,
            0.05,
            "pa10",
            has_target=True,
            sensors=("/wrench",),
            is_simulated=False,
        ),
        Picture("khr1_bringup", "world", (), 0.9, 0.18, 0.01, 0.1, "khr1", is_simulated=False),
        Picture("ft_sensor", "netft", (), 0.6, 0.0, 0.005, 0.05, "", sensors=("/wrench",), is_simulated=False),
        Picture("display", "world", (), 2.5, 0.5, 0.01, 0.05, ""),
        Picture("robot_control", "world", (), 2.5, 0.0, 0.01, 0.05, "", has_target=True),
    )
}
# Mechanisms simulated by closed_chain.launch.py.
MECHANISMS = tuple(picture.robot for name, picture in PICTURES.items() if name == f"{_CLOSED_CHAIN}{picture.robot}")


def of_mechanism(name: str) -> Picture:
    """Configuration of a mechanism."""
    return PICTURES[f"{_CLOSED_CHAIN}{name}"]
