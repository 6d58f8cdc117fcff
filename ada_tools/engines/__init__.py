# SPDX-License-Identifier: Apache-2.0
"""Cross-checks against other engines: models, states and loops in pinocchio and MuJoCo."""
