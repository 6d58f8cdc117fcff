# SPDX-License-Identifier: Apache-2.0
"""Analysis of simulated and recorded motions: energy, momentum, balance, singular configurations, workspaces."""
