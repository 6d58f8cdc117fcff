# SPDX-License-Identifier: Apache-2.0
"""Run a scenario, verify its claims and draw its figures: `reproduce(scenario, output)`."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ada_dynamics.clock import SYSTEM_CLOCK
from ada_dynamics.errors import AdaError, InputError, unknown_name
from ada_tools.scenario.registry import Claim, Outcome, Progress, Quantity, find_experiment, find_measure
from ada_tools.scenario.run import measure, simulate
from ada_tools.scenario.scenario import ClaimPart, FigurePart, Scenario
from ada_tools.scenario.units import BadValue, value_in

if TYPE_CHECKING:
    from ada_dynamics.simulation import Log


@dataclass
class ScenarioResult:
    """Outcome of a scenario.

    Attributes:
        name: name of the scenario.
        title: title.
        source: document, section and figures.
        outcome: claims, statements, figures, tables and notes, as far as completed.
        error: reason why it stopped; "" if complete.
        trace: traceback of an unexpected exception.
        seconds: duration [s].
    """

    name: str
    title: str
    source: str
    outcome: Outcome = field(default_factory=Outcome)
    error: str = ""
    trace: str = ""
    seconds: float = 0.0

    @property
    def holds(self) -> bool:
        """Return True if the scenario completed and nothing fails."""
        return not self.error and self.outcome.holds

    def as_json(self) -> dict[str, Any]:
        """JSON data of the result."""
        found: dict[str, Any] = {
            "name": self.name,
            "holds": self.holds,
            "claims": [claim.as_json() for claim in self.outcome.claims],
            "seconds": round(self.seconds, 3),
        }
        if self.outcome.statements:
            found["statements"] = [statement.as_json() for statement in self.outcome.statements]
        return found | ({"error": self.error} if self.error else {})


def reproduce(scenario: Scenario, output: Path, progress: Progress | None = None) -> ScenarioResult:
    """Run a scenario, verify its claims and draw its figures.

    Errors are reported in the result instead of being raised.

    Args:
        scenario: scenario from `scenarios.load`.
        output: folder for the figures; created if missing.
        progress: called with the completed fraction.
    """
    result = ScenarioResult(scenario.name, scenario.title, scenario.source)
    result.outcome.notes.extend(scenario.notes)
    result.outcome.captions.update(scenario.captions)
    begin = SYSTEM_CLOCK.now()
    try:
        _ScenarioRun(scenario, output, progress or (lambda share, text: None), result.outcome).all()
    except AdaError as problem:
        result.error = " ".join(str(problem).split())
    except Exception as problem:
        result.error = f"{type(problem).__name__}: {problem}"
        result.trace = traceback.format_exc()
    result.seconds = SYSTEM_CLOCK.now() - begin
    return result


class _ScenarioRun:
    """Execution state of one scenario."""

    def __init__(self, scenario: Scenario, output: Path, progress: Progress, outcome: Outcome) -> None:
        self._scenario, self._output, self._progress, self._outcome = scenario, output, progress, outcome
        self._logs: dict[str, tuple[Scenario, Log]] = {}
        # Claims and statements about the simulation.
        self._measured = [part for part in (*scenario.claims, *scenario.statements) if part.measure]
        variants = {_key(changes) for part in self._measured for _, changes in self._changes(part)}
        variants |= {_key(one.changes) for one in scenario.figures}
        self._parts = max(1, len(variants)) + (1 if scenario.experiment else 0)
        self._done = 0

    def all(self) -> None:
        """Evaluate claims before drawing figures, so that they are reported if drawing fails."""
        scenario, outcome = self._scenario, self._outcome
        try:
            self._output.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise InputError(f"--output {self._output}: cannot create the folder: {problem.strerror}.") from None
        self._require_known_names()
        for part in scenario.claims:
            if part.measure:
                outcome.claims += self._judged(part)
        for figure in scenario.figures:
            self._draw(figure)
        if scenario.experiment is not None:
            more = find_experiment(scenario.experiment)(scenario, self._output, self._step(""))
            outcome.claims.extend(more.claims)
            outcome.quantities.update(more.quantities)
            outcome.figures.extend(more.figures)
            outcome.captions.update(more.captions)
            outcome.tables.extend(more.tables)
            outcome.notes.extend(more.notes)
        for part in scenario.claims:
            if part.quantity:
                outcome.claims += self._judged(part)
        for part in scenario.statements:
            outcome.statements += self._judged(part)

    def _require_known_names(self) -> None:
        """Report misspelt names before long computations."""
        for part in self._measured:
            try:
                find_measure(part.measure)
                self._scenario.with_changes(part.changes)
            except AdaError as problem:
                raise InputError(f"{part.place}: {problem}", field=problem.field, value=problem.value) from None
        if self._scenario.experiment is not None:
            find_experiment(self._scenario.experiment)

    def _variant(self, changes: Mapping[str, Any]) -> tuple[Scenario, Log]:
        """Scenario with some changes and its motion, simulated once for all claims about it."""
        key = _key(changes)
        if key not in self._logs:
            scenario = self._scenario.with_changes(changes)
            words = ", ".join(f"{name} {value}" for name, value in changes.items())
            self._logs[key] = scenario, simulate(scenario, progress=self._step(words))
            self._done += 1
        return self._logs[key]

    def _step(self, text: str) -> Callable[[float, str], None]:
        """Convert the progress of one part to that of the whole."""

        def tell(share: float, words: str) -> None:
            shown = " ".join(part for part in (text, words) if part)
            self._progress(min(1.0, (self._done + share) / self._parts), shown)

        return tell

    def _judged(self, part: ClaimPart) -> list[Claim]:
        """Claims, one for each value of a measure."""
        found = []
        for name, one in self._values(part).items():
            limit, within = _limits(part, one.unit)
            text = f"{part.text}: {name}" if name else part.text
            spread = one.spread if part.where else None
            stated = part.document, part.where, part.why, spread, one.sweep
            claims = [
                Claim(text, value, limit, part.relation, one.unit, part.note, within, *stated)
                for value in (one.value, *one.sweep.values())
            ]
            found.append(next((claim for claim in claims if claim.holds), claims[0]))
        return found

    def _values(self, part: ClaimPart) -> dict[str, Quantity]:
        """Values of a claim: one with the name "", or several by name."""
        if part.measure:
            unit = find_measure(part.measure).unit
            swept: dict[str, dict[str, float]] = {}
            for label, changes in self._changes(part):
                found = measure(*self._variant(changes), [part.measure])[part.measure]
                several = found if isinstance(found, Mapping) else {"": found}
                for name, value in several.items():
                    swept.setdefault(name, {})[label] = float(value)
            first = {name: next(iter(values.values())) for name, values in swept.items()}
            return {
                name: Quantity(first[name], unit, sweep=values if self._scenario.sweep and part.where else {})
                for name, values in swept.items()
            }
        quantities = self._outcome.quantities
        if part.quantity not in quantities:
            raise InputError(f"{part.place}: {unknown_name('quantity', part.quantity, sorted(quantities))}")
        return {"": quantities[part.quantity]}

    def _changes(self, part: ClaimPart) -> list[tuple[str, Mapping[str, Any]]]:
        """Variant of a claim with the label "", or those of a statement in the sweep of the scenario."""
        swept = self._scenario.sweep.items() if part.where else ()
        labelled = [(f"{key.rpartition('.')[2]} {value}", {key: value}) for key, values in swept for value in values]
        return [(label, {**part.changes, **changes}) for label, changes in labelled] or [("", part.changes)]

    def _draw(self, figure: FigurePart) -> None:
        _, log = self._variant(figure.changes)
        try:
            path = draw(figure, log, self._output)
        except AdaError as problem:
            raise InputError(f"{figure.place}: {figure.file}: {problem}") from None
        self._outcome.figures.append(path)
        if figure.like:
            self._outcome.captions[path.name] = figure.like


def _limits(part: ClaimPart, unit: str) -> tuple[float, float | None]:
    """Limit and tolerance of a claim in the unit of its measure."""
    try:
        limit, within = (
            None if x is None else value_in(f"{x!r} {own}", unit)
            for x, own in zip((part.limit, part.within), part.units, strict=True)
        )
    except BadValue as problem:
        raise InputError(f"{part.place}: limit: {problem}", field="limit", value=part.limit) from None
    assert limit is not None
    return limit, within


def _key(changes: Mapping[str, Any]) -> str:
    return json.dumps(dict(changes), sort_keys=True)


def draw(figure: FigurePart, log: Log, output: Path) -> Path:
    """Draw a figure of a motion into the output folder, and return its path.

    Raises:
        InputError: a panel is unknown, matplotlib is missing, or a file cannot be written.
    """
    from ada_dynamics.drawing.plots import plot_log
    from ada_dynamics.drawing.snapshots import plot_snapshots

    path = output / f"{figure.file}.png"
    if figure.panels:
        plot_log(log, path, list(figure.panels), columns=figure.columns)
    else:
        plot_snapshots(log, path, count=figure.snapshots, plane=figure.plane, columns=figure.columns)
    return path
