# SPDX-License-Identifier: Apache-2.0
"""Rules that look for mistakes in a robot description; `ada_dynamics.robots.lint.description` runs them."""
