# SPDX-License-Identifier: Apache-2.0
"""Dynamics of models by pinocchio for comparisons (the extra `oracle`)."""
