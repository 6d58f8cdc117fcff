# SPDX-License-Identifier: Apache-2.0
"""Identification from the command line: recordings as logs, and reports as text, Markdown and JSON data.

Recordings are .mcap and .npz files of the library, and .csv tables by column names.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError, RecordingError, unknown_name
from ada_dynamics.identification import Fit, Identification
from ada_dynamics.identification.result import IDENTIFIED, ParameterEstimate
from ada_dynamics.model.model import Model
from ada_dynamics.simulation.log import Log
from ada_dynamics.simulation.record.log_files import header

_WRENCH = 6  # columns of a wrench
_LONGEST = 2**20  # maximum length of the header line


def read(path: Path, model: Model | None) -> Log:
    """Read the motion of a recording.

    Args:
        path: .mcap or .npz file of the library, or .csv file with the column names of `Log.to_csv`: t, and q and tau of
            each joint. Units may be omitted; other columns are ignored.
        model: robot model; required for .csv files.

    Raises:
        RecordingError: the file cannot be read.
        InputError: .csv file without a model.
        UnknownNameError: a column is missing.
    """
    if path.suffix.lower() != ".csv":
        return Log.load(path)
    if model is None:
        raise InputError(f"{path} does not contain the robot: give it by --model.")
    names, values = _table(path)
    plain = [_plain(name) for name in names]
    wanted = [_plain(name) for name in header(_empty(model))]
    nq, nv = model.nq, model.nv
    t = _columns(path, plain, values, ["t"])[:, 0]
    q = _columns(path, plain, values, wanted[1 : 1 + nq])
    efforts = wanted[1 + nq + 2 * nv : 1 + nq + 3 * nv]
    if not set(efforts) & set(plain):
        raise InputError(
            f"{path} has no efforts: identification requires the columns {', '.join(efforts[:3])}, ... of the motors."
        )
    motors = {k for name in model.actuated for k in range(*model.v_index(name).indices(nv))}
    tau = np.zeros((len(t), nv))
    for k, name in enumerate(efforts):
        if k in motors or name in plain:
            tau[:, k] = _columns(path, plain, values, [name])[:, 0]
    return Log(model, t, q, np.zeros((len(t), nv)), None, tau, external=_wrenches(plain, values))


def _empty(model: Model) -> Log:
    return Log(model, [], np.zeros((0, model.nq)), np.zeros((0, model.nv)))


def _plain(name: str) -> str:
    """Column name without unit."""
    return name.partition("[")[0].strip()


def _columns(path: Path, names: Sequence[str], values: Array, wanted: Sequence[str]) -> Array:
    for name in wanted:
        if name not in names:
            raise unknown_name(f"column of {path}", name, names)
    return values[:, [names.index(name) for name in wanted]]


def _wrenches(names: Sequence[str], values: Array) -> dict[str, Array]:
    """External wrenches, by link or contact."""
    found = {}
    for k, name in enumerate(names):
        if name.startswith(("external ", "contact ")) and name.endswith(" fx"):
            found[name.removesuffix(" fx").partition(" ")[2]] = values[:, k : k + _WRENCH]
    return found


def _table(path: Path) -> tuple[list[str], Array]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            names = next(csv.reader([file.readline(_LONGEST)]), [])
            values = np.loadtxt(file, delimiter=",", ndmin=2)
    except OSError as problem:
        raise RecordingError(f"{path} cannot be read: {problem.strerror or problem}.") from None
    except (ValueError, MemoryError, csv.Error) as problem:
        reason = str(problem)[:300]  # may repeat the invalid text
        raise RecordingError(f"{path} is not a numeric table with a header line: {reason}") from None
    if values.shape[1:] != (len(names),) or not len(values):
        raise RecordingError(f"{path} has {len(names)} column names and rows of {values.shape[-1]} numbers.")
    return names, values


_LARGEST = 1000.0  # maximum meaningful percentage
_LONG = 60  # maximum length of a combination name in the terminal


def figures(found: Identification, unseen: Fit, source: str, validation: str) -> dict[str, Any]:
    """All results as JSON data."""
    return {
        "recording": source,
        "validation": validation,
        "robot": found.equations.dynamics.model.name,
        "rows": len(found.fit.t),
        "condition": found.condition,
        "parameters": [_data(row) for row in found.parameters()],
        "combinations": [_data(row) for row in found.combinations()],
        "not_shown": list(found.unidentifiable),
        "without_effect": list(found.without_effect),
        "residuals": [
            {"joint": joint, "noise": noise, "percent": fitted, "unseen_percent": other}
            for joint, noise, fitted, other in zip(
                found.joints, found.noise.tolist(), found.fit.percent.tolist(), unseen.percent.tolist(), strict=True
            )
        ],
    }


def markdown(results: dict[str, Any]) -> str:
    """Markdown report of `figures`."""
    lines = [
        f"# Identification of {results['robot']}",
        "",
        f"From `{results['recording']}`, {results['rows']} rows; validated on {results['validation']}. "
        f"Condition number {results['condition']:.3g}.",
        "",
        "## Parameters",
        "",
        *_markdown(PARAMETERS, parameter_rows(results)),
        "",
        "## Residual efforts",
        "",
        *_markdown(RESIDUALS, residual_rows(results)),
        "",
        "## Identifiable combinations",
        "",
        *_markdown(PARAMETERS, parameter_rows(results, "combinations")),
        "",
    ]
    for title, key in (
        ("Not identifiable from this motion", "not_shown"),
        ("Without effect on any motion", "without_effect"),
    ):
        if results[key]:
            lines += [f"## {title}", "", *(f"- {name}" for name in results[key]), ""]
    return "\n".join(lines)


PARAMETERS = ("parameter", "model", "identified", "deviation", "%", "")
RESIDUALS = ("joint", "noise", "residual %", "validation %")


def parameter_rows(results: dict[str, Any], of: str = "parameters", short: bool = False) -> list[tuple[Any, ...]]:
    """Rows of the parameter table; long names may be shortened."""
    return [
        (
            _cut(row["name"]) if short else row["name"],
            row["model"],
            row["value"],
            row["deviation"],
            row["percent"],
            "" if row["status"] == IDENTIFIED else row["status"],
        )
        for row in results[of]
    ]


def residual_rows(results: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Rows of the residual table."""
    return [tuple(row.values()) for row in results["residuals"]]


def _data(row: ParameterEstimate) -> dict[str, Any]:
    percent = row.percent if row.percent < _LARGEST else math.nan  # of a value that may be zero
    return {**row._asdict(), "percent": percent}


def _cut(name: str) -> str:
    if len(name) <= _LONG:
        return name
    kept = name[:_LONG].rpartition(" ")[0].rstrip(" +-")
    return f"{kept} ..."


def _markdown(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|" + " --- |" * len(head)
    for row in rows:
        yield "| " + " | ".join(_cell(x) for x in row) + " |"


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}" if math.isfinite(value) else "-"
    return str(value)
