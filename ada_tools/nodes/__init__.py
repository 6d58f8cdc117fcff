# SPDX-License-Identifier: Apache-2.0
"""ROS 2 nodes: they translate between topics, services, parameters and the library, and compute nothing themselves.

Only files of this folder import `rclpy` and message packages, and each that does says so; the others are plain Python.
"""
