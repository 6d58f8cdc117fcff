# SPDX-License-Identifier: Apache-2.0
"""Force/torque sensors with RDT records over UDP: ATI Net F/T, OnRobot HEX (OptoForce)."""
