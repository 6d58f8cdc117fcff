# SPDX-License-Identifier: Apache-2.0
"""Logs as tables of text: a header of names with units, then one line per row with all digits."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import RecordingError
from ada_dynamics.model.joints import Coordinate, JointType
from ada_dynamics.model.model import Model
from ada_dynamics.simulation.log_quantities import ROWS_AT_ONCE, LogQuantities
from ada_dynamics.structured_text.files import atomic_write

_EFFORTS = {"rad": "N m", "m": "N"}
_WRENCH = (("fx", "N"), ("fy", "N"), ("fz", "N"), ("nx", "N m"), ("ny", "N m"), ("nz", "N m"))


def write_csv(log: LogQuantities, path: Path) -> Path:
    """Write a log; an existing file is replaced atomically.

    Columns: t, q, v, a, tau, wrenches of links and contacts, kinetic and potential energy, and the closure error of
    loops.
    """
    with atomic_write(path, RecordingError) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerow(header(log))
        for table in _tables(log):
            file.writelines(",".join(map(repr, row)) + "\n" for row in table.tolist())
    return path


def header(log: LogQuantities) -> list[str]:
    """Return names and units of the columns."""
    model = log.model
    names = ["t [s]"]
    names += _joint_columns(model, "q", lambda joint: joint.coordinates, lambda unit: unit)
    names += _joint_columns(model, "v", lambda joint: joint.rates, lambda unit: f"{unit}/s")
    names += _joint_columns(model, "a", lambda joint: joint.rates, lambda unit: f"{unit}/s^2")
    names += _joint_columns(model, "tau", lambda joint: joint.rates, lambda unit: _EFFORTS[unit])
    for what, given in (("external", log.external), ("contact", log.contact_wrenches)):
        names += [f"{what} {name} {part} [{unit}]" for name in given for part, unit in _WRENCH]
    names += ["kinetic energy [J]", "potential energy [J]"]
    return [*names, "loop gap [m, rad]"] if model.loops else names


def _joint_columns(
    model: Model,
    what: str,
    numbers_of: Callable[[type[JointType]], tuple[Coordinate, ...]],
    unit_of: Callable[[str], str],
) -> Iterator[str]:
    for joint in model.joint_names:
        for part in numbers_of(model.joints[joint].type):
            yield f"{what} {joint} {part.name}".rstrip() + f" [{unit_of(part.unit)}]"


def _tables(log: LogQuantities) -> Iterator[Array]:
    parts = [log.t[:, None], log.q, log.v, log.a, log.tau, *log.external.values(), *log.contact_wrenches.values()]
    parts += [log.energy.kinetic[:, None], log.energy.potential[:, None]]
    if log.model.loops:
        parts.append(log.loop_gap[:, None])
    for first in range(0, len(log), ROWS_AT_ONCE):
        yield np.concatenate([part[first : first + ROWS_AT_ONCE] for part in parts], axis=1)
