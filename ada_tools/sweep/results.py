# SPDX-License-Identifier: Apache-2.0
"""Results of a sweep: a file with a header and one JSON row per finished run, append-only; its summary and tables.

A row is valid if its line is complete. A killed process leaves at most one incomplete line, which is removed on resume.
If a run has several rows (failed, then repeated), the last one counts.
"""

from __future__ import annotations

import contextlib
import csv
import json
import math
import os
import time
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, TypeGuard

import numpy as np

from ada_dynamics._version import __version__
from ada_dynamics.errors import InputError
from ada_dynamics.structured_text.files import atomic_write, to_json
from ada_tools.sweep.sweep import MOST_RUNS, Sweep, flat, number_and_unit

FILE, LOCK = "runs.jsonl", ".lock"
FORMAT = 1
DONE, FAILED = "done", "failed"
SYNC_AFTER = 1.0  # [s] interval of fsync; the operating system gets the rows immediately
_NEW, _GOOD, _BAD = 0, 1, 2  # status of a run: no row, done, failed
_SHOWN = 6  # differences in a message
_ERRORS_SHOWN = 5
_HEADER = b'{"ada_sweep": '  # start of a header
_LONGEST_HEADER = 2**29  # bytes; headers of MOST_RUNS values have about 3e8
PathLike = str | os.PathLike[str]


class SweepError(InputError):
    """A sweep cannot be executed because of its folder, results file or workers; the message names the correction."""


class SweepResult:
    """Results in a folder; rows are read from the file on demand.

    Attributes:
        folder: folder of the results.
        header: header of the results file.
        name: name of the sweep.
        total: number of runs.
        notes: remarks about the results file.
        end: end of the last complete row in the file.
    """

    def __init__(self, folder: Path, header: dict[str, Any], end: int) -> None:
        """Start without rows, at the end of the header of the results file."""
        self.folder, self.header, self.end = folder, header, end
        self.name = str(header.get("name", folder.name))
        self.total = int(header["total"])
        self.notes: list[str] = []
        self._status = bytearray(self.total)
        self._at = array("q", [-1]) * self.total

    @property
    def done(self) -> int:
        """Number of successful runs."""
        return self._status.count(_GOOD)

    @property
    def failed(self) -> int:
        """Number of failed runs."""
        return self._status.count(_BAD)

    @property
    def left(self) -> int:
        """Number of runs without a result."""
        return self._status.count(_NEW)

    @property
    def is_complete(self) -> bool:
        """Return True if every run has a row."""
        return self.left == 0

    def unfinished(self, with_failed: bool) -> Iterator[int]:
        """Runs without a result and, if chosen, failed runs."""
        status, wanted = bytes(self._status), (_NEW, _BAD) if with_failed else (_NEW,)
        return (run for run in range(self.total) if status[run] in wanted)

    def take(self, row: Mapping[str, Any], length: int) -> None:
        """Register a row at the end of the file."""
        self._status[row["run"]] = _GOOD if row["status"] == DONE else _BAD
        self._at[row["run"]] = self.end
        self.end += length

    def rows(self) -> Iterator[dict[str, Any]]:
        """Existing rows ordered by run: run, status, changes, measures or error, seconds."""
        with (self.folder / FILE).open("rb") as file:
            for at in self._at:
                if at >= 0:
                    file.seek(at)
                    yield json.loads(file.readline())

    def summary(self) -> dict[str, Any]:
        """Counts, errors, and minimum, mean and maximum of each measure, as JSON data."""
        errors: Counter[str] = Counter()
        values: dict[str, tuple[array[float], array[int]]] = {}  # values, and their runs
        seconds = 0.0
        for row in self.rows():
            seconds += row["seconds"]
            if row["status"] != DONE:
                errors[f"{row['error']['type']}: {row['error']['text']}"] += 1
                continue
            for name, value in _single(row["measures"]).items():
                own, runs = values.setdefault(name, (array("d"), array("q")))
                own.append(math.nan if value is None else value)
                runs.append(row["run"])
        return {
            "name": self.name,
            "folder": str(self.folder),
            "runs": self.total,
            "done": self.done,
            "failed": self.failed,
            "left": self.left,
            "seconds_of_computing": seconds,
            "measures": {name: _spans(np.array(own), runs) for name, (own, runs) in values.items()},
            "errors": [{"error": text, "runs": count} for text, count in errors.most_common(_ERRORS_SHOWN)],
            "notes": self.notes,
        }

    def to_csv(self, path: PathLike) -> None:
        """Write one line per run; parameters with a uniform unit are numbers with the unit in the title.

        Raises:
            SweepError: the file cannot be written.
        """
        columns = self._columns()
        with (
            atomic_write(Path(path), SweepError) as part,
            part.open("w", newline="", encoding="utf-8") as file,
        ):
            writer = csv.writer(file)
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))

    def _columns(self) -> dict[str, list[Any]]:
        """Values of all rows by title."""
        rows = list(self.rows())
        singles = [_single(row.get("measures", {})) for row in rows]
        found: dict[str, list[Any]] = {"run": [row["run"] for row in rows], "status": [row["status"] for row in rows]}
        for key in dict.fromkeys(key for row in rows for key in row["changes"]):
            values = [row["changes"].get(key) for row in rows]
            pairs = [number_and_unit(value) for value in values]
            units = {pair and pair[1] for pair in pairs}
            (unit,) = units if len(units) == 1 else (None,)
            if unit is None:  # text, or mixed units: as written
                found[key] = [value if isinstance(value, str) else json.dumps(value) for value in values]
            else:
                found[f"{key} [{unit}]" if unit else key] = [pair[0] for pair in pairs if pair]
        for name in dict.fromkeys(name for single in singles for name in single):
            numbers = [single.get(name) for single in singles]
            found[name] = [math.nan if number is None else number for number in numbers]
        found["seconds"] = [float(row["seconds"]) for row in rows]
        found["error"] = [row["error"]["text"] if "error" in row else "" for row in rows]
        return found


def _spans(values: Any, runs: array[int]) -> dict[str, Any]:
    """Minimum, mean and maximum of values; non-finite ones are only counted."""
    is_known = np.isfinite(values)
    known = values[is_known]
    some = len(known) > 0
    return {
        "least": float(known.min()) if some else None,
        "mean": float(known.mean()) if some else None,
        "greatest": float(known.max()) if some else None,
        "greatest_in_run": runs[int(np.argmax(np.where(is_known, values, -np.inf)))] if some else None,
        "not_finite": len(values) - len(known),
    }


def _single(measures: Mapping[str, Any]) -> dict[str, float | None]:
    """Measures with one number each; parts of a measure are named "name.part"."""
    return flat({name: value for name, value in measures.items() if value != {}})


# --- reading ----------------------------------------------------------------------------------------------------------
def read_result(folder: PathLike) -> SweepResult:
    """Read the results in the folder of a sweep, which may be running.

    Raises:
        SweepError: no results, or they are damaged.
    """
    found = _read(Path(folder))
    if found is None:
        raise SweepError(f"{folder}: no sweep results ({FILE}).", file=folder)
    return found


def _read(folder: Path) -> SweepResult | None:
    """Results in a folder; None without a complete header."""
    path = folder / FILE
    try:
        with path.open("rb") as file:
            return _indexed(folder, file)
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise SweepError(f"{path}: cannot be read: {problem.strerror}.", file=path, value=problem.errno) from None


def _indexed(folder: Path, file: IO[bytes]) -> SweepResult | None:
    path, first = folder / FILE, file.readline(_LONGEST_HEADER)
    is_begun = first.startswith(_HEADER) or _HEADER.startswith(first)
    if is_begun and not first.endswith(b"\n") and not file.read(1):
        return None
    header = _parsed(first)
    total = header.get("total") if isinstance(header, dict) and header.get("ada_sweep") == FORMAT else None
    if not isinstance(total, int) or not 0 <= total <= MOST_RUNS:
        raise SweepError(f"{path}: not a results file of `ada sweep`; use another folder.", file=path, line=1)
    result = SweepResult(folder, header, len(first))
    for number, line in enumerate(file, 2):
        row = _parsed(line) if line.endswith(b"\n") else None
        if not _is_row(row, total):
            if row is not None or file.read(1):
                text = f"{path}, line {number}: damaged row. Delete this line to repeat its run, or use another folder."
                raise SweepError(text, file=path, line=number)
            result.notes.append(f"{path}: the last line is incomplete; its run is repeated.")
            break
        result.take(row, len(line))
    return result


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _is_row(row: Any, total: int) -> TypeGuard[dict[str, Any]]:
    """Return True for rows that a worker returns."""
    if not isinstance(row, dict) or type(row.get("run")) is not int or not 0 <= row["run"] < total:
        return False
    result = {DONE: "measures", FAILED: "error"}.get(str(row.get("status")), "")
    is_whole = isinstance(row.get("changes"), dict) and isinstance(row.get(result), dict)
    return is_whole and isinstance(row.get("seconds"), (int, float))


# --- writing ----------------------------------------------------------------------------------------------------------
class Store:
    """Results of a running sweep, locked by one process.

    Attributes:
        result: rows so far.
    """

    def __init__(self, folder: Path, sweep: Sweep) -> None:
        """Open or create the folder of a sweep.

        Raises:
            SweepError: the folder is in use, contains another sweep, is damaged, or is not writable.
        """
        self._path = folder / FILE
        with contextlib.ExitStack() as opened:
            try:
                folder.mkdir(parents=True, exist_ok=True)
                opened.enter_context(_locked(folder))
                self.result, self._file = self._opened(folder, sweep)
            except OSError as problem:
                words = f"{self._path}: cannot be written: {problem.strerror or problem}."
                raise SweepError(words, file=self._path, value=problem.errno) from None
            self._lock = opened.pop_all()
        self._synced_at = time.monotonic()

    def _opened(self, folder: Path, sweep: Sweep) -> tuple[SweepResult, IO[bytes]]:
        result = _read(folder)
        if result is not None:
            _refuse_another(self._path, result.header, sweep)
            file: IO[bytes] = self._path.open("r+b")
            file.truncate(result.end)
            file.seek(result.end)
            return result, file
        header = {
            "ada_sweep": FORMAT,
            "name": sweep.name,
            "version": __version__,
            "fingerprint": sweep.fingerprint,
            "total": len(sweep),
            "sweep": sweep.data(),
        }
        file = self._path.open("wb")
        line = _line(header)
        file.write(line)
        file.flush()
        return SweepResult(folder, header, len(line)), file

    def append(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Append rows, which then survive the end of this process.

        Raises:
            SweepError: they cannot be written, for example on a full disk.
        """
        lines = [(row, _line(row)) for row in rows]
        try:
            self._file.write(b"".join(line for _, line in lines))
            self._file.flush()
            for row, line in lines:
                self.result.take(row, len(line))
            if time.monotonic() - self._synced_at > SYNC_AFTER:
                os.fsync(self._file.fileno())
                self._synced_at = time.monotonic()
        except OSError as problem:
            words = f"{self._path}: cannot be written: {problem.strerror}. The same call resumes from the stored rows."
            raise SweepError(words, file=self._path, value=problem.errno) from None

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        """Synchronize the rows to disk and release the folder."""
        with self._lock, contextlib.suppress(OSError), self._file:
            os.fsync(self._file.fileno())


def _locked(folder: Path) -> IO[bytes]:
    """Lock that is released by the operating system at the end of this process."""
    file = (folder / LOCK).open("ab")
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        words = f"{folder}: in use by another sweep process; wait for it, or use another folder."
        raise SweepError(words, file=folder, field="lock") from None
    except (ImportError, OSError):  # Windows, or a file system without locks
        pass
    return file


def _refuse_another(path: Path, header: Mapping[str, Any], sweep: Sweep) -> None:
    if header.get("fingerprint") == sweep.fingerprint:
        return
    old, new = flat(header.get("sweep") or {}), flat(json.loads(json.dumps(sweep.data())))
    missing = object()
    changed = [key for key in dict.fromkeys((*old, *new)) if old.get(key, missing) != new.get(key, missing)]
    shown = "; ".join(f"{key} was {old.get(key)!r:.60}, is {new.get(key)!r:.60}" for key in changed[:_SHOWN])
    more = f"; and {len(changed) - _SHOWN} more" if len(changed) > _SHOWN else ""
    text = (
        f"{path}: belongs to another sweep: {shown}{more} (robot: digest of all files of robot and controller). Use "
        "another folder (--output), or delete this one."
    )
    raise SweepError(text, file=path, field="sweep", value=tuple(changed))


def _line(data: Mapping[str, Any]) -> bytes:
    return to_json(data).encode("utf-8", "backslashreplace") + b"\n"
