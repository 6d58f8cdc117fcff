# SPDX-License-Identifier: Apache-2.0
"""Kondo RCB-4 board of a KHR-3HV or KXR: up to 36 ICS servos on two buses, one serial line to the host."""
