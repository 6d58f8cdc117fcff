# SPDX-License-Identifier: Apache-2.0
"""Topics of controller_node used by other nodes, below the node's name."""

TARGET = "target"
"""geometry_msgs/PoseStamped: present target pose in the base frame of the robot; only if there is one."""

JOINT_TARGET = "joint_target"
"""sensor_msgs/JointState: present target positions; only if there are any."""

POSE_REFERENCE = "pose_reference"
"""geometry_msgs/PoseStamped: reference pose."""

JOINT_REFERENCE = "joint_reference"
"""sensor_msgs/JointState: reference positions."""
