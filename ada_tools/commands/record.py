# SPDX-License-Identifier: Apache-2.0
"""Inspect or convert a recorded motion.

Recordings are .mcap files, written during a simulation (`ada sim --record`). They open in Foxglove, PlotJuggler and
rerun, too. A truncated file (killed run, full disk) is read up to its last complete row.

Examples:
  ada record info run.mcap                 robot, duration, energy, events
  ada record info flight_pa10_....mcap     topics of a flight record or a bag, reason of the stop, last events
  ada record convert run.mcap run.csv      a table with names and units
  ada record convert run.mcap run.npz      for numpy.load
  ada record convert cut.mcap whole.mcap   repair a truncated recording

exit code:
  0  done        1  done, but the recording was truncated        2  wrong usage or input
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ada_dynamics.errors import InputError, RecordingCutShortWarning, RecordingError
from ada_dynamics.simulation.log import Log
from ada_dynamics.simulation.record.mcap_files import mcap_module
from ada_dynamics.simulation.record.messages import read_text
from ada_robot.safety.flight_file import EVENTS, METADATA
from ada_tools.commands.common import print_json

CUT_SHORT = 1
_ENDINGS = (".csv", ".npz", ".mcap")
_MOST_EVENTS = 20  # events of a flight record that are printed


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    actions = parser.add_subparsers(metavar="ACTION", dest="action", required=True)
    info = actions.add_parser("info", help="show the contents of a recording")
    info.add_argument("recording", type=Path, metavar="FILE", help=".mcap file")
    info.add_argument("--json", action="store_true", help="print JSON")
    convert = actions.add_parser("convert", help="write a recording in another format")
    convert.add_argument("recording", type=Path, metavar="FILE", help=".mcap file")
    convert.add_argument("out", type=Path, metavar="OUT", help=f"file to write: {', '.join(_ENDINGS)}")
    convert.set_defaults(json=False)


def run(options: argparse.Namespace) -> int:
    """Inspect or convert a recording."""
    if options.action == "convert":
        _check_out(options)
    with warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("always", RecordingCutShortWarning)
        try:
            log = Log.load(options.recording)
        except RecordingError as error:
            if error.field != "metadata" or options.action != "info":
                raise
            found = topics_of(options.recording)
            print_json(found) if options.json else print("\n".join(_lines(found)))
            return 0
    problem = next((str(w.message) for w in met if issubclass(w.category, RecordingCutShortWarning)), None)
    if options.action == "convert":
        log.save(options.out)
        print(f"{options.out}: {len(log)} rows of {log.model.name}")
    elif options.json:
        print_json({**figures(log), "problem": problem})
    else:
        _print(figures(log))
    if problem and not options.json:
        print(f"note: {problem}")
    return CUT_SHORT if problem else 0


def _check_out(options: argparse.Namespace) -> None:
    if options.out.suffix.lower() not in _ENDINGS:
        raise InputError(f"OUT is {options.out}; its extension must be one of {', '.join(_ENDINGS)}.")
    if options.out.exists() and options.recording.exists() and options.out.samefile(options.recording):
        raise InputError(f"OUT is {options.out}, which is also the input: give another name.")


def topics_of(path: Path) -> dict[str, Any]:
    """Contents of a recording of ROS 2 topics: a bag, or a flight record with its reason and last events.

    Raises:
        RecordingError: the file has no index.
    """
    with path.open("rb") as file:
        reader = mcap_module("mcap.reader").make_reader(file)
        try:
            summary = reader.get_summary()
        except mcap_module("mcap.exceptions").McapError:
            summary = None
        if summary is None or summary.statistics is None:
            raise RecordingError(f"{path} has no index, as its recorder was killed: repair it with `mcap recover`.")
        about, counts = summary.statistics, summary.statistics.channel_message_counts
        reasons = [record.metadata["why"] for record in reader.iter_metadata() if record.name == METADATA]
        events = [(one.log_time, read_text(one.data)) for *_, one in reader.iter_messages([EVENTS])] if reasons else []
    channels = summary.channels.values()
    topics = {one.topic: [summary.schemas[one.schema_id].name, counts.get(one.id, 0)] for one in channels}
    return {
        "seconds": 1e-9 * (about.message_end_time - about.message_start_time),
        "topics": topics,
        "events": [[1e-9 * (at - about.message_end_time), text] for at, text in events],
        "reason": "".join(reasons),
    }


def _lines(found: dict[str, Any]) -> Iterator[str]:
    """Text of the contents of a recording of topics."""
    yield f"topics of ROS 2, {found['seconds']:.3f} s"
    for name, (kind, count) in sorted(found["topics"].items()):
        yield f"{name}: {count} {kind}"
    for at, text in found["events"][-_MOST_EVENTS:]:
        yield f"event at {at:.3f} s from the end: {text}"
    if found["reason"]:
        yield f"reason: {found['reason']}"


def figures(log: Log) -> dict[str, Any]:
    """Contents of a log."""
    model, steps = log.model, np.diff(log.t)
    is_finite = bool(np.isfinite(log.q).all() and np.isfinite(log.v).all())
    usable = len(log) > 0 and is_finite
    return {
        "robot": model.name,
        "rows": len(log),
        "from": float(log.t[0]) if len(log) else math.nan,
        "to": float(log.t[-1]) if len(log) else math.nan,
        "mean_step": float(np.mean(steps)) if len(steps) else math.nan,
        "joints": model.joint_names,
        "loops": model.loop_names,
        "external": list(log.external),
        "contacts": list(log.contact_wrenches),
        "all_finite": is_finite,
        **_energy(log, usable),
        "largest_gap": float(np.max(log.loop_gap)) if usable else math.nan,
        "events": [{"t": event.t, "name": event.name} for event in log.events],
        "singular_at": log.singular,
        "info": log.info,
    }


def _energy(log: Log, usable: bool) -> dict[str, Any]:
    """Energy drift and balance, or the reason why they are unknown."""
    try:
        if usable:
            found = log.balance
            return {"energy_drift": found.worst, "energy": found.account, "energy_words": found.summary()}
        reason = "no rows, or non-finite rows"
    except InputError as problem:
        reason = str(problem)
    return {"energy_drift": math.nan, "energy": None, "energy_words": f"energy: unknown ({reason})"}


def _print(found: dict[str, Any]) -> None:
    span = f"t = {found['from']:g} ... {found['to']:g} s, mean step {found['mean_step']:g} s"
    print(f"{found['robot']}: {found['rows']} rows, {span}")
    for key in ("joints", "loops", "external", "contacts"):
        if found[key]:
            print(f"{key}: {', '.join(found[key])}")
    if not found["all_finite"]:
        print("states: some are not finite")
    print(found["energy_words"])
    if found["loops"]:
        print(f"largest closure error {found['largest_gap']:.1e} [m, rad]")
    for event in found["events"]:
        print(f"event at {event['t']:.6g} s: {event['name']}")
    if found["singular_at"]:
        print(f"singular configurations at t = {', '.join(f'{t:.3g}' for t in found['singular_at'])} s")
    print("created by: " + ", ".join(f"{key} {value}" for key, value in found["info"].items() if key != "complete"))
