# SPDX-License-Identifier: Apache-2.0
"""Checks of states and references, and command limits, for all controllers."""
