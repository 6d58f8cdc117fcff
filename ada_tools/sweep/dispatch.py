# SPDX-License-Identifier: Apache-2.0
"""Distribution of the runs of a sweep: a few chunks per worker at a time, with results written before further chunks.

When a worker dies, its unfinished runs are repeated individually, so that the run that kills workers is identified
without affecting others.
"""

from __future__ import annotations

import os
import queue
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Any

from ada_dynamics.clock import SYSTEM_CLOCK, Clock
from ada_dynamics.errors import DeviceError, InputError
from ada_dynamics.progress import Progress
from ada_tools.sweep.results import SweepResult, read_result
from ada_tools.sweep.store import BAD, LOGS, NEW, Store, SweepError
from ada_tools.sweep.sweep import Sweep
from ada_tools.sweep.work import Chunk, forget_log, work
from ada_tools.sweep.worker_memory import FAILED, Task, failed_row
from ada_tools.sweep.worker_pool import Future, WorkerPool, refuse_no_count, worker_pool_for

CHUNKS_PER_WORKER = 2  # one running, one queued
CHUNK_SECONDS = 0.25  # target duration of a chunk: dispatching costs milliseconds
MOST_IN_CHUNK = 500
SIDE_BY_SIDE = 1.0, 2**16  # duration and maximum size of a batched chunk: thousands of runs fill a device
ENOUGH = 4.0  # a worker that exceeds its duration by this factor returns early
GROWTH = 8  # maximum growth factor of consecutive chunks
TICK = 0.2  # [s] polling period
Tell = Callable[[float, str], None]  # completed fraction, and a text


class WorkerDied(SweepError):
    """A run killed its worker twice."""


def run_sweep(
    sweep: Sweep,
    output: str | os.PathLike[str],
    executor: Any = None,
    jobs: int | None = None,
    progress: str | Callable[[float, str], None] | None = None,
    *,
    address: str | None = None,
    limit: int | None = None,
    restart: bool = False,
    retry_failed: bool = False,
    clock: Clock = SYSTEM_CLOCK,
) -> SweepResult:
    """Execute the runs of a sweep that have no result yet.

    Example::

        result = run_sweep(sweep.load("starts.yaml"), "out", jobs=8, progress="auto")

    The row of each run is in OUTPUT/runs.jsonl as soon as its chunk (about a quarter of a second) is complete. A
    repeated call resumes the sweep. A failed run is a row with its error.

    Args:
        sweep: sweep from `load`.
        output: folder for the results; created if missing.
        executor: "local" processes (default), "threads", "dask", a dask client, or an object with submit(function,
            argument) that returns futures.
        jobs: number of parallel runs; default: number of cores or cluster workers.
        progress: "auto" shows a bar on a terminal and lines otherwise; a function receives fraction and text.
        address: address of a dask scheduler, such as "tcp://10.0.0.1:8786"; default: a local cluster.
        limit: maximum number of runs.
        restart: discard existing results.
        retry_failed: repeat failed runs.
        clock: clock of this process.

    Raises:
        SweepError: the folder contains another sweep or is not writable, or no workers are available.
        KeyboardInterrupt: finished rows are kept.
    """
    refuse_no_count("limit", limit)
    folder = Path(output)
    with Store(folder, sweep, restart, clock) as store:
        task = Task(
            sweep.fingerprint,
            sweep.scenario.tree,
            sweep.scenario.file,
            None if sweep.scenario.folder is None else sweep.scenario.folder.absolute(),
            sweep.runs,
            sweep.measures,
            sweep.keep,
            (folder / LOGS).absolute(),
            sweep.device,
        )
        statuses = (NEW, BAD) if retry_failed else (NEW,)
        wanted = _to_make(sweep, store, statuses, limit)
        notes = list(store.index.notes)
        left = sum(map(store.index.count, statuses))
        amount, before = min(left, limit or left), len(sweep) - left
        if amount:
            shown = _shown(progress, sweep, before, before + amount)
            with worker_pool_for(executor, jobs, address, sweep.device) as pool, shown as tell:
                pool.check()
                if sweep.device is not None:
                    pool.look(task, next(_to_make(sweep, store, statuses, 1)))
                _Dispatch(task, pool, store, wanted, amount, before, tell).run()
    result = read_result(folder)
    result.notes = notes
    return result


def _to_make(sweep: Sweep, store: Store, statuses: tuple[int, ...], limit: int | None) -> Iterator[int]:
    # The list of runs is fixed here: a run that fails now is not repeated.
    status = bytes(store.index.status)
    numbers = (run for run in range(len(sweep)) if status[run] in statuses)
    for i, run in enumerate(numbers):
        if limit is not None and i >= limit:
            return
        yield run


def _shown(progress: Any, sweep: Sweep, before: int, total: int) -> AbstractContextManager[Tell]:
    if progress is None:
        return nullcontext(lambda share, text: None)
    if progress == "auto":
        return Progress(total, sweep.name, "runs", start=before)
    if callable(progress):
        return nullcontext(progress)
    raise InputError(
        f"progress is {progress!r:.80}; it must be None, 'auto', or a function of share and text.", field="progress"
    )


class _Dispatch:
    """Loop that submits chunks and collects rows."""

    def __init__(
        self, task: Task, pool: WorkerPool, store: Store, wanted: Iterator[int], amount: int, before: int, tell: Tell
    ) -> None:
        self._task, self._pool, self._store = task, pool, store
        self._wanted, self._amount, self._before, self._tell = wanted, amount, before, tell
        self._again: deque[int] = deque()  # returned without a result
        self._suspects: deque[tuple[int, ...]] = deque()  # running when a worker died
        self._pending: dict[Future, tuple[int, ...]] = {}
        self._seconds, self._most = (CHUNK_SECONDS, MOST_IN_CHUNK) if task.device is None else SIDE_BY_SIDE
        self._tried_twice = False  # the running chunk is a suspect
        self._broken = False
        self._finished: queue.SimpleQueue[Future] = queue.SimpleQueue()
        self._size, self._made, self._failed = 1, 0, 0

    def run(self) -> None:
        """Execute all runs."""
        try:
            while self._fill():
                try:
                    future = self._finished.get(timeout=TICK)
                except queue.Empty:
                    self._report()
                    continue
                self._collect(future)
        except BaseException as problem:
            for future in self._pending:
                future.cancel()
            if isinstance(problem, KeyboardInterrupt):
                self._save_finished()
            raise

    def _fill(self) -> bool:
        """Submit work up to the limit; return True if any is running."""
        if self._broken and not self._pending:
            self._pool.renew()
            self._broken = False
        if self._broken or self._tried_twice:
            return True
        if self._suspects:
            if not self._pending:
                self._tried_twice = True
                self._submit(self._suspects.popleft())
            return True
        while len(self._pending) < CHUNKS_PER_WORKER * self._pool.workers and not self._broken:
            runs = self._next_runs()
            if not runs:
                break
            self._submit(runs)
        return bool(self._pending) or self._broken

    def _next_runs(self) -> tuple[int, ...]:
        left = self._amount - self._made
        size = min(self._size, max(1, left // (CHUNKS_PER_WORKER * self._pool.workers)))
        runs: list[int] = []
        while len(runs) < size:
            run = self._again.popleft() if self._again else next(self._wanted, None)
            if run is None:
                break
            runs.append(run)
        return tuple(runs)

    def _submit(self, runs: tuple[int, ...]) -> None:
        try:
            future = self._pool.submit(work, Chunk(self._task, runs, ENOUGH * self._seconds))
        except BrokenExecutor:
            self._broken, self._tried_twice = True, False
            self._again.extendleft(reversed(runs))
            return
        self._pending[future] = runs
        future.add_done_callback(self._finished.put)

    def _collect(self, future: Future) -> None:
        runs = self._pending.pop(future)
        was_suspect, self._tried_twice = self._tried_twice, False
        try:
            rows = future.result()
        except DeviceError as problem:
            text = (
                f"{problem} Finished runs are stored; the same call resumes. Fewer workers (--jobs) use less device "
                "memory; a sweep without device runs on any machine."
            )
            raise SweepError(text, field="device", value=self._task.device) from None
        except (Exception, CancelledError) as problem:
            self._lost(runs, problem, was_suspect)
            return
        self._take(rows)
        self._again.extendleft(reversed(runs[len(rows) :]))
        seconds = sum(row["seconds"] for row in rows) / len(rows)
        fitting = int(self._seconds / max(seconds, 1e-6))
        self._size = max(1, min(fitting, GROWTH * self._size, self._most))

    def _lost(self, runs: tuple[int, ...], problem: BaseException, was_suspect: bool) -> None:
        """Handle runs without rows: their worker died, or their result could not be transferred."""
        self._broken = self._broken or isinstance(problem, BrokenExecutor)
        if not was_suspect or len(runs) > 1:
            # Batches have thousands of runs: the failing one is found by bisection.
            pieces = len(runs) if self._task.device is None else 2
            self._suspects.extend(tuple(runs[i::pieces]) for i in range(min(pieces, len(runs))))
            return
        reason = f"{type(problem).__name__}: {problem}"
        for run in runs:
            with suppress(OSError):
                forget_log(self._task, run)
        self._take([failed_row(run, self._task.runs.changes(run), WorkerDied(reason)) for run in runs])

    def _take(self, rows: list[dict[str, Any]]) -> None:
        self._store.append(rows)
        self._made += len(rows)
        self._failed += sum(row["status"] == FAILED for row in rows)
        self._report()

    def _report(self) -> None:
        share = (self._before + self._made) / (self._before + self._amount)
        self._tell(share, f"{self._failed} failed" if self._failed else "")

    def _save_finished(self) -> None:
        """Store rows that were returned but not written yet."""
        while not self._finished.empty():
            future = self._finished.get()
            try:
                rows = future.result()
            except (Exception, CancelledError):
                continue
            self._store.append(rows)
