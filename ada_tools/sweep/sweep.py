# SPDX-License-Identifier: Apache-2.0
"""A sweep as data: scenario, parameters and measures; the values of a run depend only on its number.

A random value depends only on seed, draw number and key: runs can be executed in any order on any machine, and adding
a parameter does not change the others. It is computed from the raw bits of PCG64, whose stability numpy guarantees,
unlike that of its distributions.
"""

from __future__ import annotations

import hashlib
import json
import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np

from ada_dynamics.errors import InputError
from ada_tools.scenario.scenario import START, Scenario
from ada_tools.scenario.units import BadValue, split

MOST_RUNS = 10_000_000
KEEP = ("none", "failed", "all")
# Parts of a scenario that do not affect motion or measures.
IRRELEVANT = ("name", "title", "source", "claims", "statements", "figures", "experiment", "notes", "full", "alone")
UNIFORM, NORMAL = "uniform", "normal"
DISTRIBUTIONS = (UNIFORM, NORMAL)
_UNIT_INTERVAL = 2.0**-53  # spacing of the 2^53 numbers in [0, 1)


@dataclass(frozen=True)
class ListAxis:
    """A parameter with listed values.

    Attributes:
        key: full scenario key.
        samples: values as in the scenario file.
        place: file and line, for messages.
    """

    key: str
    samples: tuple[Any, ...]
    place: str

    def data(self) -> Any:
        """Data for the header of the results."""
        return list(self.samples)


@dataclass(frozen=True)
class RandomAxis:
    """A parameter with random values.

    Attributes:
        key: full scenario key.
        kind: distribution.
        first: minimum, or mean.
        second: maximum, or standard deviation.
        unit: unit of both, as written.
        place: file and line, for messages.
    """

    key: str
    kind: Literal["uniform", "normal"]
    first: float
    second: float
    unit: str
    place: str

    def value(self, seed: int, draw: int) -> Any:
        """Value of a draw."""
        raw = np.random.PCG64(np.random.SeedSequence([seed, draw, zlib.crc32(self.key.encode())])).random_raw(2)
        share, other = ((int(bits) >> 11) * _UNIT_INTERVAL for bits in raw)
        if self.kind == UNIFORM:
            return with_unit(self.first + (self.second - self.first) * share, self.unit)
        normal = math.sqrt(-2.0 * math.log1p(-share)) * math.cos(2.0 * math.pi * other)  # Box and Muller
        return with_unit(self.first + self.second * normal, self.unit)

    @property
    def samples(self) -> tuple[Any, ...]:
        """Values to validate before the first run."""
        ends = (self.first, self.second) if self.kind == UNIFORM else (self.first,)
        return tuple(with_unit(x, self.unit) for x in ends)

    def data(self) -> Any:
        """Data for the header of the results."""
        return {self.kind: [with_unit(self.first, self.unit), with_unit(self.second, self.unit)]}


Axis: TypeAlias = ListAxis | RandomAxis


def evenly(first: float, last: float, count: int, unit: str) -> tuple[Any, ...]:
    """Evenly spaced values including both ends."""
    inner = [first + (last - first) * i / (count - 1) for i in range(count - 1)]
    return tuple(with_unit(x, unit) for x in [*inner, last])


def with_unit(number: float, unit: str) -> Any:
    """Value as in a scenario file: a number, or text with a unit."""
    return f"{number!r} {unit}" if unit else number


def number_and_unit(value: Any) -> tuple[float, str] | None:
    """Number and unit of a value; None if it does not start with a number."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value), ""
    if not isinstance(value, str):
        return None
    try:
        return split(value)
    except BadValue:
        return None


def flat(data: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    """Scalar values and lists by dotted keys."""
    found: dict[str, Any] = {}
    for key, value in data.items():
        full = f"{path}.{key}" if path else key
        if isinstance(value, Mapping) and value:
            found |= flat(value, full)
        else:
            found[full] = value
    return found


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
                rest, i = divmod(rest, len(axis.samples))
                found[axis.key] = axis.samples[i]
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
        return tuple(self.draws if axis is None else len(axis.samples) for axis in self._order)


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
