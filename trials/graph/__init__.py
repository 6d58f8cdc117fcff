# SPDX-License-Identifier: Apache-2.0
"""Graphs of ROS 2 nodes for trials: each node a process of its own, on a DDS domain of this machine alone.

Nothing here imports rclpy but the programs `eye` and `commander`: who starts them can freeze, kill and
part them from one another, and go on.
"""
