# SPDX-License-Identifier: Apache-2.0
"""Periodic threads with absolute deadlines, and their timing statistics; no ROS."""
