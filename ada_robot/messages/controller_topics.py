# SPDX-License-Identifier: Apache-2.0
"""Topics of controller_node that others use, behind the node's name and a slash."""

TARGET = "target"
"""geometry_msgs/PoseStamped: the pose that is followed, in the frame of the robot's base; only while there is one."""

JOINT_TARGET = "joint_target"
"""sensor_msgs/JointState: positions that are followed; only while there are some."""

POSE_REFERENCE = "pose_reference"
"""geometry_msgs/PoseStamped: a pose to be followed."""

JOINT_REFERENCE = "joint_reference"
"""sensor_msgs/JointState: positions to be followed."""
