# SPDX-License-Identifier: Apache-2.0
"""Arm PA-10 on ARCNET: packets, alarms, driver, emulator."""
