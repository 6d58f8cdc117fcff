# SPDX-License-Identifier: Apache-2.0
"""MCAP files of serialized messages, for ROS 2 bags and viewers; imports no rclpy."""
