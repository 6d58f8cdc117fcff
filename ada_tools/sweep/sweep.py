# SPDX-License-Identifier: Apache-2.0
"""A sweep as data: scenario, parameters and measures; the values of a run depend only on its number."""

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
# Parts of a scenario that do not affect motion or measures.
IRRELEVANT = ("name", "title", "source", "claims", "statements", "figures", "experiment", "notes", "full")


@dataclass(frozen=True, eq=False)
class Runs:
    """Parameter values by run number.

    All combinations of the listed values occur, each with the same `draws` of the random ones. Runs that differ only in
    the initial state are consecutive, since they share a simulation.

    Attributes:
        axes: parameters.
        draws: number of random draws; 1 without random parameters.
        seed: seed of the random parameters.
    """

    axes: tuple[Axis, ...]
    draws: int
    seed: int

    def __len__(self) -> int:
        return math.prod(self._sizes)

    def changes(self, run: int) -> dict[str, Any]:
        """Values of a run by key, for `Scenario.with_changes`."""
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
        """Random parameters."""
        return tuple(axis for axis in self.axes if isinstance(axis, RandomAxis))

    @cached_property
    def _order(self) -> tuple[ListAxis | None, ...]:
        """Axes from the slowest to the fastest; None represents all random ones, which are drawn together."""
        lists = [axis for axis in self.axes if isinstance(axis, ListAxis)]
        others = [axis for axis in lists if not axis.key.startswith(START)]
        starts = [axis for axis in lists if axis.key.startswith(START)]
        return (*others, None, *starts)

    @cached_property
    def _sizes(self) -> tuple[int, ...]:
        return tuple(self.draws if axis is None else len(axis.values) for axis in self._order)


@dataclass(frozen=True, eq=False)
class Sweep:
    """A scenario to run for many parameter values.

    Attributes:
        name: short name, for folders and messages.
        file: source file, for messages.
        scenario: scenario to run.
        runs: parameter values.
        measures: names of the measures of each run.
        keep: which logs to keep: "none", "failed" or "all".
        device: device for batches of runs that differ only in the initial state; None for individual runs.
        robot: digest of the robot model and the files used.
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
        """Number of runs."""
        return len(self.runs)

    def changes(self, run: int) -> dict[str, Any]:
        """Values of a run by key, for `Scenario.with_changes`.

        Args:
            run: run number, from 0.

        Raises:
            InputError: no such run.
        """
        if not 0 <= run < len(self):
            raise InputError(
                f"run is {run}; sweep {self.name!r} has runs 0 to {len(self) - 1}.", field="run", value=run
            )
        return self.runs.changes(run)

    def data(self) -> dict[str, Any]:
        """Data that determine the results, as JSON data."""
        scenario, runs = self.scenario.as_data(), self.runs
        found = {
            "scenario": {key: value for key, value in scenario.items() if key not in IRRELEVANT},
            "robot": self.robot,
            "parameters": {axis.key: axis.data() for axis in runs.axes},
            "random": {"count": runs.draws, "seed": runs.seed} if runs.random else {},
            "measures": list(self.measures),
            "keep": self.keep,
        }
        # The device number has no influence; sweeps without a device keep their earlier fingerprint.
        return found if self.device is None else {**found, "device": self.device.partition(":")[0]}

    @cached_property
    def fingerprint(self) -> str:
        """Differs between sweeps whose results may differ."""
        return digest(self.data())


def digest(data: Mapping[str, Any]) -> str:
    """Short digest of JSON data."""
    return hashlib.blake2b(json.dumps(data, sort_keys=True).encode(), digest_size=16).hexdigest()
