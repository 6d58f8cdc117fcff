# SPDX-License-Identifier: Apache-2.0
"""Overconstrained linkages and a reference for their motions, which shares no code with the library."""
