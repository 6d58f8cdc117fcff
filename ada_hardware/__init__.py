# SPDX-License-Identifier: Apache-2.0
"""Drivers and emulators of robots and sensors: PA-10, KHR-1, KHR-3HV, HEXA, force/torque sensors."""
