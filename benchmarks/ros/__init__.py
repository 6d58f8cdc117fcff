# SPDX-License-Identifier: Apache-2.0
"""Timing of the dynamics node, with each participant in a process of its own."""
