# SPDX-License-Identifier: Apache-2.0
"""Recordings as logs: .mcap and .npz files of the library, and .csv tables by column names."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError, RecordingError, unknown_name
from ada_dynamics.model.model import Model
from ada_dynamics.simulation.log import Log
from ada_dynamics.simulation.record.csv_table import header

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
