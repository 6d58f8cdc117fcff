# SPDX-License-Identifier: Apache-2.0
"""What runs a controller beside a robot that may send anything, or nothing: the control cycle, hand-over, lateness."""
