# SPDX-License-Identifier: Apache-2.0
"""Serial arms: reach, pose and Jacobian, and stability in contact."""
