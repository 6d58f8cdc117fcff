# SPDX-License-Identifier: Apache-2.0
"""Topics on disk: MCAP files of messages as they were on the wire, for ROS 2 bags and viewers; no rclpy in here."""
