# SPDX-License-Identifier: Apache-2.0
"""Fixtures for tests with ROS 2 nodes and a browser."""

from ros_fixtures import beside, browser, fleet, other, ros

__all__ = ["beside", "browser", "fleet", "other", "ros"]
