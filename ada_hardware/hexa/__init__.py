# SPDX-License-Identifier: Apache-2.0
"""The motion table HEXA: kinematics in closed form, its servo, its emulator."""
