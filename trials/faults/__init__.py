# SPDX-License-Identifier: Apache-2.0
"""Faults in robots that move, in recordings, and between nodes; every case ends in its state within its time."""
