# SPDX-License-Identifier: Apache-2.0
"""Timing and safety of robots with emulated devices."""
