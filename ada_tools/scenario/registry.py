# SPDX-License-Identifier: Apache-2.0
"""Names that scenarios refer to: measures of a simulated motion, and experiments that are more than one simulation.

A module plugs in with a decorator, and by its name in `ada_experiments.MODULES`, from where it is imported when needed:

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
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from ada_dynamics.errors import InputError, unknown_name
from ada_tools.scenario.claims import Claim, Outcome, Quantity, Relation, Statement, Table
from ada_tools.scenario.scenario import Scenario

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

Progress: TypeAlias = Callable[[float, str], None]  # share that is done (0 to 1), and what is being done
Measured: TypeAlias = "float | Mapping[str, float]"  # several: by name
MeasureFunction: TypeAlias = "Callable[[Scenario, Log], Measured | Array | Mapping[str, Array]]"
ExperimentFunction: TypeAlias = Callable[[Scenario, Path, Progress], Outcome]

# The published experiments stand above this package and may be absent: they are found by name, never imported from.
EXPERIMENTS = "ada_experiments"

# What is imported before a name is looked up: the measures that come with the library.
_MEASURES_HOME = "ada_tools.scenario.measures"


@dataclass(frozen=True)
class Measure:
    """A figure of a simulated motion.

    Attributes:
        name: by which scenarios call it.
        unit: of the number.
        function: (scenario, log) -> number, or numbers by name.
        side_by_side: whether it takes a `SideBySide` for the log, too, and then gives a number for each motion.
    """

    name: str
    unit: str
    function: MeasureFunction
    side_by_side: bool = False

    @property
    def summary(self) -> str:
        """Its meaning, in one line."""
        return (self.function.__doc__ or "").strip().partition("\n")[0]


_measures: dict[str, Measure] = {}
_experiments: dict[str, ExperimentFunction] = {}


def measure(name: str, unit: str = "", *, side_by_side: bool = False) -> Callable[[MeasureFunction], MeasureFunction]:
    """Make a function (scenario, log) -> number, or numbers by name, known as a measure.

    Args:
        name: by which scenarios call it.
        unit: of the number, for the report.
        side_by_side: whether it also takes many motions at once, see `side_by_side.SideBySide`.
    """

    def register(function: MeasureFunction) -> MeasureFunction:
        _refuse_second("measure", name, function, getattr(_measures.get(name), "function", None))
        _measures[name] = Measure(name, unit, function, side_by_side)
        return function

    return register


def experiment(name: str) -> Callable[[ExperimentFunction], ExperimentFunction]:
    """Make a function (scenario, output folder, progress) -> Outcome known as an experiment.

    Args:
        name: by which scenarios call it.
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
    """The measure of that name.

    Raises:
        InputError: there is none; the message lists the nearest ones.
    """
    if name not in measures():
        raise unknown_name("measure", name, sorted(_measures))
    return _measures[name]


def experiments() -> Mapping[str, ExperimentFunction]:
    """All experiments by name."""
    _discover()
    return _experiments


def find_experiment(name: str) -> ExperimentFunction:
    """The experiment of that name.

    Raises:
        InputError: there is none; the message lists the nearest ones.
    """
    if name not in experiments():
        raise unknown_name("experiment", name, sorted(_experiments))
    return _experiments[name]


@contextmanager
def temporary() -> Iterator[None]:
    """Forget at the end of the block what was registered in it."""
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
    """Import what registers measures and experiments."""
    modules = import_module(EXPERIMENTS).MODULES if find_spec(EXPERIMENTS) else ()
    for module in (_MEASURES_HOME, *modules):
        import_module(module)


def published() -> Path | None:
    """The folder of the published scenarios, where their package is installed."""
    spec = find_spec(EXPERIMENTS)
    return Path(spec.origin).parent / "data" if spec and spec.origin else None


def _refuse_second(what: str, name: str, new: Any, old: Any) -> None:
    # The same function again is what `importlib.reload` gives.
    if old is not None and (old.__module__, old.__qualname__) != (new.__module__, new.__qualname__):
        text = (
            f"there are two functions for the {what} {name!r}: {old.__module__}.{old.__qualname__} and "
            f"{new.__module__}.{new.__qualname__}; give one of them another name."
        )
        raise InputError(text, field=what, value=name)
