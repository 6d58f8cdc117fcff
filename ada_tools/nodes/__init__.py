# SPDX-License-Identifier: Apache-2.0
"""ROS 2 nodes: they translate between topics, services, parameters and the library, without computations of their own.

Only files that state it in their docstring import `rclpy` and message packages; the others are plain Python.
"""
