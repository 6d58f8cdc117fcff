# SPDX-License-Identifier: Apache-2.0
"""Files of logs: MCAP with ROS 2 messages, written during a simulation; NPZ; CSV."""
