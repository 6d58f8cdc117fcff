# SPDX-License-Identifier: Apache-2.0
"""`run_sweep`: a few chunks of runs per worker at a time, with results written before further chunks.

When a worker dies, its unfinished runs are repeated individually, so that the run that kills workers is identified
without affecting others.
"""

from __future__ import annotations

import contextlib
import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from ada_dynamics._version import __version__
from ada_dynamics.clock import SYSTEM_CLOCK, Clock
from ada_dynamics.errors import DeviceError, InputError
from ada_dynamics.progress import Progress
from ada_dynamics.resources import how_to_install
from ada_tools.sweep import side_by_side, worker
from ada_tools.sweep.results import BAD, LOGS, NEW, Store, SweepError, SweepResult, read_result
from ada_tools.sweep.sweep import Sweep
from ada_tools.sweep.worker import FAILED, Chunk, Row, Task, failed_row

EXECUTORS = ("local", "threads", "dask")
WORKERS_PER_DEVICE = 4  # each uses some hundred megabytes of device memory
CHUNKS_PER_WORKER = 2  # one running, one queued
CHUNK_SECONDS = 0.25  # after which a worker returns its rows
MOST_IN_CHUNK, MOST_IN_BATCH = 500, 2**14
TICK = 0.2  # [s] between two reports
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
        executor: "local" processes (default), "threads", "dask", a dask client, or an executor with the interface of
            concurrent.futures.
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
    counts: dict[str, object] = {"limit": limit, "jobs": jobs}
    for name, value in counts.items():
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
            raise InputError(f"{name} is {value!r}; it must be a positive integer.", field=name, value=value)
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
        notes = list(store.result.notes)
        wanted = store.result.runs_with(NEW, BAD) if retry_failed else store.result.runs_with(NEW)
        left = store.result.left + (store.result.failed if retry_failed else 0)
        amount, before = min(left, limit or left), len(sweep) - left
        if amount:
            shown = _shown(progress, sweep, before, before + amount)
            with _workers(executor, jobs, address, sweep.device) as workers, shown as tell:
                workers.check(task)
                _Dispatch(task, workers, store, wanted, amount, before, tell).run()
    result = read_result(folder)
    result.notes = notes
    return result


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
        self, task: Task, workers: _Workers, store: Store, wanted: Iterator[int], amount: int, before: int, tell: Tell
    ) -> None:
        self._task, self._workers, self._store = task, workers, store
        self._wanted, self._before, self._amount, self._tell = wanted, before, amount, tell
        self._begun = self._made = self._failed = 0
        self._again: deque[int] = deque()  # returned without a result
        self._suspects: deque[tuple[int, ...]] = deque()  # running when a worker died; tried while nothing else runs
        self._pending: dict[Future[list[Row]], tuple[int, ...]] = {}
        self._is_trial = self._is_broken = False

    def run(self) -> None:
        """Execute all runs."""
        try:
            while self._fill():
                finished, _ = wait(self._pending, TICK, FIRST_COMPLETED)
                for future in finished:
                    self._collect(future)
                self._report()
        except BaseException as problem:
            for future in self._pending:
                future.cancel()
            if isinstance(problem, KeyboardInterrupt):
                self._save_finished()
            raise

    def _fill(self) -> bool:
        """Submit work up to the limit; return True if any is running."""
        if self._is_broken and not self._pending:
            self._workers.renew(self._task)
            self._is_broken = False
        if self._suspects:
            if not self._pending:
                self._is_trial = self._submit(self._suspects.popleft())
        else:
            most = CHUNKS_PER_WORKER * self._workers.count
            while len(self._pending) < most and not (self._is_broken or self._is_trial):
                runs = self._next_runs(most)
                if not runs:
                    break
                self._submit(runs)
        return bool(self._pending) or self._is_broken

    def _next_runs(self, most_chunks: int) -> tuple[int, ...]:
        most = MOST_IN_CHUNK if self._task.device is None else MOST_IN_BATCH
        size = min(most, max(1, (self._amount - self._made) // most_chunks))
        runs: list[int] = []
        while len(runs) < size:
            if self._again:
                runs.append(self._again.popleft())
            elif self._begun < self._amount:
                runs.append(next(self._wanted))
                self._begun += 1
            else:
                break
        return tuple(runs)

    def _submit(self, runs: tuple[int, ...]) -> bool:
        function = worker.work if self._task.device is None else side_by_side.work
        try:
            future = self._workers.executor.submit(function, Chunk(self._task, runs, CHUNK_SECONDS))
        except BrokenExecutor:
            self._is_broken = True
            self._again.extendleft(reversed(runs))
            return False
        self._pending[future] = runs
        return True

    def _collect(self, future: Future[list[Row]]) -> None:
        runs = self._pending.pop(future)
        was_trial, self._is_trial = self._is_trial, False
        try:
            rows = future.result()
        except DeviceError as problem:
            self._save_finished()
            text = (
                f"{problem} Finished runs are stored; the same call resumes. Fewer workers (--jobs) use less device "
                "memory; a sweep without device runs on any machine."
            )
            raise SweepError(text, field="device", value=self._task.device) from None
        except (Exception, CancelledError) as problem:
            self._is_broken = self._is_broken or isinstance(problem, BrokenExecutor)
            self._lost(runs, problem, was_trial)
            return
        self._take(rows)
        self._again.extendleft(reversed(runs[len(rows) :]))

    def _lost(self, runs: tuple[int, ...], problem: BaseException, was_trial: bool) -> None:
        """Handle runs without rows: their worker died, or their result could not be transferred."""
        if not was_trial or len(runs) > 1:
            # Batches have thousands of runs: the failing one is found by bisection.
            pieces = len(runs) if self._task.device is None else 2
            self._suspects.extend(tuple(runs[i::pieces]) for i in range(min(pieces, len(runs))))
            return
        (run,) = runs
        with suppress(OSError):
            self._task.forget_log(run)
        reason = WorkerDied(f"{type(problem).__name__}: {problem}")
        self._take([failed_row(run, self._task.runs.changes(run), reason)])

    def _take(self, rows: list[Row]) -> None:
        self._store.append(rows)
        self._made += len(rows)
        self._failed += sum(row["status"] == FAILED for row in rows)

    def _report(self) -> None:
        share = (self._before + self._made) / (self._before + self._amount)
        self._tell(share, f"{self._failed} failed" if self._failed else "")

    def _save_finished(self) -> None:
        """Store rows that were returned but not written yet."""
        for future in self._pending:
            if future.done() and not future.cancelled() and future.exception() is None:
                self._store.append(future.result())


# --- workers ----------------------------------------------------------------------------------------------------------
class _Workers:
    """An executor and its number of parallel runs; `make` creates another one after its processes died."""

    def __init__(self, executor: Any, count: int, make: Callable[[], Executor] | None = None) -> None:
        self.executor, self.count, self._make = executor, count, make

    def check(self, task: Task) -> None:
        """Wait until a worker replies, and can execute runs in batches if the sweep has a device.

        Raises:
            SweepError: no worker replies, its library version differs, or it cannot.
        """
        try:
            version = self.executor.submit(worker.version).result()
        except Exception as problem:
            raise SweepError(f"the workers do not run: {type(problem).__name__}: {problem}. {_HINT}") from None
        if version != __version__:
            raise SweepError(f"the workers have version {version} of ada_dynamics, this process has {__version__}.")
        why = "" if task.device is None else self.executor.submit(side_by_side.obstacle, task, 0).result()
        if why:
            raise SweepError(f"the runs cannot be batched: {why}", field="device", value=task.device)

    def renew(self, task: Task) -> None:
        """Start other processes after worker deaths broke the executor.

        Raises:
            SweepError: not possible.
        """
        if self._make is None:
            raise SweepError(
                "the executor broke because its workers died. Finished runs are stored; resume the sweep with a new "
                "executor."
            )
        self.close(abort=True)
        self.executor = self._make()
        self.check(task)

    def close(self, abort: bool = False) -> None:
        """Release own workers; with `abort` processes are killed, also those that are starting."""
        for process in list((getattr(self.executor, "_processes", None) or {}).values()) if abort else ():
            process.kill()
        self.executor.shutdown(wait=not (abort and self._make), cancel_futures=True)


_HINT = (
    "Worker processes import the main script: it must be a file and call run_sweep under if __name__ == '__main__':. "
    "Workers on other machines require ada_dynamics."
)


@contextlib.contextmanager
def _workers(
    executor: Any, jobs: int | None, address: str | None = None, device: str | None = None
) -> Iterator[_Workers]:
    """Context with the workers of a sweep; arguments as `run_sweep`, and the device of the sweep."""
    if address is not None and executor != "dask":
        raise InputError("address requires the executor 'dask'.", field="address", value=address)
    is_named = executor is None or isinstance(executor, str)
    if jobs is None and address is None and is_named and (device or "").startswith("cuda"):
        jobs = _workers_on_devices(str(device))
    with contextlib.ExitStack() as stack:
        if executor is None or executor in ("local", "threads"):
            count = jobs or cores()
            # Not forked: threads of numpy and the compiler do not survive a fork.
            processes = partial(ProcessPoolExecutor, count, get_context("spawn"), worker.begin)
            threads = executor == "threads"
            made: Executor = ThreadPoolExecutor(count, "sweep") if threads else processes()
            own = _Workers(made, count, None if threads else processes)
            stack.push(lambda kind, *_: own.close(abort=kind is not None))
            yield own
        elif executor == "dask":
            yield _of_client(_client(jobs, address, stack), jobs)
        elif isinstance(executor, str):
            words = f"executor is {executor!r}; it must be {', '.join(EXECUTORS)}, or an object with submit."
            raise InputError(words, field="executor", value=executor, allowed=EXECUTORS)
        elif hasattr(executor, "get_executor") and hasattr(executor, "nthreads"):
            yield _of_client(executor, jobs)
        elif callable(getattr(executor, "submit", None)):
            yield _Workers(executor, jobs or int(getattr(executor, "_max_workers", 0)) or cores())
        else:
            words = f"executor is {executor!r:.80}; it requires submit(function, argument)."
            raise InputError(words, field="executor", value=executor)


def _workers_on_devices(device: str) -> int:
    """Number of workers that keeps the devices busy and fits into their memory."""
    from ada_dynamics.gpu.cuda_driver import count

    return min(cores(), WORKERS_PER_DEVICE * (count() if device == "cuda" else 1))


def _of_client(client: Any, jobs: int | None) -> _Workers:
    threads = sum(client.nthreads().values())
    if not threads:
        raise SweepError(
            "the dask cluster has no workers; start one by: dask worker ADDRESS.", field="workers", value=0
        )
    # Not pure: repeated runs must be executed again. No retries by dask: they would not be reported.
    return _Workers(client.get_executor(pure=False, retries=0), jobs or threads)


def _client(jobs: int | None, address: str | None, stack: contextlib.ExitStack) -> Any:
    """dask client for a scheduler address, or for a new local cluster."""
    try:
        from dask.distributed import Client, LocalCluster
    except ImportError:
        words = f"dask is not installed: {how_to_install('cluster')}, or use another executor."
        raise InputError(words, field="executor", value="dask") from None
    if address is None:
        cluster = stack.enter_context(
            LocalCluster(n_workers=jobs or cores(), threads_per_worker=1, host="127.0.0.1", dashboard_address=None)
        )
        return stack.enter_context(Client(cluster))
    try:
        return stack.enter_context(Client(address, timeout=10))
    except (OSError, ValueError) as problem:
        reason = str(problem) or type(problem).__name__
        words = f"no dask scheduler at {address!r}: {reason}. Start one by: dask scheduler."
        raise SweepError(words, field="address", value=address) from None


def cores() -> int:
    """Number of cores available to this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
