# SPDX-License-Identifier: Apache-2.0
"""Robots on a support: coupling inertia and its null space, the weight that motors carry, gains that vary."""
