# SPDX-License-Identifier: Apache-2.0
"""Connections of view_node: topics and services of a robot node and a controller."""
