# SPDX-License-Identifier: Apache-2.0
"""The file of results: a header, then one row of JSON per finished run, only ever appended to.

A row counts when its line is whole. A process that is killed leaves at most one torn line, which is cut off when the
sweep goes on. Where a run has several rows (failed, then tried again) the last one counts.
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
from ada_tools.sweep.bench import DONE, FAILED
from ada_tools.sweep.reader import MOST_RUNS
from ada_tools.sweep.sweep import Sweep

FILE, LOGS, LOCK = "runs.jsonl", "logs", ".lock"
_LOG_NAMES = "run_*.npz"
FORMAT = 1
NEW, GOOD, BAD = 0, 1, 2  # of a run: no row, done, failed
SYNC_AFTER = 1.0  # [s] between two times that rows are pushed to the disk; the operating system has them at once
_SHOWN = 6  # differences in a message
_HEADER = b'{"ada_sweep": '  # how one begins
_LONGEST_HEADER = 2**29  # bytes; those of MOST_RUNS values have some 3e8


class SweepError(InputError):
    """A sweep cannot go on: its folder, its file of results or its workers; the message says which, and the fix."""


class Index:
    """The runs that have rows, and their places in the file."""

    def __init__(self, header: dict[str, Any], end: int) -> None:
        """Args: the header, and where it ends."""
        self.header = header
        self.total = int(header["total"])
        self.status = bytearray(self.total)
        self.at = array("q", [-1]) * self.total
        self.end = end  # of the last whole row
        self.notes: list[str] = []

    def count(self, status: int) -> int:
        """How many runs are new, done or failed."""
        return self.status.count(status)

    def take(self, row: Mapping[str, Any], at: int) -> None:
        """Note a row."""
        self.status[row["run"]] = GOOD if row["status"] == DONE else BAD
        self.at[row["run"]] = at


def read_index(folder: Path) -> Index | None:
    """The index of the file of results in a folder; None without a whole header, a SweepError if it is damaged."""
    path = folder / FILE
    try:
        with path.open("rb") as file:
            return _indexed(path, file)
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise SweepError(f"{path}: it cannot be read: {problem.strerror}.", file=path, value=problem.errno) from None


def _indexed(path: Path, file: IO[bytes]) -> Index | None:
    first = file.readline(_LONGEST_HEADER)
    is_begun = first.startswith(_HEADER) or _HEADER.startswith(first)
    if is_begun and not first.endswith(b"\n") and not file.read(1):
        return None
    header = _parsed(first)
    total = header.get("total") if isinstance(header, dict) and header.get("ada_sweep") == FORMAT else None
    if not isinstance(total, int) or not 0 <= total <= MOST_RUNS:
        raise SweepError(f"{path}: it is no file of results of `ada sweep`; use another folder.", file=path, line=1)
    index = Index(header, len(first))
    number = 1
    for line in file:
        number += 1
        row = _parsed(line) if line.endswith(b"\n") else None
        if not _is_row(row, index.total):
            if row is not None or file.read(1):
                text = (
                    f"{path}, line {number}: it is damaged. Delete that line, so that its run is made again, or start "
                    "anew with --restart (restart=True)."
                )
                raise SweepError(text, file=path, line=number)
            index.notes.append(f"{path}: the last line is torn; its run is made again.")
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
    """True for what `done_row` and `failed_row` give."""
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
    """True for a number, one that was not finite, and a mapping of these."""
    numbers = value.values() if isinstance(value, dict) else (value,)
    return all(number is None or _is_number(number) for number in numbers)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


class Store:
    """The results of a sweep while it runs; one process at a time has them, on the disk since `synced_at` [s]."""

    def __init__(self, folder: Path, sweep: Sweep, restart: bool = False, clock: Clock = SYSTEM_CLOCK) -> None:
        """Open the folder of a sweep, or make it.

        Args:
            folder: for results and logs.
            sweep: what is run.
            restart: start anew; the old file and logs stay beside the new ones, as runs.jsonl.old and logs.old.
            clock: for the time between two synchronizations with the disk.

        Raises:
            SweepError: it is in use, is another sweep's, is damaged, or cannot be written.
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
            words = f"{self.path}: it cannot be written: {problem.strerror or problem}."
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
        """Add rows; when this returns, they outlive this process.

        Raises:
            SweepError: they cannot be written, as on a full disk.
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
            words = f"{self.path}: it cannot be written: {problem.strerror}. The same call goes on from what is kept."
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
        """Push the rows to the disk, and let others have the folder."""
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
    """Rename results and their logs; those that were renamed before go, and what else is there stays."""
    old = folder / f"{LOGS}.old"
    for log in old.glob(_LOG_NAMES):
        log.unlink()
    for log in list((folder / LOGS).glob(_LOG_NAMES)):
        old.mkdir(exist_ok=True)
        log.replace(old / log.name)
    (folder / FILE).replace(folder / f"{FILE}.old")


def _locked(folder: Path) -> IO[bytes]:
    """A lock that the operating system releases whenever this process ends."""
    file = (folder / LOCK).open("ab")
    try:
        import fcntl
    except ImportError:  # not on Windows: no lock there
        return file
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        words = f"{folder}: another process runs a sweep there; wait for it, or use another folder."
        raise SweepError(words, file=folder, field="lock") from None
    except OSError:
        pass  # a file system without locks
    return file


def _refuse_another(path: Path, header: Mapping[str, Any], sweep: Sweep) -> None:
    if header.get("fingerprint") == sweep.fingerprint:
        return
    old, new = flat(header.get("sweep") or {}), flat(json.loads(json.dumps(sweep.data())))
    changed = [key for key in dict.fromkeys((*old, *new)) if old.get(key, _MISSING) != new.get(key, _MISSING)]
    shown = "; ".join(_difference(key, old, new) for key in changed[:_SHOWN])
    more = f"; and {len(changed) - _SHOWN} more" if len(changed) > _SHOWN else ""
    text = (
        f"{path}: it belongs to another sweep. Changed since: {shown}{more}. Use another folder (--output), or start "
        "anew with --restart (restart=True)."
    )
    raise SweepError(text, file=path, field="sweep", value=tuple(changed))


def _difference(key: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    if key == "robot":
        return "the robot's description, or a file that robot or controller is made from"
    before, after = (f"{found[key]!r:.60}" if key in found else "nothing" for found in (old, new))
    return f"{key} from {before} to {after}"


_MISSING = object()


def _line(data: Mapping[str, Any]) -> bytes:
    return to_json(data).encode("utf-8", "backslashreplace") + b"\n"
