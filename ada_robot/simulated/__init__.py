# SPDX-License-Identifier: Apache-2.0
"""A simulated robot: its physics, what it takes from outside, and the driver that makes it one more robot; no ROS."""
