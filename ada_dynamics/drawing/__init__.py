# SPDX-License-Identifier: Apache-2.0
"""Figures by matplotlib: plots, snapshots, animations; meshes, and the marks of viewers."""
