# SPDX-License-Identifier: Apache-2.0
"""Results file of a sweep: a header, then one JSON row per finished run, append-only.

A row is valid if its line is complete. A killed process leaves at most one incomplete line, which is removed on resume.
If a run has several rows (failed, then repeated), the last one counts.
"""

from __future__ import annotations

import contextlib
import json
import os
from array import array
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any, TypeGuard

from ada_dynamics._version import __version__
from ada_dynamics.clock import SYSTEM_CLOCK, Clock
from ada_dynamics.errors import InputError
from ada_dynamics.output_files import to_json
from ada_tools.sweep.axes import flat
from ada_tools.sweep.reader import MOST_RUNS
from ada_tools.sweep.sweep import Sweep
from ada_tools.sweep.worker_memory import DONE, FAILED

FILE, LOGS, LOCK = "runs.jsonl", "logs", ".lock"
_LOG_NAMES = "run_*.npz"
FORMAT = 1
NEW, GOOD, BAD = 0, 1, 2  # status of a run: no row, done, failed
SYNC_AFTER = 1.0  # [s] interval of fsync; the operating system gets the rows immediately
_SHOWN = 6  # differences in a message
_HEADER = b'{"ada_sweep": '  # start of a header
_LONGEST_HEADER = 2**29  # bytes; headers of MOST_RUNS values have about 3e8


class SweepError(InputError):
    """A sweep cannot be executed because of its folder, results file or workers; the message names the correction."""


class Index:
    """Status and file position of all runs."""

    def __init__(self, header: dict[str, Any], end: int) -> None:
        """Args: header, and its end position."""
        self.header = header
        self.total = int(header["total"])
        self.status = bytearray(self.total)
        self.at = array("q", [-1]) * self.total
        self.end = end  # end of the last complete row
        self.notes: list[str] = []

    def count(self, status: int) -> int:
        """Number of runs with a status."""
        return self.status.count(status)

    def take(self, row: Mapping[str, Any], at: int) -> None:
        """Register a row."""
        self.status[row["run"]] = GOOD if row["status"] == DONE else BAD
        self.at[row["run"]] = at


def read_index(folder: Path) -> Index | None:
    """Index of the results file in a folder; None without a complete header. Raises SweepError if it is damaged."""
    path = folder / FILE
    try:
        with path.open("rb") as file:
            return _indexed(path, file)
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise SweepError(f"{path}: cannot be read: {problem.strerror}.", file=path, value=problem.errno) from None


def _indexed(path: Path, file: IO[bytes]) -> Index | None:
    first = file.readline(_LONGEST_HEADER)
    is_begun = first.startswith(_HEADER) or _HEADER.startswith(first)
    if is_begun and not first.endswith(b"\n") and not file.read(1):
        return None
    header = _parsed(first)
    total = header.get("total") if isinstance(header, dict) and header.get("ada_sweep") == FORMAT else None
    if not isinstance(total, int) or not 0 <= total <= MOST_RUNS:
        raise SweepError(f"{path}: not a results file of `ada sweep`; use another folder.", file=path, line=1)
    index = Index(header, len(first))
    number = 1
    for line in file:
        number += 1
        row = _parsed(line) if line.endswith(b"\n") else None
        if not _is_row(row, index.total):
            if row is not None or file.read(1):
                text = (
                    f"{path}, line {number}: damaged row. Delete this line to repeat its run, or restart "
                    "the sweep with --restart (restart=True)."
                )
                raise SweepError(text, file=path, line=number)
            index.notes.append(f"{path}: the last line is incomplete; its run is repeated.")
            break
        index.take(row, index.end)
        index.end += len(line)
    return index


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _is_row(row: Any, total: int) -> TypeGuard[dict[str, Any]]:
    """Return True for rows from `done_row` and `failed_row`."""
    if not isinstance(row, dict) or not isinstance(row.get("changes"), dict):
        return False
    run, seconds, measures, error = (row.get(key) for key in ("run", "seconds", "measures", "error"))
    if type(run) is not int or not 0 <= run < total or not _is_number(seconds):
        return False
    if row.get("status") == DONE:
        return isinstance(measures, dict) and all(map(_is_measured, measures.values()))
    texts = [error.get(key) for key in ("type", "text")] if isinstance(error, dict) else [None]
    return row.get("status") == FAILED and all(isinstance(text, str) for text in texts)


def _is_measured(value: Any) -> bool:
    """Return True for a number, None for a non-finite one, or a mapping of these."""
    numbers = value.values() if isinstance(value, dict) else (value,)
    return all(number is None or _is_number(number) for number in numbers)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


class Store:
    """Results of a running sweep, locked by one process; last synchronized to disk at `synced_at` [s]."""

    def __init__(self, folder: Path, sweep: Sweep, restart: bool = False, clock: Clock = SYSTEM_CLOCK) -> None:
        """Open or create the folder of a sweep.

        Args:
            folder: folder of results and logs.
            sweep: sweep to run.
            restart: discard the results; the old file and logs are renamed to runs.jsonl.old and logs.old.
            clock: clock of the synchronization interval.

        Raises:
            SweepError: the folder is in use, contains another sweep, is damaged, or is not writable.
        """
        self.path, self._clock = folder / FILE, clock
        self._lock: IO[bytes] | None = None
        self._file: IO[bytes] | None = None
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = _locked(folder)
            if restart and self.path.exists():
                _put_aside(folder)
            self.index = self._opened(folder, sweep)
        except OSError as problem:
            self.close()
            words = f"{self.path}: cannot be written: {problem.strerror or problem}."
            raise SweepError(words, file=self.path, value=problem.errno) from None
        except BaseException:
            self.close()
            raise
        self.synced_at = self._clock.now()

    def _opened(self, folder: Path, sweep: Sweep) -> Index:
        index = read_index(folder)
        if index is not None:
            _refuse_another(self.path, index.header, sweep)
            self._file = self.path.open("r+b", buffering=0)
            self._file.truncate(index.end)
            self._file.seek(index.end)
            return index
        self._file = self.path.open("wb", buffering=0)
        header = {
            "ada_sweep": FORMAT,
            "name": sweep.name,
            "version": __version__,
            "fingerprint": sweep.fingerprint,
            "total": len(sweep),
            "sweep": sweep.data(),
        }
        line = _line(header)
        self._write(line)
        return Index(header, len(line))

    def append(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Append rows, which then survive the end of this process.

        Raises:
            SweepError: they cannot be written, for example on a full disk.
        """
        text = b""
        for row in rows:
            line = _line(row)
            self.index.take(row, self.index.end + len(text))
            text += line
        try:
            self._write(text)
            self.index.end += len(text)
            if self._clock.now() - self.synced_at > SYNC_AFTER:
                self._sync()
        except OSError as problem:
            words = f"{self.path}: cannot be written: {problem.strerror}. The same call resumes from the stored rows."
            raise SweepError(words, file=self.path, value=problem.errno) from None

    def _write(self, text: bytes) -> None:
        assert self._file is not None
        rest = memoryview(text)
        while rest:
            rest = rest[self._file.write(rest) :]

    def _sync(self) -> None:
        assert self._file is not None
        os.fsync(self._file.fileno())
        self.synced_at = self._clock.now()

    def close(self) -> None:
        """Synchronize the rows to disk and release the folder."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._sync()
            with contextlib.suppress(OSError):
                self._file.close()
        if self._lock is not None:
            self._lock.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _put_aside(folder: Path) -> None:
    """Rename results and logs, replacing earlier renamed ones; other files are not touched."""
    old = folder / f"{LOGS}.old"
    for log in old.glob(_LOG_NAMES):
        log.unlink()
    for log in list((folder / LOGS).glob(_LOG_NAMES)):
        old.mkdir(exist_ok=True)
        log.replace(old / log.name)
    (folder / FILE).replace(folder / f"{FILE}.old")


def _locked(folder: Path) -> IO[bytes]:
    """Lock that is released by the operating system at the end of this process."""
    file = (folder / LOCK).open("ab")
    try:
        import fcntl
    except ImportError:  # Windows: no lock
        return file
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        words = f"{folder}: in use by another sweep process; wait for it, or use another folder."
        raise SweepError(words, file=folder, field="lock") from None
    except OSError:
        pass  # file system without locks
    return file


def _refuse_another(path: Path, header: Mapping[str, Any], sweep: Sweep) -> None:
    if header.get("fingerprint") == sweep.fingerprint:
        return
    old, new = flat(header.get("sweep") or {}), flat(json.loads(json.dumps(sweep.data())))
    changed = [key for key in dict.fromkeys((*old, *new)) if old.get(key, _MISSING) != new.get(key, _MISSING)]
    shown = "; ".join(_difference(key, old, new) for key in changed[:_SHOWN])
    more = f"; and {len(changed) - _SHOWN} more" if len(changed) > _SHOWN else ""
    text = (
        f"{path}: belongs to another sweep. Differences: {shown}{more}. Use another folder (--output), or restart "
        "with --restart (restart=True)."
    )
    raise SweepError(text, file=path, field="sweep", value=tuple(changed))


def _difference(key: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    if key == "robot":
        return "the robot description, or a file used by the robot or controller"
    before, after = (f"{found[key]!r:.60}" if key in found else "nothing" for found in (old, new))
    return f"{key} from {before} to {after}"


_MISSING = object()


def _line(data: Mapping[str, Any]) -> bytes:
    return to_json(data).encode("utf-8", "backslashreplace") + b"\n"
