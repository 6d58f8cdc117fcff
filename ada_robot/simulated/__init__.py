# SPDX-License-Identifier: Apache-2.0
"""Simulated robot: physics, input bounds, and a driver for the safety cycle; no ROS."""
