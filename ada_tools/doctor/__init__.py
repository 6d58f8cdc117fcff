# SPDX-License-Identifier: Apache-2.0
"""Checks for `ada doctor`: what this machine has of all that the package can use."""

from ada_tools.doctor.examination import examine

__all__ = ["examine"]
