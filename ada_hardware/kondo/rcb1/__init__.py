# SPDX-License-Identifier: Apache-2.0
"""Kondo RCB-1 boards, two of which are on the serial line of a KHR-1."""
