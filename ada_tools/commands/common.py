# SPDX-License-Identifier: Apache-2.0
"""Common parts of subcommands: arguments, checks of output files, tables, JSON output."""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.errors import InputError
from ada_dynamics.model.description import BASES
from ada_dynamics.model.model import Model
from ada_dynamics.robots.catalogue import start_of
from ada_dynamics.robots.load import load
from ada_dynamics.structured_text.files import MAX_BYTES, to_json

DEGREES = ("deg", "°")
_ROUNDING = 1e-6  # [rad, m] tolerance for limits printed with six digits


def robot_of(options: argparse.Namespace, **more: Any) -> Model:
    """Robot selected by the arguments, for commands that also take --loops."""
    return load(source_of(options.robot), options.base, mappings=mappings(options), loops=options.loops, **more)


def seconds(text: str) -> float:
    """Positive, finite number of seconds, as an argparse type."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0.0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r}: it must be a positive number of seconds")
    return value


def add_robot_arguments(parser: argparse.ArgumentParser, *, loops: bool = True, start: str = "") -> None:
    """Declare --base, --arg and, if asked for, --loops and --start.

    Args:
        parser: parser of the command.
        loops: whether the command takes --loops.
        start: description of the default of --start; empty: the command does not take it.
    """
    parser.add_argument(
        "--base", choices=list(BASES), help="attachment of the root link (default: fixed, or from the catalogue)"
    )
    parser.add_argument(
        "--arg",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="value for a <xacro:arg> of a xacro file; may be repeated",
    )
    if loops:
        parser.add_argument("--loops", metavar="FILE", help="YAML or JSON file with joints that close loops")
    if start:
        parser.add_argument(
            "--start",
            nargs="+",
            metavar="Q",
            help="initial configuration [rad, m]; append the word deg if angles are in degrees; "
            f"loops are closed from here (default: {start})",
        )


def start_pose(options: argparse.Namespace, model: Model) -> NDArray[np.float64] | None:
    """Configuration given by --start, or that of the catalogue; else None."""
    if options.start is None:
        return start_of(options.robot, model)
    words = list(options.start)
    is_in_degrees = words[-1] in DEGREES
    if words[-1] in (*DEGREES, "rad"):
        words.pop()
    if len(words) != model.nq:
        raise InputError(f"--start has {len(words)} numbers; {model.name!r} needs {model.nq}.")
    from ada_dynamics.drawing.panels import angle_columns  # slow import, needed by few commands

    q = np.array([_number(word) for word in words])
    angles = np.isin(np.arange(model.nq), angle_columns(model))
    if is_in_degrees:
        q[angles] = np.radians(q[angles])
    for line in _suspicious_starts(model, q, angles, is_in_degrees):
        print(f"ada: warning: --start: {line}", file=sys.stderr)
    return q


def _number(word: str) -> float:
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"--start {word!r}: it must be a finite number; deg may occur once, at the end.")
    return value


def _suspicious_starts(
    model: Model, q: NDArray[np.float64], angles: NDArray[np.bool_], is_in_degrees: bool
) -> list[str]:
    """Suspicious values of --start: joints beyond their limits, and angles that look like degrees."""
    found = []
    looks_like_degrees = False
    for name in model.joint_names:
        rows = model.q_index(name)
        for i in range(rows.start, rows.stop):
            unit = "rad" if angles[i] else "m"
            if not model.lower[i] - _ROUNDING <= q[i] <= model.upper[i] + _ROUNDING:
                odd = f"is outside of its limits {model.lower[i]:.6g} to {model.upper[i]:.6g} {unit}"
            elif angles[i] and abs(q[i]) > 2.0 * np.pi + _ROUNDING:
                odd = "is more than a whole turn"
            else:
                continue
            found.append(f"joint {name!r} at {q[i]:.6g} {unit} {odd}.")
            looks_like_degrees |= bool(angles[i]) and abs(q[i]) > np.pi
    if looks_like_degrees and not is_in_degrees:
        found[-1] += " If these are degrees, append the word deg: --start " + " ".join(
            [*(f"{x:g}" for x in q[:3]), *(["..."] if len(q) > 3 else []), "deg"]
        )
    return found


def mappings(options: argparse.Namespace) -> dict[str, object] | None:
    """Values given by --arg."""
    found: dict[str, object] = {}
    for text in options.arg:
        name, sign, value = text.partition(":=" if ":=" in text else "=")
        if not name or not sign:
            raise InputError(f"--arg {text!r}: write it as NAME=VALUE, such as --arg lengths=7c.")
        found[name] = value
    return found or None


def source_of(argument: str) -> str:
    """Robot as named on the command line; "-" reads URDF text from the standard input."""
    if argument != "-":
        return argument
    text = sys.stdin.buffer.read(MAX_BYTES + 1).decode("utf-8", "replace")
    if not text.lstrip("\ufeff \t\r\n").startswith("<"):
        raise InputError("the standard input contains no URDF: it must start with '<'.")
    return text


def check_files(files: Mapping[str, Path | None]) -> None:
    """Raise InputError for files that cannot be written, and for one file with two purposes.

    Raises:
        InputError: names the option, the file and the reason.
    """
    taken: dict[Path, str] = {}
    for option, path in files.items():
        if path is None:
            continue
        other = taken.setdefault(path.absolute(), option)
        if other != option:
            raise InputError(f"{other} and {option} are both {path}: give different files.")
        _check_file(option, path)


def make_folder(option: str, path: Path) -> None:
    """Create the output folder of an option, and check that it is writable.

    Raises:
        InputError: names the option, the folder and the reason.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InputError(f"{option} {path}: cannot create the folder: {problem.strerror}.") from None
    if not os.access(path, os.W_OK | os.X_OK):
        raise InputError(f"{option} {path}: the folder is not writable.")


def _check_file(option: str, path: Path) -> None:
    if path.is_dir():
        raise InputError(f"{option} {path}: it is a folder; give a file.")
    reason = "no such folder" if not path.parent.is_dir() else "permission denied"
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise InputError(f"{option} {path}: cannot be written: {reason}.")


def print_json(value: object) -> None:
    """Print as JSON; non-finite numbers become null."""
    print(to_json(value, indent=2))


def axis_text(axis: Sequence[float] | NDArray[np.float64]) -> str:
    """Direction as text: "-z" along a coordinate axis, else its components."""
    for k, letter in enumerate("xyz"):
        if abs(axis[k]) == 1.0:
            return letter if axis[k] > 0.0 else f"-{letter}"
    return "(" + " ".join(f"{a:.4g}" for a in axis) + ")"


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Lines of a table; numbers are right-aligned, text is left-aligned."""
    texts = [[_cell(x) for x in row] for row in rows]
    widths = [max([len(h), *(len(row[i]) for row in texts)]) for i, h in enumerate(head)]
    numeric = [i > 0 and all(_is_number(row[i]) for row in texts) for i in range(len(head))]
    lines = []
    for row in [list(head), *texts]:
        cells = [c.rjust(w) if right else c.ljust(w) for c, w, right in zip(row, widths, numeric, strict=True)]
        lines.append("  ".join(cells).rstrip())
    return lines


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.5g}" if math.isfinite(value) else "-"
    return str(value)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return text == "-"
    return True
