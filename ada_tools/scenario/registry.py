# SPDX-License-Identifier: Apache-2.0
"""Results of experiments, and the registry of measures of simulated motions and of experiments beyond one simulation.

A module registers functions with a decorator. A distribution publishes experiments by an entry point of the group
`ada_dynamics.experiments`: a package with `MODULES`, the modules to import, and scenarios in its folder data.

    @measure("loop_gap", unit="m, rad")
    def loop_gap(scenario: Scenario, log: Log) -> float: ...

    @experiment("inertia_matrices")
    def inertia_matrices(scenario: Scenario, output: Path, progress: Progress) -> Outcome: ...
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError, unknown_name
from ada_dynamics.model.model import Model
from ada_tools.scenario.published import packages
from ada_tools.scenario.scenario import Relation, Scenario

if TYPE_CHECKING:
    from ada_dynamics.simulation import Log

Verdict: TypeAlias = Literal["holds", "holds in part", "not confirmed", "fails"]
HOLDS: Final = "holds"
IN_PART: Final = "holds in part"  # for some values of a parameter that the document does not print
NOT_CONFIRMED: Final = "not confirmed"
FAILS: Final = "fails"
ABOUT = 0.1  # default relative tolerance of "about"
Progress: TypeAlias = Callable[[float, str], None]  # completed fraction (0 to 1), and description
Measured: TypeAlias = "float | Mapping[str, float]"  # several values: by name
MeasureFunction: TypeAlias = "Callable[[Scenario, Log], Measured]"
ExperimentFunction: TypeAlias = "Callable[[Scenario, Path, Progress], Outcome]"


@dataclass(frozen=True)
class Claim:
    """A claim about an experiment, or a statement of a document about it, with the measured value that decides it.

    A violated claim of this project is a defect of the programs. A document may be refuted for a known reason.
    """

    text: str  # the claim
    measured: float
    limit: float  # limit of the measured value
    relation: Relation = "<="  # "<=" for an upper limit, ">=" for a lower limit, "==" for counts, "~" for about
    unit: str = ""  # unit of both
    note: str = ""  # origin of the limit, or restrictions of the measurement
    within: float | None = None  # tolerance of "~", such as half of the last printed digit
    document: str = ""  # cited document; "" for a claim of this project
    where: str = ""  # chapter, equation, figure or table of the document
    why: str = ""  # reason why the simulation does not confirm the document
    spread: tuple[float, float] | None = None  # range of a time measurement; a violated time limit is not a failure
    # Values by those of a parameter that the document does not print, such as "full_angle 0.2 rad".
    sweep: Mapping[str, float] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        """Return True if the measured value satisfies the limit; NaN never does."""
        return self._is_within(self.measured)

    def _is_within(self, value: float) -> bool:
        if math.isnan(value):
            return False
        if self.relation == "==":
            return value == self.limit
        if self.relation == "~":
            off = ABOUT * abs(self.limit) if self.within is None else self.within
            return abs(value - self.limit) <= off
        return value <= self.limit if self.relation == "<=" else value >= self.limit

    @property
    def confirming(self) -> list[str]:
        """Values of the swept parameter that satisfy the limit."""
        return [label for label, value in self.sweep.items() if self._is_within(value)]

    @property
    def verdict(self) -> Verdict:
        """Verdict: holds, holds for some of the swept values, not confirmed for a known reason, or fails."""
        if self.holds:
            return IN_PART if len(self.confirming) < len(self.sweep) else HOLDS
        is_excused = self.spread is not None or (self.why and not math.isnan(self.measured))
        return NOT_CONFIRMED if is_excused else FAILS

    def as_json(self) -> dict[str, Any]:
        """JSON data of the claim or statement."""
        found: dict[str, Any] = {
            "statement" if self.where else "claim": self.text,
            "measured": float(self.measured),
            "limit": float(self.limit),
            "holds": bool(self.holds),
            "relation": self.relation,
        }
        found |= {key: text for key, text in (("unit", self.unit), ("note", self.note)) if text}
        if self.where:
            found |= {"document": self.document, "place": self.where, "verdict": self.verdict}
        if self.spread is not None:
            found["spread"] = [float(end) for end in self.spread]
        if self.sweep:
            found["sweep"] = {label: float(value) for label, value in self.sweep.items()}
            found["confirming"] = self.confirming
        return found | ({"why": self.why} if self.verdict == NOT_CONFIRMED else {})


@dataclass(frozen=True)
class Quantity:
    """A value found by an experiment, for the statements about it."""

    value: float
    unit: str = ""
    spread: tuple[float, float] | None = None  # range of repeated time measurements, which depend on the machine load
    # Values by those of a parameter that the document does not print; a statement shows the first one that confirms it.
    sweep: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Table:
    """Numbers in rows and columns, for the report."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    note: str = ""


@dataclass
class Outcome:
    """Results of an experiment."""

    claims: list[Claim] = field(default_factory=list)  # claims with their measured values
    figures: list[Path] = field(default_factory=list)  # pictures (PNG), in the order of the report
    tables: list[Table] = field(default_factory=list)  # tables of numbers
    notes: list[str] = field(default_factory=list)  # assumptions, and differences from the document
    captions: dict[str, str] = field(default_factory=dict)  # captions by figure file name
    quantities: dict[str, Quantity] = field(default_factory=dict)  # values by name, for the statements of the scenario
    statements: list[Claim] = field(default_factory=list)  # of the document, with measured values and verdicts

    @property
    def holds(self) -> bool:
        """Return True if there are claims and all hold."""
        shown = [*self.claims, *self.statements]
        return bool(shown) and all(claim.verdict != FAILS for claim in shown)


# --- registry ---------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Measure:
    """A quantity of a simulated motion."""

    name: str  # name used in scenarios
    unit: str  # unit of the value
    function: MeasureFunction  # (scenario, log) -> value, or values by name


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
    """Decorator that registers a function (scenario, output folder, progress) -> Outcome as an experiment."""

    def register(function: ExperimentFunction) -> ExperimentFunction:
        _refuse_second("experiment", name, function, _experiments.get(name))
        _experiments[name] = function
        return function

    return register


def find_measure(name: str) -> Measure:
    """Measure by name.

    Raises:
        InputError: unknown name; the message lists similar ones.
    """
    _discover()
    if name not in _measures:
        raise unknown_name("measure", name, sorted(_measures))
    return _measures[name]


def find_experiment(name: str) -> ExperimentFunction:
    """Experiment by name.

    Raises:
        InputError: unknown name; the message lists similar ones.
    """
    _discover()
    if name not in _experiments:
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
    for package in packages():
        for module in package.MODULES:
            import_module(module)


def _refuse_second(what: str, name: str, new: Any, old: Any) -> None:
    # `importlib.reload` registers the same function again.
    if old is not None and (old.__module__, old.__qualname__) != (new.__module__, new.__qualname__):
        text = (
            f"the {what} {name!r} is registered twice: {old.__module__}.{old.__qualname__} and "
            f"{new.__module__}.{new.__qualname__}; rename one of them."
        )
        raise InputError(text, field=what, value=name)


# --- standard measures ------------------------------------------------------------------------------------------------
@measure("energy_drift")
def energy_drift(scenario: Scenario, log: Log) -> float:
    """Largest change of the total energy relative to the range of the potential energy."""
    return float(log.energy_drift)


@measure("relative_energy_change")
def relative_energy_change(scenario: Scenario, log: Log) -> float:
    """Largest relative change of the total energy; for motions without gravity."""
    total = log.total_energy
    return _largest(total - total[0]) / abs(float(total[0]))


@measure("loop_gap", unit="m, rad")
def loop_gap(scenario: Scenario, log: Log) -> float:
    """Largest closure error of all loops."""
    return _largest(log.loop_gap)


@measure("centre_of_mass_moved", unit="m")
def centre_of_mass_moved(scenario: Scenario, log: Log) -> float:
    """Largest displacement of the centre of mass."""
    return _largest(np.linalg.norm(log.com - log.com[0], axis=1))


@measure("linear_momentum_change", unit="kg m/s")
def linear_momentum_change(scenario: Scenario, log: Log) -> float:
    """Largest change of a component of the linear momentum."""
    return _largest(log.momentum[:, :3] - log.momentum[0, :3])


@measure("angular_momentum_change", unit="kg m²/s")
def angular_momentum_change(scenario: Scenario, log: Log) -> float:
    """Largest change of a component of the angular momentum about the centre of mass."""
    return _largest(log.momentum[:, 3:] - log.momentum[0, 3:])


@measure("end_positions", unit="rad, m")
def end_positions(scenario: Scenario, log: Log) -> dict[str, float]:
    """Final positions by joint."""
    return _by_joint(log.model, log.model.q_index, "coordinates", log.q[-1])


@measure("end_velocities", unit="rad/s, m/s")
def end_velocities(scenario: Scenario, log: Log) -> dict[str, float]:
    """Final velocities by joint."""
    return _by_joint(log.model, log.model.v_index, "rates", log.v[-1])


def _by_joint(model: Model, index: Callable[[str], slice], kind: str, values: Array) -> dict[str, float]:
    """Coordinates or rates by the joint name, with the name of the coordinate for joints with several."""
    found = {}
    for name in model.joint_names:
        for i, number in enumerate(getattr(model.joints[name].type, kind), index(name).start):
            found[f"{name}.{number.name}" if number.name else name] = float(values[i])
    return found


def _largest(values: Array) -> float:
    return float(np.max(np.abs(values), initial=0.0))
