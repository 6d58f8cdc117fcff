# SPDX-License-Identifier: Apache-2.0
"""Results of a sweep: rows ordered by run, a summary, and tables for other programs."""

from __future__ import annotations

import csv
import json
import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ada_tools.sweep.axes import number_and_unit
from ada_tools.sweep.store import BAD, FILE, GOOD, NEW, Index, SweepError, read_index
from ada_tools.sweep.worker_memory import DONE

PathLike = str | os.PathLike[str]
_ERRORS_SHOWN = 5


@dataclass(frozen=True)
class _Column:
    """A table column; its unit is None for text."""

    name: str
    unit: str | None

    @property
    def title(self) -> str:
        return f"{self.name} [{self.unit}]" if self.unit else self.name

    def cell(self, value: Any) -> Any:
        if self.unit is None:
            return "" if value is None else value if isinstance(value, str) else json.dumps(value)
        pair = number_and_unit(value)
        return math.nan if pair is None else pair[0]


class SweepResult:
    """Results in a folder; rows are read from the file on demand.

    Attributes:
        folder: folder of the results.
        name: name of the sweep.
        total: number of runs.
        done: number of successful runs.
        failed: number of failed runs.
        left: number of runs without a result.
        notes: remarks about the results file.
    """

    def __init__(self, folder: Path, index: Index) -> None:
        """Args: folder, and index of its results file."""
        self.folder = folder
        self._index = index
        self.name = str(index.header.get("name", folder.name))
        self.total = index.total
        self.done, self.failed, self.left = index.count(GOOD), index.count(BAD), index.count(NEW)
        self.notes: list[str] = list(index.notes)

    @property
    def is_complete(self) -> bool:
        """Return True if every run has a row."""
        return self.left == 0

    def __repr__(self) -> str:
        return f"<SweepResult {self.name!r}: {self.done} of {self.total} runs done, {self.failed} failed>"

    def rows(self) -> Iterator[dict[str, Any]]:
        """Existing rows ordered by run: run, status, changes, measures or error, seconds."""
        with (self.folder / FILE).open("rb") as file:
            for at in self._index.at:
                if at >= 0:
                    file.seek(at)
                    yield json.loads(file.readline())

    def summary(self) -> dict[str, Any]:
        """Counts, errors, and minimum, mean and maximum of each measure, as JSON data."""
        errors: Counter[str] = Counter()
        spans: dict[str, _Span] = {}
        seconds = 0.0
        for row in self.rows():
            seconds += row.get("seconds", 0.0)
            if row["status"] != DONE:
                errors[f"{row['error']['type']}: {row['error']['text']}"] += 1
                continue
            for name, value in _single(row["measures"]).items():
                spans.setdefault(name, _Span()).take(value, row["run"])
        return {
            "name": self.name,
            "folder": str(self.folder),
            "runs": self.total,
            "done": self.done,
            "failed": self.failed,
            "left": self.left,
            "seconds_of_computing": seconds,
            "measures": {name: span.data() for name, span in spans.items()},
            "errors": [{"error": text, "runs": count} for text, count in errors.most_common(_ERRORS_SHOWN)],
            "notes": self.notes,
        }

    def to_csv(self, path: PathLike) -> None:
        """Write one line per run; parameters with a uniform unit are numbers with the unit in the title.

        Raises:
            SweepError: the file cannot be written.
        """
        parameters, measures = self._columns()
        try:
            with Path(path).open("w", newline="", encoding="utf-8") as file:
                writer = csv.writer(file)
                titles = [column.title for column in parameters] + measures
                writer.writerow(["run", "status", *titles, "seconds", "error"])
                for row in self.rows():
                    found = _single(row.get("measures", {}))
                    values = [column.cell(row["changes"].get(column.name)) for column in parameters]
                    values += [_number(found.get(name)) for name in measures]
                    error = row["error"]["text"] if "error" in row else ""
                    writer.writerow([row["run"], row["status"], *values, row["seconds"], error])
        except OSError as problem:
            raise SweepError(f"{path}: cannot be written: {problem.strerror}.") from None

    def to_npz(self, path: PathLike) -> None:
        """Write arrays with the titles of `to_csv`, for numpy.load.

        Raises:
            SweepError: the file cannot be written.
        """
        parameters, measures = self._columns()
        rows = list(self.rows())
        arrays: dict[str, Any] = {
            "run": np.array([row["run"] for row in rows], dtype=np.int64),
            "status": np.array([row["status"] for row in rows], dtype=str),
            "seconds": np.array([row["seconds"] for row in rows], dtype=np.float64),
            "error": np.array([row["error"]["text"] if "error" in row else "" for row in rows], dtype=str),
        }
        for column in parameters:
            kind = str if column.unit is None else np.float64
            arrays[column.title] = np.array([column.cell(row["changes"].get(column.name)) for row in rows], dtype=kind)
        singles = [_single(row.get("measures", {})) for row in rows]
        for name in measures:
            arrays[name] = np.array([_number(found.get(name)) for found in singles], dtype=np.float64)
        try:
            with Path(path).open("wb") as file:
                np.savez_compressed(file, **arrays)
        except OSError as problem:
            raise SweepError(f"{path}: cannot be written: {problem.strerror}.") from None

    def _columns(self) -> tuple[list[_Column], list[str]]:
        """Parameter columns, and names of the measures."""
        units: dict[str, set[str | None]] = {}
        measures: dict[str, None] = {}
        for row in self.rows():
            for key, value in row["changes"].items():
                pair = number_and_unit(value)
                units.setdefault(key, set()).add(None if pair is None else pair[1])
            measures |= dict.fromkeys(_single(row.get("measures", {})))
        # Mixed units or text: values as written.
        columns = [_Column(key, found.pop() if len(found) == 1 else None) for key, found in units.items()]
        return columns, list(measures)


def read_result(folder: PathLike) -> SweepResult:
    """Read the results in the folder of a sweep, which may be running.

    Raises:
        SweepError: no results.
    """
    path = Path(folder)
    index = read_index(path)
    if index is None:
        raise SweepError(f"{path}: no sweep results ({FILE}).", file=path)
    return SweepResult(path, index)


class _Span:
    """Minimum, mean and maximum of values; non-finite ones are only counted."""

    def __init__(self) -> None:
        self.least, self.greatest, self.sum = math.inf, -math.inf, 0.0
        self.run: int | None = None
        self.count = self.others = 0

    def take(self, value: float | None, run: int) -> None:
        if value is None:
            self.others += 1
            return
        self.count += 1
        self.sum += value
        self.least = min(self.least, value)
        if value > self.greatest:
            self.greatest, self.run = value, run

    def data(self) -> dict[str, Any]:
        mean = self.sum / self.count if self.count else math.nan
        return {
            "least": self.least if self.count else None,
            "mean": mean if self.count else None,
            "greatest": self.greatest if self.count else None,
            "greatest_in_run": self.run,
            "not_finite": self.others,
        }


def _single(measures: Mapping[str, Any]) -> dict[str, float | None]:
    """Measures with one number each; parts of a measure are named "name.part"."""
    found: dict[str, float | None] = {}
    for name, value in measures.items():
        if isinstance(value, Mapping):
            found |= {f"{name}.{part}": number for part, number in value.items()}
        else:
            found[name] = value
    return found


def _number(value: float | None) -> float:
    return math.nan if value is None else value
