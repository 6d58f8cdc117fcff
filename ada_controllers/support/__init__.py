# SPDX-License-Identifier: Apache-2.0
"""Robots on a support: coupling inertia and its null space, weight carried by motors, variable gains."""
