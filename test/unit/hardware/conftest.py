# SPDX-License-Identifier: Apache-2.0
"""`ada hw` in the process of the test."""

from hw_command import ada

__all__ = ["ada"]
