# SPDX-License-Identifier: Apache-2.0
"""Joint motions over time: profiles, splines through points, exact extrema."""
