# SPDX-License-Identifier: Apache-2.0
"""A sweep as data: a scenario, what varies in it, and what is measured; run number i is a function of i alone."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ada_dynamics.errors import InputError
from ada_tools.scenario.scenario import START, Scenario
from ada_tools.sweep.axes import Axis, ListAxis, RandomAxis

KEEP = ("none", "failed", "all")
# Parts of a scenario that neither its motion nor its measures depend on: all others count.
IRRELEVANT = ("name", "title", "source", "claims", "statements", "figures", "experiment", "notes")


@dataclass(frozen=True, eq=False)
class Runs:
    """Values of runs by their number.

    Every combination of the listed values is there, each with the same `draws` of the random ones. Runs that differ in
    their start alone follow each other, since they can share a simulation.

    Attributes:
        axes: what varies.
        draws: how many times the random parameters are drawn; 1 where there are none.
        seed: of the random parameters.
    """

    axes: tuple[Axis, ...]
    draws: int
    seed: int

    def __len__(self) -> int:
        return math.prod(self._sizes)

    def changes(self, run: int) -> dict[str, Any]:
        """The values of a run by key, as `Scenario.with_changes` takes them."""
        found: dict[str, Any] = {}
        rest = run
        for axis in reversed(self._order):
            if isinstance(axis, ListAxis):
                rest, i = divmod(rest, len(axis.values))
                found[axis.key] = axis.values[i]
            else:
                rest, draw = divmod(rest, self.draws)
                found |= {random.key: random.value(self.seed, draw) for random in self.random}
        return {axis.key: found[axis.key] for axis in self.axes}

    @cached_property
    def random(self) -> tuple[RandomAxis, ...]:
        """The random axes."""
        return tuple(axis for axis in self.axes if isinstance(axis, RandomAxis))

    @cached_property
    def _order(self) -> tuple[ListAxis | None, ...]:
        """Axes from the slowest to the fastest; None stands for all random ones, which are drawn together."""
        lists = [axis for axis in self.axes if isinstance(axis, ListAxis)]
        others = [axis for axis in lists if not axis.key.startswith(START)]
        starts = [axis for axis in lists if axis.key.startswith(START)]
        return (*others, None, *starts)

    @cached_property
    def _sizes(self) -> tuple[int, ...]:
        return tuple(self.draws if axis is None else len(axis.values) for axis in self._order)


@dataclass(frozen=True, eq=False)
class Sweep:
    """A scenario that is run with many values.

    Attributes:
        name: short, for folders and messages.
        file: where it was read from, for messages.
        scenario: what is run.
        runs: what varies.
        measures: names of what is measured of each run.
        keep: of which runs the log is kept: "none", "failed" or "all".
        device: where runs that differ by their start alone go side by side; None: one run after the other.
        robot: digest of the robot, and of the files that are named, as they are now.
    """

    name: str
    file: str
    scenario: Scenario
    runs: Runs
    measures: tuple[str, ...]
    keep: str
    device: str | None
    robot: str

    def __len__(self) -> int:
        """How many runs there are."""
        return len(self.runs)

    def changes(self, run: int) -> dict[str, Any]:
        """The values of a run by key, as `Scenario.with_changes` takes them.

        Args:
            run: its number, from 0 on.

        Raises:
            InputError: there is no such run.
        """
        if not 0 <= run < len(self):
            raise InputError(
                f"run is {run}; sweep {self.name!r} has runs 0 to {len(self) - 1}.", field="run", value=run
            )
        return self.runs.changes(run)

    def data(self) -> dict[str, Any]:
        """All that its results depend on, fit for JSON."""
        scenario, runs = self.scenario.as_data(), self.runs
        found = {
            "scenario": {key: value for key, value in scenario.items() if key not in IRRELEVANT},
            "robot": self.robot,
            "parameters": {axis.key: axis.data() for axis in runs.axes},
            "random": {"count": runs.draws, "seed": runs.seed} if runs.random else {},
            "measures": list(self.measures),
            "keep": self.keep,
        }
        # Which one of several devices is no matter; and sweeps without one are those of before there were any.
        return found if self.device is None else {**found, "device": self.device.partition(":")[0]}

    @cached_property
    def fingerprint(self) -> str:
        """Differs for any two sweeps whose results may differ."""
        return digest(self.data())


def digest(data: Mapping[str, Any]) -> str:
    """A short text that differs for different data."""
    return hashlib.blake2b(json.dumps(data, sort_keys=True).encode(), digest_size=16).hexdigest()
