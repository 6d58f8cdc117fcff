# SPDX-License-Identifier: Apache-2.0
"""Checks of `ada doctor`."""

from ada_tools.doctor.examination import examine

__all__ = ["examine"]
