# SPDX-License-Identifier: Apache-2.0
"""Force/torque sensor Robotiq FT 300 on a serial line (RS-485)."""
