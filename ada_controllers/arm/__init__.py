# SPDX-License-Identifier: Apache-2.0
"""Serial arms: pose, Jacobian and reach; closed-form kinematics of the PA-10."""
