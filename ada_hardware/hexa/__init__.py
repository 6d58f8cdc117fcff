# SPDX-License-Identifier: Apache-2.0
"""Motion table HEXA: kinematics in closed form, driver, servo, emulator."""
