# SPDX-License-Identifier: Apache-2.0
"""Published scenarios: those of the distributions with an entry point of the group `ada_dynamics.experiments`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ada_dynamics.resources import provided

EXPERIMENTS = "ada_dynamics.experiments"  # group of entry points
GROUPS: Mapping[str, tuple[str, ...]] = {
    "chapter2": ("T2.",),
    "chapter3": ("T3.",),
    "chapter4": ("T4.",),
    "chapter5": ("T5.",),
    "chapter6": ("T6.", "R"),
    "chapter7": ("T7.",),
    "pa10": ("Y",),
}
"""Groups of scenarios by name prefix; chapters are those of Takahashi 2012."""


def packages() -> tuple[Any, ...]:
    """Packages of published experiments."""
    return provided(EXPERIMENTS)


def published() -> dict[str, Path]:
    """Files of the published scenarios by name; empty if their distribution is not installed."""
    folders = [Path(str(package.__file__)).with_name("data") for package in packages()]
    return {path.stem: path for folder in folders for path in sorted(folder.glob("*.yaml"))}


def names_in(group: str) -> list[str]:
    """Scenarios of a group."""
    return [name for name in names() if name.startswith(GROUPS[group])]


def names() -> list[str]:
    """Published scenarios; empty if the distribution of the experiments is not installed."""
    return sorted(published())
