# SPDX-License-Identifier: Apache-2.0
"""`run_sweep`: a few chunks of runs per worker at a time, with results written before further chunks.

A worker keeps its latest simulation: runs that differ only in the initial state cost no more than their steps. With a
controller, runs that differ only in controller and disturbances share the dynamics. When a worker dies, its unfinished
runs are repeated individually, so that the run that kills workers is identified without affecting others.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Future, ProcessPoolExecutor, wait
from contextlib import AbstractContextManager, nullcontext, suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ada_dynamics._version import __version__
from ada_dynamics.errors import AdaError, InputError
from ada_dynamics.progress import Progress
from ada_tools.scenario.run import checked_start, log_of, measure, set_up, simulation_of
from ada_tools.scenario.scenario import START, Scenario
from ada_tools.sweep.results import DONE, FAILED, Store, SweepError, SweepResult
from ada_tools.sweep.sweep import Sweep

if TYPE_CHECKING:
    from ada_dynamics.simulation import Log, Simulation

CHUNKS_PER_WORKER = 2  # one running, one queued
CHUNK_SECONDS = 0.25  # after which a worker returns its rows
MOST_IN_CHUNK = 500
TICK = 0.2  # [s] between two reports
OF_RUN = ("controller.", "disturbances.")  # keys of values that do not change the dynamics
Tell = Callable[[float, str], None]  # completed fraction, and a text
Row = dict[str, Any]


class WorkerDied(SweepError):
    """A run killed its worker twice."""


def run_sweep(
    sweep: Sweep,
    output: str | os.PathLike[str],
    executor: Any = None,
    jobs: int | None = None,
    progress: str | Callable[[float, str], None] | None = None,
    *,
    limit: int | None = None,
    retry_failed: bool = False,
) -> SweepResult:
    """Execute the runs of a sweep that have no result yet.

    Example::

        result = run_sweep(sweep.load("starts.yaml"), "out", jobs=8, progress="auto")

    The row of each run is in OUTPUT/runs.jsonl as soon as its chunk (about a quarter of a second) is complete. A
    repeated call resumes the sweep. A failed run is a row with its error.

    Args:
        sweep: sweep from `load`.
        output: folder for the results; created if missing.
        executor: executor with the interface of concurrent.futures, such as one of dask or MPI; default: processes.
        jobs: number of parallel runs; default: number of workers of the executor, or of cores.
        progress: "auto" shows a bar on a terminal and lines otherwise; a function receives fraction and text.
        limit: maximum number of runs.
        retry_failed: repeat failed runs.

    Raises:
        SweepError: the folder contains another sweep or is not writable, or no workers are available.
        KeyboardInterrupt: finished rows are kept.
    """
    counts: dict[str, object] = {"limit": limit, "jobs": jobs}
    for name, value in counts.items():
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
            raise InputError(f"{name} is {value!r}; it must be a positive integer.", field=name, value=value)
    if executor is not None and not callable(getattr(executor, "submit", None)):
        raise InputError(f"executor is {executor!r:.80}; it must have the method submit.", field="executor")
    with Store(Path(output), sweep) as store:
        result = store.result
        left = result.left + (result.failed if retry_failed else 0)
        before = len(sweep) - left
        runs = range(before, before + min(left, limit or left))
        if runs:
            wanted = islice(result.unfinished(retry_failed), len(runs))
            with _shown(progress, sweep, runs.start, runs.stop) as tell:
                _Dispatch(sweep, store, executor, jobs, wanted, runs, tell).run()
    return result


def _shown(progress: Any, sweep: Sweep, before: int, total: int) -> AbstractContextManager[Tell]:
    if progress is None:
        return nullcontext(lambda share, text: None)
    if progress == "auto":
        return Progress(total, sweep.name, "runs", start=before)
    if callable(progress):
        return nullcontext(progress)
    words = f"progress is {progress!r:.80}; it must be None, 'auto', or a function of share and text."
    raise InputError(words, field="progress")


def cores() -> int:
    """Number of cores available to this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Dispatch:
    """Loop that submits chunks and collects rows."""

    def __init__(
        self,
        sweep: Sweep,
        store: Store,
        executor: Any,
        jobs: int | None,
        wanted: Iterator[int],
        progress: range,
        tell: Tell,
    ) -> None:
        """`progress` is the range of finished runs: its start before, its end after the dispatch."""
        self._sweep, self._store = sweep, store
        self._given = self._executor = executor
        self._count = jobs or int(getattr(executor, "_max_workers", 0)) or cores()
        self._wanted, self._progress, self._tell = wanted, progress, tell
        self._made = self._failed = 0
        self._again: deque[int] = deque()  # returned without a result
        self._suspects: deque[int] = deque()  # running when a worker died; tried one by one while nothing else runs
        self._is_broken = False
        self._pending: dict[Future[list[Row]], tuple[int, ...]] = {}

    def run(self) -> None:
        """Execute all runs."""
        try:
            self._start()
            while self._fill():
                finished, _ = wait(self._pending, TICK, FIRST_COMPLETED)
                for future in finished:
                    self._collect(future)
                share = (self._progress.start + self._made) / self._progress.stop
                self._tell(share, f"{self._failed} failed" if self._failed else "")
        except BaseException as problem:
            for future in self._pending:
                future.cancel()
            if isinstance(problem, KeyboardInterrupt):
                for future in self._pending:
                    if future.done() and not future.cancelled() and future.exception() is None:
                        self._store.append(future.result())
            raise
        finally:
            self._kill()

    def _start(self) -> None:
        """Start processes, unless an executor was given, and wait until one of them replies.

        Raises:
            SweepError: no worker replies, or its library version differs.
        """
        self._is_broken = False
        if self._given is None:  # not forked: threads of numpy and the compiler do not survive a fork
            context = multiprocessing.get_context("spawn")
            self._executor = ProcessPoolExecutor(self._count, context, begin)
        try:
            version = self._executor.submit(worker_version).result()
        except Exception as problem:
            words = (
                f"the workers do not run: {type(problem).__name__}: {problem}. Worker processes import the main "
                "script: it must be a file and call run_sweep under if __name__ == '__main__':. Workers on other "
                "machines require ada_dynamics."
            )
            raise SweepError(words) from None
        if version != __version__:
            raise SweepError(f"the workers have version {version} of ada_dynamics, this process has {__version__}.")

    def _kill(self) -> None:
        """Kill the processes of this sweep, including processes that are starting."""
        if self._given is None and self._executor is not None:
            for process in list((getattr(self._executor, "_processes", None) or {}).values()):
                process.kill()
            self._executor.shutdown(wait=False, cancel_futures=True)

    def _fill(self) -> bool:
        """Submit work up to the limit; return True if any is running."""
        if self._is_broken and not self._pending:
            self._renew()
        if self._suspects:
            if not self._pending:
                self._submit((self._suspects[0],))
            return True
        most = CHUNKS_PER_WORKER * self._count
        while len(self._pending) < most and not self._is_broken and (runs := self._next_runs(most)):
            self._submit(runs)
        return bool(self._pending) or self._is_broken

    def _submit(self, runs: tuple[int, ...]) -> None:
        try:
            self._pending[self._executor.submit(work, self._sweep, runs)] = runs
        except BrokenExecutor:
            self._is_broken = True
            self._again.extendleft(reversed(() if self._suspects else runs))

    def _next_runs(self, most_chunks: int) -> tuple[int, ...]:
        size = min(MOST_IN_CHUNK, max(1, (len(self._progress) - self._made) // most_chunks))
        runs = [self._again.popleft() for _ in range(min(size, len(self._again)))]
        return (*runs, *islice(self._wanted, size - len(runs)))

    def _collect(self, future: Future[list[Row]]) -> None:
        runs = self._pending.pop(future)
        is_trial = bool(self._suspects) and runs == (self._suspects[0],)
        try:
            rows = future.result()
        except (Exception, CancelledError) as problem:  # the worker died, or its result could not be transferred
            self._is_broken = self._is_broken or isinstance(problem, BrokenExecutor)
            if not is_trial:
                self._suspects.extend(runs)
                return
            error = _error(WorkerDied(f"{type(problem).__name__}: {problem}"))
            changes = self._sweep.changes(runs[0])
            rows = [{"run": runs[0], "status": FAILED, "changes": changes, "error": error, "seconds": 0.0}]
        if is_trial:
            self._suspects.popleft()
        self._store.append(rows)
        self._made += len(rows)
        self._failed += sum(row["status"] == FAILED for row in rows)
        self._again.extendleft(reversed(runs[len(rows) :]))

    def _renew(self) -> None:
        """Start other processes after worker deaths broke the executor."""
        if self._given is not None:
            raise SweepError("the executor broke because its workers died; resume with a new one.")
        self._kill()
        self._start()


# --- in a worker ------------------------------------------------------------------------------------------------------
def begin() -> None:
    """Initialize a worker process.

    Ctrl-C is handled by the main process. When the main process ends, the worker exits immediately; rows that were not
    returned are recomputed on resume.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(0)

    threading.Thread(target=watch, daemon=True, name="sweep-life").start()


def worker_version() -> str:
    """Library version of a worker."""
    return __version__


def work(sweep: Sweep, runs: tuple[int, ...], seconds: float = CHUNK_SECONDS) -> list[Row]:
    """Execute at least one run, and further runs that start within some seconds."""
    began, rows = time.monotonic(), list[Row]()
    for run in runs:
        rows.append(_row(sweep, run))
        if time.monotonic() - began > seconds:
            break
    return rows


def _row(sweep: Sweep, run: int) -> Row:
    """Execute a run."""
    began = time.monotonic()
    row: Row = {"run": run, "status": DONE, "changes": sweep.changes(run)}
    try:
        scenario = sweep.scenario.with_changes(row["changes"])
        row["measures"] = measure(scenario, _simulated(sweep, scenario, row["changes"]), sweep.measures)
    except Exception as problem:  # a failure, including that of a user's measure, concerns this run only
        row |= {"status": FAILED, "error": _error(problem)}
    return row | {"seconds": round(time.monotonic() - began, 6)}


def _error(problem: BaseException) -> dict[str, str]:
    kind = type(problem).__name__
    text = " ".join(str(problem).split()) or kind
    return {"type": kind, "text": text[:1000]}


class _Cache(threading.local):
    """Latest simulation of a worker thread; None if the initial state of the scenario is invalid."""

    def __init__(self) -> None:
        self.key: tuple[str, dict[str, Any]] | None = None  # sweep, and all values that the simulation depends on
        self.simulation: Simulation | None = None


_cache = _Cache()


def _simulated(sweep: Sweep, scenario: Scenario, changes: dict[str, Any]) -> Log:
    """Motion of a run, using the cached simulation if possible.

    A controller holds joints without a reference at the initial state, so it is created for each run.
    """
    assert scenario.simulation is not None
    ignored = (START,) if scenario.control is None else OF_RUN
    fixed = {key: value for key, value in changes.items() if not key.startswith(ignored)}
    is_known = _cache.key == (sweep.fingerprint, fixed)
    if scenario.control is not None:
        simulation, loop = set_up(scenario, _cache.simulation if is_known else None)
        _cache.key, _cache.simulation = (sweep.fingerprint, fixed), simulation
        return log_of(scenario, simulation, loop)
    if not is_known:
        _cache.key, _cache.simulation = (sweep.fingerprint, fixed), None
        with suppress(AdaError):  # at the initial state of the scenario, so that results do not depend on the first run
            _cache.simulation = simulation_of(sweep.scenario.with_changes(fixed))
    simulation = _cache.simulation or simulation_of(scenario)
    simulation.reset(*checked_start(scenario, simulation.model))
    try:
        return simulation.run(scenario.simulation.duration)
    except BaseException:  # leaves the simulation in an undefined state
        _cache.key = None
        raise
