# SPDX-License-Identifier: Apache-2.0
"""The node that runs controllers: ROS 2 around the library, translation only."""
