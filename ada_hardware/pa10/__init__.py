# SPDX-License-Identifier: Apache-2.0
"""The arm PA-10 on ARCNET: packets, alarms, driver, emulator."""
