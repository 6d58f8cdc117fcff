# SPDX-License-Identifier: Apache-2.0
"""The same motion in other engines."""
