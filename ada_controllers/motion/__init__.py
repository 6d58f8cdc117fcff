# SPDX-License-Identifier: Apache-2.0
"""Motions of joints over time: profiles, splines through points, their exact extrema."""
