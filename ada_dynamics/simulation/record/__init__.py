# SPDX-License-Identifier: Apache-2.0
"""Logs on disk: MCAP with ROS 2 messages, written while a simulation runs; NPZ; CSV."""
