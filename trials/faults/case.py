# SPDX-License-Identifier: Apache-2.0
"""What a case of the campaign is."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

STOP = 0.5  # [s]: ten missed answers or the following error, the ramp, and what it takes to see it
HOST = 1.5  # [s]: host_timeout, the ramp, and what it takes to see it
WATCHED = 2.0  # [s] that a fault must be borne
ENDS = 20.0  # [s] after which a case has failed
TRIES = 3  # until a robot moves, to which something is to happen


class CannotTryError(Exception):
    """This machine lacks what a case needs; the message says what."""


class Outcome(NamedTuple):
    """Result of a case: the state that it ended in, after how long [s], what was unsafe or lost, and who says why."""

    state: str
    seconds: float
    problems: list[str]
    reason: str = ""


class Case(NamedTuple):
    """A fault, the states that it may end in, and the time that it has [s]."""

    name: str
    states: tuple[str, ...]
    limit: float
    run: Callable[[int], Outcome]
