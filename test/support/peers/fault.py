# SPDX-License-Identifier: Apache-2.0
"""Rows of the table of faults: what is done to a scene, how it is undone, and the result."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

STOPS, GOES_ON, EITHER = "stops", "goes on", "either"
Do = Callable[[Any], object]  # to a scene


class Outcome(NamedTuple):
    """Result of a trial."""

    reaction: str
    safe_after: float
    unsafe: list[str]


class Fault(NamedTuple):
    """A row of the table."""

    name: str
    run: Callable[[int], Outcome]
    is_cheap: bool = False


def nothing(scene: Any) -> None:
    """Leave all as it is."""


def program_frozen(scene: Any) -> None:
    """The program gives no sign of life from here on."""
    scene.host_seen_at = scene.now


def held(of: Callable[[Any], Iterable[Any]] = lambda scene: [scene.peer], **values: object) -> tuple[Do, Do]:
    """Set switches of a scene's peer (or of something else of the scene), and put them back to what they were."""
    before: list[tuple[Any, str, object]] = []

    def set_all(scene: Any) -> None:
        before[:] = [(one, name, getattr(one, name)) for one in of(scene) for name in values]
        for one, name, _ in before:
            setattr(one, name, values[name])

    def put_back(scene: Any) -> None:
        for one, name, value in before:
            setattr(one, name, value)

    return set_all, put_back


cable_out = held(lambda scene: [scene.wire], is_pulled=True)
