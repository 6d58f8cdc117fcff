# SPDX-License-Identifier: Apache-2.0
"""Command checks: joint limits, age, position jumps; no ROS."""
