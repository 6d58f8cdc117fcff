# SPDX-License-Identifier: Apache-2.0
"""Adapters of other dynamics engines for comparisons: pinocchio and MuJoCo (the extra `oracle`)."""
