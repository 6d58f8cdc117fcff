# SPDX-License-Identifier: Apache-2.0
"""A case of the campaign."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

STOP = 0.5  # [s]: ten missed answers or the following error, the ramp, and what it takes to see it
HOST = 1.5  # [s]: host_timeout, the ramp, and what it takes to see it
WATCHED = 2.0  # [s] that a fault must be borne
ENDS = 20.0  # [s] after which a case has failed
TRIES = 3  # until a robot moves, to which something is to happen


class Outcome(NamedTuple):
    """Result of a case: final state, time until it [s], unsafe or lost data, and the reason that the robot reports."""

    state: str
    seconds: float
    problems: list[str]
    reason: str = ""


class Case(NamedTuple):
    """A fault, its allowed final states, and its time limit [s]."""

    name: str
    states: tuple[str, ...]
    limit: float
    run: Callable[[int], Outcome]
