# SPDX-License-Identifier: Apache-2.0
"""Checks of states and references, and commands within limits, for all controllers."""
