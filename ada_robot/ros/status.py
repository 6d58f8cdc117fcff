# SPDX-License-Identifier: Apache-2.0
"""Status of one part of a node; no ROS (published by diagnostics.py)."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from numbers import Integral, Real
from types import MappingProxyType
from typing import NamedTuple

import numpy as np


class Level(enum.IntEnum):
    """Levels of diagnostic_msgs/DiagnosticStatus, in order of severity."""

    OK = 0
    WARN = 1
    ERROR = 2
    STALE = 3


class Status(NamedTuple):
    """Diagnostic status.

    Attributes:
        level: severity.
        message: one short sentence.
        values: values by name with unit, such as "period p99 [ms]".
    """

    level: Level
    message: str
    values: Mapping[str, object] = MappingProxyType({})


def value_text(value: object) -> str:
    """Format a diagnostic value: six digits, "true" and "false"."""
    if value is None:
        return ""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, Real) and not isinstance(value, Integral):
        return f"{float(value):.6g}"
    return str(value)
