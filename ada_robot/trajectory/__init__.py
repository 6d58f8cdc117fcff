# SPDX-License-Identifier: Apache-2.0
"""Joint trajectories: their points, the path through them, and the command at a time."""
