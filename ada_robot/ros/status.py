# SPDX-License-Identifier: Apache-2.0
"""Health of one part of a node; no ROS in here (diagnostics.py publishes it)."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from numbers import Integral, Real
from types import MappingProxyType
from typing import NamedTuple

import numpy as np


class Level(enum.IntEnum):
    """Levels of diagnostic_msgs/DiagnosticStatus; the larger, the worse."""

    OK = 0
    WARN = 1
    ERROR = 2
    STALE = 3


class Status(NamedTuple):
    """A report.

    Attributes:
        level: how well it is.
        message: one short sentence.
        values: figures by name; units belong into the names: "period p99 [ms]".
    """

    level: Level
    message: str
    values: Mapping[str, object] = MappingProxyType({})


def value_text(value: object) -> str:
    """A figure as diagnostics show it: six digits, true and false as other ROS nodes write them."""
    if value is None:
        return ""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, Real) and not isinstance(value, Integral):
        return f"{float(value):.6g}"
    return str(value)
