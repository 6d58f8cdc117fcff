# SPDX-License-Identifier: Apache-2.0
"""Sub-chains derived symbolically and assembled; equal ones are computed side by side, in lanes."""
