# SPDX-License-Identifier: Apache-2.0
"""Serial arms: their reach and Jacobian, poses and twists, stability in contact."""
