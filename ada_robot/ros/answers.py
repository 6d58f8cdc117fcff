# SPDX-License-Identifier: Apache-2.0
"""Answers of services; no ROS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ada_dynamics.errors import AdaError


def answered(answer: Any, act: Callable[[], str]) -> Any:
    """An answer of std_srvs with what was done, or why not."""
    try:
        answer.message, answer.success = act(), True
    except AdaError as problem:
        answer.message, answer.success = str(problem), False
    return answer
