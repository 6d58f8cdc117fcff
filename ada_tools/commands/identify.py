# SPDX-License-Identifier: Apache-2.0
"""`ada identify`: identify masses, inertias and losses of a robot from a recorded motion."""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path
from typing import Any

from ada_dynamics.errors import InputError, LittleExcitationWarning, PoorFitWarning
from ada_dynamics.identification import identify
from ada_dynamics.identification.samples import WINDOW, time_gaps
from ada_dynamics.model.model import Model
from ada_dynamics.robots.load import load
from ada_dynamics.robots.writers import write
from ada_tools.commands.common import add_robot_arguments, check_files, mappings, print_json, table
from ada_tools.identification import PARAMETERS, RESIDUALS, figures, markdown, parameter_rows, read, residual_rows

NAME = "identify"
SUMMARY = "masses, inertias and losses from a recorded motion"
DETAILS = """\
Weighted least squares over physically consistent parameters: positive masses, valid inertias, dissipative
losses. Velocities and accelerations are derived from the recorded positions by a zero-phase filter; the last
quarter of the recording, or another recording, is reserved for validation.

examples:
  ada identify run.mcap                                      all parameters; the recording has its model
  ada identify run.csv --model pa10 --parameters 'link_7.*'  a payload: only the parameters of the last link
  ada identify run.npz --validate other.npz --report found.md --plot found.png --save found.urdf

exit code:
  0  done    1  done, but parameters are not identifiable, or the fit is poor    2  wrong usage or input
"""
_LEARNT = 0.75  # fraction used for identification without a validation recording
_NOT_SHOWN = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("recording", type=Path, metavar="RECORDING", help=".mcap, .npz or .csv file with efforts")
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
    parser.add_argument("--report", type=Path, metavar="FILE", help="write a report as Markdown")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="plot the efforts of the validation motion")
    parser.add_argument(
        "--save", type=Path, metavar="FILE", help="write the robot with the identified parameters (.urdf, .xml)"
    )
    parser.add_argument("--json", action="store_true", help="print everything as JSON")


def run(options: argparse.Namespace) -> int:
    """Identify, validate and report."""
    check_files({"--report": options.report, "--plot": options.plot, "--save": options.save})
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
    report = {**figures(found, unseen, str(options.recording), tried_on), "gaps": time_gaps(log.t)}
    if options.report:
        options.report.write_text(markdown(report), encoding="utf-8")
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
    print(*table(PARAMETERS, parameter_rows(report)), "", sep="\n")
    others = [row for row in report["combinations"] if row["name"] not in {one["name"] for one in report["parameters"]}]
    if others:
        shown = parameter_rows({"combinations": others}, "combinations", short=True)
        print(*table(("combination", *PARAMETERS[1:]), shown), "", sep="\n")
    print(*table(RESIDUALS, residual_rows(report)), sep="\n")
    for name in report["not_shown"]:
        print(f"not identifiable from this motion: {name}")
