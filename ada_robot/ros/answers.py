# SPDX-License-Identifier: Apache-2.0
"""Responses of services; no ROS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ada_dynamics.errors import AdaError


def answered(answer: Any, act: Callable[[], str]) -> Any:
    """Fill a std_srvs response with the result of `act`, or with its error."""
    try:
        answer.message, answer.success = act(), True
    except AdaError as problem:
        answer.message, answer.success = str(problem), False
    return answer
