# SPDX-License-Identifier: Apache-2.0
"""What is looked at from outside the algorithms: another engine, pinocchio, to check them against."""
