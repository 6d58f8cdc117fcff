# SPDX-License-Identifier: Apache-2.0
"""Six-axis force/torque sensors, and what makes of their readings the force at the hand."""
