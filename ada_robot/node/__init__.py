# SPDX-License-Identifier: Apache-2.0
"""Simulated robot of dynamics_node: physics thread, topics and services."""
