# SPDX-License-Identifier: Apache-2.0
"""The simulated robot behind dynamics_node: its plant, the thread that moves it, topics and services."""
