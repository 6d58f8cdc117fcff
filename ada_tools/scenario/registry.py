# SPDX-License-Identifier: Apache-2.0
"""Registry of measures of simulated motions, and of experiments beyond a single simulation.

A module registers functions with a decorator. A distribution publishes experiments by an entry point of the group
`ada_dynamics.experiments`: a package with `MODULES`, the modules to import, and scenarios in its folder data.

    @measure("loop_gap", unit="m, rad")
    def loop_gap(scenario: Scenario, log: Log) -> float: ...

    @experiment("inertia_matrices")
    def inertia_matrices(scenario: Scenario, output: Path, progress: Progress) -> Outcome: ...
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from ada_dynamics.errors import InputError, unknown_name
from ada_tools.scenario.claims import Claim, Outcome, Quantity, Relation, Statement, Table
from ada_tools.scenario.scenario import Scenario, packages

if TYPE_CHECKING:
    from ada_dynamics.arrays import Array
    from ada_dynamics.simulation import Log

__all__ = [
    "Claim",
    "ExperimentFunction",
    "Measure",
    "MeasureFunction",
    "Measured",
    "Outcome",
    "Progress",
    "Quantity",
    "Relation",
    "Statement",
    "Table",
    "experiment",
    "experiments",
    "find_experiment",
    "find_measure",
    "measure",
    "measures",
    "temporary",
]

Progress: TypeAlias = Callable[[float, str], None]  # completed fraction (0 to 1), and description
Measured: TypeAlias = "float | Mapping[str, float]"  # several values: by name
MeasureFunction: TypeAlias = "Callable[[Scenario, Log], Measured | Array | Mapping[str, Array]]"
ExperimentFunction: TypeAlias = Callable[[Scenario, Path, Progress], Outcome]

# Standard measures, imported before a name is looked up.
_MEASURES_HOME = "ada_tools.scenario.measures"


@dataclass(frozen=True)
class Measure:
    """A quantity of a simulated motion.

    Attributes:
        name: name used in scenarios.
        unit: unit of the value.
        function: (scenario, log) -> value, or values by name.
    """

    name: str
    unit: str
    function: MeasureFunction

    @property
    def summary(self) -> str:
        """First line of the docstring."""
        return (self.function.__doc__ or "").strip().partition("\n")[0]


_measures: dict[str, Measure] = {}
_experiments: dict[str, ExperimentFunction] = {}


def measure(name: str, unit: str = "") -> Callable[[MeasureFunction], MeasureFunction]:
    """Decorator that registers a function (scenario, log) -> value, or values by name, as a measure.

    Args:
        name: name used in scenarios.
        unit: unit of the value, for the report.
    """

    def register(function: MeasureFunction) -> MeasureFunction:
        _refuse_second("measure", name, function, getattr(_measures.get(name), "function", None))
        _measures[name] = Measure(name, unit, function)
        return function

    return register


def experiment(name: str) -> Callable[[ExperimentFunction], ExperimentFunction]:
    """Decorator that registers a function (scenario, output folder, progress) -> Outcome as an experiment.

    Args:
        name: name used in scenarios.
    """

    def register(function: ExperimentFunction) -> ExperimentFunction:
        _refuse_second("experiment", name, function, _experiments.get(name))
        _experiments[name] = function
        return function

    return register


def measures() -> Mapping[str, Measure]:
    """All measures by name."""
    _discover()
    return _measures


def find_measure(name: str) -> Measure:
    """Measure by name.

    Raises:
        InputError: unknown name; the message lists similar ones.
    """
    if name not in measures():
        raise unknown_name("measure", name, sorted(_measures))
    return _measures[name]


def experiments() -> Mapping[str, ExperimentFunction]:
    """All experiments by name."""
    _discover()
    return _experiments


def find_experiment(name: str) -> ExperimentFunction:
    """Experiment by name.

    Raises:
        InputError: unknown name; the message lists similar ones.
    """
    if name not in experiments():
        raise unknown_name("experiment", name, sorted(_experiments))
    return _experiments[name]


@contextmanager
def temporary() -> Iterator[None]:
    """Discard all registrations of the context at its end."""
    _discover()
    kept = dict(_measures), dict(_experiments)
    try:
        yield
    finally:
        _measures.clear()
        _measures.update(kept[0])
        _experiments.clear()
        _experiments.update(kept[1])


def _discover() -> None:
    """Import the modules that register measures and experiments."""
    for module in (_MEASURES_HOME, *(module for package in packages() for module in package.MODULES)):
        import_module(module)


def _refuse_second(what: str, name: str, new: Any, old: Any) -> None:
    # `importlib.reload` registers the same function again.
    if old is not None and (old.__module__, old.__qualname__) != (new.__module__, new.__qualname__):
        text = (
            f"the {what} {name!r} is registered twice: {old.__module__}.{old.__qualname__} and "
            f"{new.__module__}.{new.__qualname__}; rename one of them."
        )
        raise InputError(text, field=what, value=name)
