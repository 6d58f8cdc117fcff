# SPDX-License-Identifier: Apache-2.0
"""Workers of a sweep: local processes, threads, a dask cluster, or any executor with `submit`."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any, Protocol

from ada_dynamics._version import __version__
from ada_dynamics.errors import InputError
from ada_dynamics.extras import how_to_install
from ada_tools.sweep import work
from ada_tools.sweep.store import SweepError
from ada_tools.sweep.worker_memory import Task

EXECUTORS = ("local", "threads", "dask")
WORKERS_PER_DEVICE = 4  # each uses some hundred megabytes of device memory


class Future(Protocol):
    """Required part of concurrent.futures.Future."""

    def result(self) -> Any:
        """Return the value or raise the error."""

    def add_done_callback(self, function: Callable[[Any], Any], /) -> Any:
        """Register a completion callback."""

    def cancel(self) -> Any:
        """Cancel unless started."""


class WorkerPool:
    """An executor owned by the caller."""

    def __init__(self, executor: Any, workers: int) -> None:
        """Args: object with submit(function, argument) -> future; number of parallel runs."""
        self._executor = executor
        self.workers = workers

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future:
        """Submit work."""
        future: Future = self._executor.submit(function, *arguments)
        return future

    def renew(self) -> None:
        """Restart after worker deaths broke the executor.

        Raises:
            SweepError: not possible.
        """
        raise SweepError(
            "the executor broke because its workers died. Finished runs are stored; resume the sweep with a new "
            "executor."
        )

    def check(self) -> None:
        """Wait until a worker replies.

        Raises:
            SweepError: no worker replies, or its library version differs.
        """
        try:
            version = self.submit(work.ping).result()
        except Exception as problem:
            raise SweepError(f"the workers do not run: {type(problem).__name__}: {problem}. {_HINT}") from None
        if version != __version__:
            raise SweepError(f"the workers have version {version} of ada_dynamics, this process has {__version__}.")

    def look(self, task: Task, run: int) -> None:
        """Let a worker verify that runs can be batched.

        Raises:
            SweepError: they cannot.
        """
        why = self.submit(work.look, task, run).result()
        if why:
            raise SweepError(f"the runs cannot be batched: {why}", field="device", value=task.device)

    def close(self, abort: bool = False) -> None:
        """Release the workers; with `abort` without waiting for running work."""


class Threads(WorkerPool):
    """Threads of this process."""

    def __init__(self, jobs: int) -> None:
        """Args: number of threads."""
        super().__init__(ThreadPoolExecutor(jobs, thread_name_prefix="sweep"), jobs)

    def close(self, abort: bool = False) -> None:
        """Wait for running work: threads cannot be terminated."""
        self._executor.shutdown(wait=True, cancel_futures=True)


class Processes(WorkerPool):
    """Local processes that terminate with this process."""

    def __init__(self, jobs: int) -> None:
        """Args: number of processes."""
        # Not forked: threads of numpy and the compiler do not survive a fork.
        self._context = get_context("spawn")
        super().__init__(self._pool(jobs), jobs)

    def _pool(self, jobs: int) -> Executor:
        watched, self._life = self._context.Pipe(duplex=False)
        return ProcessPoolExecutor(jobs, self._context, work.begin, (watched, self._context.Value("i", 0)))

    def renew(self) -> None:
        """Start new processes."""
        self.close(abort=True)
        self._executor = self._pool(self.workers)
        self.check()

    def close(self, abort: bool = False) -> None:
        """Terminate the processes."""
        if abort:  # includes starting processes, whose pipes would be closed
            for process in list((self._executor._processes or {}).values()):
                process.kill()
        self._executor.shutdown(wait=not abort, cancel_futures=True)
        self._life.close()


_HINT = (
    "Worker processes import the main script: it must be a file and call run_sweep under if __name__ == '__main__':. "
    "Workers on other machines require ada_dynamics."
)


@contextmanager
def worker_pool_for(
    executor: Any, jobs: int | None, address: str | None = None, device: str | None = None
) -> Iterator[WorkerPool]:
    """Context with the workers of a sweep; arguments as `run_sweep`, and the device of the sweep."""
    refuse_no_count("jobs", jobs)
    if address is not None and executor != "dask":
        raise InputError("address requires the executor 'dask'.", field="address", value=address)
    if jobs is None and address is None and device is not None and device.startswith("cuda"):
        jobs = _workers_on_devices(device) if executor is None or isinstance(executor, str) else None
    with contextlib.ExitStack() as stack:
        yield _pool_for(executor, jobs, address, stack)


def _workers_on_devices(device: str) -> int:
    """Number of workers that keeps the devices busy and fits into their memory."""
    from ada_dynamics.gpu.cuda_driver import count

    return min(cores(), WORKERS_PER_DEVICE * (count() if device == "cuda" else 1))


def _pool_for(executor: Any, jobs: int | None, address: str | None, stack: contextlib.ExitStack) -> WorkerPool:
    pool: WorkerPool
    if executor is None or executor == "local":
        pool = Processes(jobs or cores())
    elif executor == "threads":
        pool = Threads(jobs or cores())
    elif executor == "dask":
        pool = _of_client(_client(jobs, address, stack), jobs)
    elif isinstance(executor, str):
        words = f"executor is {executor!r}; it must be {', '.join(EXECUTORS)}, or an object with submit."
        raise InputError(words, field="executor", value=executor, allowed=EXECUTORS)
    elif hasattr(executor, "get_executor") and hasattr(executor, "nthreads"):
        pool = _of_client(executor, jobs)
    elif callable(getattr(executor, "submit", None)):
        pool = WorkerPool(executor, jobs or int(getattr(executor, "_max_workers", 0)) or cores())
    else:
        raise InputError(
            f"executor is {executor!r:.80}; it requires submit(function, argument).", field="executor", value=executor
        )
    stack.push(lambda kind, *_: pool.close(abort=kind is not None))
    return pool


def _of_client(client: Any, jobs: int | None) -> WorkerPool:
    threads = sum(client.nthreads().values())
    if not threads:
        raise SweepError(
            "the dask cluster has no workers; start one by: dask worker ADDRESS.", field="workers", value=0
        )
    # Not pure: repeated runs must be executed again. No retries by dask: they would not be reported.
    return WorkerPool(client.get_executor(pure=False, retries=0), jobs or threads)


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


def refuse_no_count(name: str, value: object) -> None:
    """Raise InputError unless the value is None or a positive integer."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
        raise InputError(f"{name} is {value!r}; it must be a positive integer.", field=name, value=value)


def cores() -> int:
    """Number of cores available to this process."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS and Windows
        return os.cpu_count() or 1
