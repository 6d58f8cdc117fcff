# SPDX-License-Identifier: Apache-2.0
"""Real robots and sensors: PA-10, KHR-1 and KHR-3HV, HEXA, force/torque sensors; the same code drives emulators."""
