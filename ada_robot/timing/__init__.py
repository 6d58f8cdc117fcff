# SPDX-License-Identifier: Apache-2.0
"""Threads that work at absolute deadlines, and how well they keep them; no ROS."""
