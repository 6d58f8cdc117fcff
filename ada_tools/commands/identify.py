# SPDX-License-Identifier: Apache-2.0
"""Identify masses, inertias and losses from a recorded motion.

Weighted least squares over physically consistent parameters: positive masses, valid inertias, dissipative
losses. Velocities and accelerations are derived from the recorded positions by a zero-phase filter; the last
quarter of the recording, or another recording, is reserved for validation.

Examples:
  ada identify run.mcap                                      all parameters; the recording has its model
  ada identify run.csv --model pa10 --parameters 'link_7.*'  a payload: only the parameters of the last link
  ada identify run.mcap --validate other.mcap --plot found.png --save found.urdf

exit code:
  0  done    1  done, but parameters are not identifiable, or the fit is poor    2  wrong usage or input
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError, LittleExcitationWarning, PoorFitWarning, RecordingError, unknown_name
from ada_dynamics.identification import Fit, Identification, identify
from ada_dynamics.identification.result import IDENTIFIED, ParameterEstimate
from ada_dynamics.identification.samples import WINDOW, time_gaps
from ada_dynamics.model.model import Model
from ada_dynamics.robots.load import load
from ada_dynamics.robots.writers import write
from ada_dynamics.simulation.log import Log
from ada_dynamics.simulation.record.log_files import header
from ada_tools.commands.common import add_robot_arguments, check_files, mappings, print_json, table

_LEARNT = 0.75  # fraction used for identification without a validation recording
_NOT_SHOWN = 1
_WRENCH = 6  # columns of a wrench
_LONGEST = 2**20  # maximum length of the header line
_LARGEST = 1000.0  # maximum meaningful percentage
_LONG = 60  # maximum length of a combination name
_PARAMETERS = ("parameter", "model", "identified", "deviation", "%", "")
_RESIDUALS = ("joint", "noise", "residual %", "validation %")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("recording", type=Path, metavar="RECORDING", help=".mcap or .csv file with efforts")
    parser.add_argument("--model", metavar="M", help="robot, by name or file (default: the one in the recording)")
    add_robot_arguments(parser)
    parser.add_argument(
        "--parameters",
        nargs="+",
        metavar="PATTERN",
        help="parameters to identify, such as 'link_7.*' '*.friction'; others keep their values (default: all)",
    )
    parser.add_argument("--validate", type=Path, metavar="RECORDING", help="motion for validation")
    parser.add_argument(
        "--window", type=float, default=WINDOW, metavar="S", help=f"filter window [s] (default: {WINDOW:g})"
    )
    parser.add_argument("--plot", type=Path, metavar="FILE", help="plot the efforts of the validation motion")
    parser.add_argument(
        "--save", type=Path, metavar="FILE", help="write the robot with the identified parameters (.urdf, .xml)"
    )
    parser.add_argument("--json", action="store_true", help="print everything as JSON")


def run(options: argparse.Namespace) -> int:
    """Identify, validate and report."""
    check_files({"--plot": options.plot, "--save": options.save})
    model = _model(options)
    log = read(options.recording, model)
    model = log.model if model is None else model
    count = len(log) if options.validate else round(_LEARNT * len(log))
    with warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("always")
        found = identify(model, log[:count], parameters=options.parameters, window=options.window)
    other = read(options.validate, model) if options.validate else log[count:]
    unseen = found.validate(other, window=options.window)
    tried_on = f"`{options.validate}`" if options.validate else f"its last {100 * (1.0 - _LEARNT):g} %"
    report = {**_figures(found, unseen, str(options.recording), tried_on), "gaps": time_gaps(log.t)}
    if options.plot:
        unseen.plot(found.joints, options.plot)
    if options.save:
        write(found.model, options.save)
    if options.json:
        print_json(report)
    else:
        _print(report)
    poor = [str(one.message) for one in met if issubclass(one.category, PoorFitWarning)]
    print(*poor, sep="\n", end="\n" if poor else "", file=sys.stderr)
    return _NOT_SHOWN if any(issubclass(one.category, (LittleExcitationWarning, PoorFitWarning)) for one in met) else 0


def _model(options: argparse.Namespace) -> Model | None:
    if options.model is not None:
        return load(options.model, options.base, mappings=mappings(options), loops=options.loops)
    if options.base or options.arg or options.loops:
        raise InputError("--base, --arg and --loops apply to --model, which is missing.")
    return None


def _print(report: dict[str, Any]) -> None:
    print(f"{report['robot']}: {report['rows']} rows of {report['recording']}, condition {report['condition']:.3g}")
    for begin, end in report["gaps"]:
        print(f"gap: no data from {begin:.6g} to {end:.6g} s; adjacent rows are dropped")
    print(*table(_PARAMETERS, map(_row, report["parameters"])), "", sep="\n")
    known = {one["name"] for one in report["parameters"]}
    others = [{**one, "name": _cut(one["name"])} for one in report["combinations"] if one["name"] not in known]
    if others:
        print(*table(("combination", *_PARAMETERS[1:]), map(_row, others)), "", sep="\n")
    print(*table(_RESIDUALS, [tuple(row.values()) for row in report["residuals"]]), sep="\n")
    for name in report["not_shown"]:
        print(f"not identifiable from this motion: {name}")


# --- recordings -------------------------------------------------------------------------------------------------------
def read(path: Path, model: Model | None) -> Log:
    """Read the motion of a recording.

    Args:
        path: .mcap file of the library, or .csv file with the column names of `Log.to_csv`: t, and q and tau of
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
    nq, nv = model.nq, model.nv
    empty = Log(model, [], np.zeros((0, nq)), np.zeros((0, nv)))
    wanted = [_plain(name) for name in header(empty)]
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


# --- results ----------------------------------------------------------------------------------------------------------
def _figures(found: Identification, unseen: Fit, source: str, validation: str) -> dict[str, Any]:
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


def _data(row: ParameterEstimate) -> dict[str, Any]:
    percent = row.percent if row.percent < _LARGEST else math.nan  # of a value that may be zero
    return {**row._asdict(), "percent": percent}


def _row(one: dict[str, Any]) -> tuple[Any, ...]:
    status = "" if one["status"] == IDENTIFIED else one["status"]
    return (*(one[key] for key in ("name", "model", "value", "deviation", "percent")), status)


def _cut(name: str) -> str:
    if len(name) <= _LONG:
        return name
    kept = name[:_LONG].rpartition(" ")[0].rstrip(" +-")
    return f"{kept} ..."
