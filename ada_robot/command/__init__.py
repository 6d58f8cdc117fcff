# SPDX-License-Identifier: Apache-2.0
"""Commands to joints: their limits and rules, the guard that refuses, trajectories over time; no ROS."""
