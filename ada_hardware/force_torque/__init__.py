# SPDX-License-Identifier: Apache-2.0
"""Six-axis force/torque sensors, and the conversion of their readings to the contact wrench."""
