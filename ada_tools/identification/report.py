# SPDX-License-Identifier: Apache-2.0
"""Identification reports: for the terminal, as Markdown, and as JSON data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from ada_dynamics.identification import Fit, Identification
from ada_dynamics.identification.result import IDENTIFIED, ParameterEstimate

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
