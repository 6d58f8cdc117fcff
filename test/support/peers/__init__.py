# SPDX-License-Identifier: Apache-2.0
"""Devices written a second time, and a judge of what reaches them, for tests of drivers and of safety."""
