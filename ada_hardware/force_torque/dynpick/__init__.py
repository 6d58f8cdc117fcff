# SPDX-License-Identifier: Apache-2.0
"""Force/torque sensors Wacoh-Tech DynPick on a serial line."""
