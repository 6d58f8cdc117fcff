# SPDX-License-Identifier: Apache-2.0
"""What this machine has of all that the package can use: checks for `ada doctor`."""

from ada_tools.doctor.examination import examine

__all__ = ["examine"]
