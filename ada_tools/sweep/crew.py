# SPDX-License-Identifier: Apache-2.0
"""Workers of a sweep: processes on this machine, threads, a dask cluster, or any executor with `submit`."""

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
from ada_tools.sweep.bench import Task
from ada_tools.sweep.store import SweepError

EXECUTORS = ("local", "threads", "dask")
WORKERS_PER_DEVICE = 4  # each keeps some hundred megabytes there


class Future(Protocol):
    """The part of a concurrent.futures.Future that is used."""

    def result(self) -> Any:
        """The value, or the error."""

    def add_done_callback(self, function: Callable[[Any], Any], /) -> Any:
        """Call it when there is a result."""

    def cancel(self) -> Any:
        """Cancel it, unless it has begun."""


class Crew:
    """An executor made, and ended, by the caller."""

    def __init__(self, executor: Any, workers: int) -> None:
        """Args: anything with submit(function, argument) -> future; how many runs it makes at a time."""
        self._executor = executor
        self.workers = workers

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future:
        """Hand out work."""
        future: Future = self._executor.submit(function, *arguments)
        return future

    def renew(self) -> None:
        """Get going again after workers died and took the executor with them.

        Raises:
            SweepError: that is not possible.
        """
        raise SweepError(
            "the executor broke: its workers died. What was finished is kept; run the sweep again, with a new "
            "executor, and it goes on."
        )

    def check(self) -> None:
        """Wait until a worker answers.

        Raises:
            SweepError: none does, or it has another version of the library.
        """
        try:
            version = self.submit(work.ping).result()
        except Exception as problem:
            raise SweepError(f"the workers cannot run anything: {type(problem).__name__}: {problem}. {_HINT}") from None
        if version != __version__:
            raise SweepError(f"the workers have version {version} of ada_dynamics, and this is {__version__}.")

    def look(self, task: Task, run: int) -> None:
        """Wait until a worker has seen that runs can go side by side.

        Raises:
            SweepError: they cannot.
        """
        why = self.submit(work.look, task, run).result()
        if why:
            raise SweepError(f"the runs cannot go side by side: {why}", field="device", value=task.device)

    def close(self, abort: bool = False) -> None:
        """Release it; with abort, without waiting for running work."""


class Threads(Crew):
    """Threads of this process."""

    def __init__(self, jobs: int) -> None:
        """Args: how many."""
        super().__init__(ThreadPoolExecutor(jobs, thread_name_prefix="sweep"), jobs)

    def close(self, abort: bool = False) -> None:
        """Wait for running work: threads cannot be ended from outside."""
        self._executor.shutdown(wait=True, cancel_futures=True)


class Processes(Crew):
    """Processes of this machine, each of which ends when this one does."""

    def __init__(self, jobs: int) -> None:
        """Args: how many."""
        # Not forked: threads of numpy and of the compiler do not survive that.
        self._context = get_context("spawn")
        super().__init__(self._pool(jobs), jobs)

    def _pool(self, jobs: int) -> Executor:
        watched, self._life = self._context.Pipe(duplex=False)
        return ProcessPoolExecutor(jobs, self._context, work.begin, (watched, self._context.Value("i", 0)))

    def renew(self) -> None:
        """Begin with new processes."""
        self.close(abort=True)
        self._executor = self._pool(self.workers)
        self.check()

    def close(self, abort: bool = False) -> None:
        """End the processes."""
        if abort:  # also those that only begin, and would find what they begin with gone
            for process in list((self._executor._processes or {}).values()):
                process.kill()
        self._executor.shutdown(wait=not abort, cancel_futures=True)
        self._life.close()


_HINT = (
    "Worker processes import the main script: it must be a file, and call run_sweep below if __name__ == '__main__':. "
    "Workers on other machines need ada_dynamics."
)


@contextmanager
def crew_for(executor: Any, jobs: int | None, address: str | None = None, device: str | None = None) -> Iterator[Crew]:
    """Workers of a sweep, ended when the block is left; arguments as of `run_sweep`, and the device of the sweep."""
    refuse_no_count("jobs", jobs)
    if address is not None and executor != "dask":
        raise InputError("an address is for the executor 'dask' alone.", field="address", value=address)
    if jobs is None and address is None and device is not None and device.startswith("cuda"):
        jobs = _workers_on_devices(device) if executor is None or isinstance(executor, str) else None
    with contextlib.ExitStack() as stack:
        yield _crew(executor, jobs, address, stack)


def _workers_on_devices(device: str) -> int:
    """Enough of them to keep the devices of this machine busy, and few enough for their memory."""
    from ada_dynamics.gpu.cuda_driver import count

    return min(cores(), WORKERS_PER_DEVICE * (count() if device == "cuda" else 1))


def _crew(executor: Any, jobs: int | None, address: str | None, stack: contextlib.ExitStack) -> Crew:
    crew: Crew
    if executor is None or executor == "local":
        crew = Processes(jobs or cores())
    elif executor == "threads":
        crew = Threads(jobs or cores())
    elif executor == "dask":
        crew = _of_client(_client(jobs, address, stack), jobs)
    elif isinstance(executor, str):
        words = f"executor is {executor!r}; it must be {', '.join(EXECUTORS)}, or an object with submit."
        raise InputError(words, field="executor", value=executor, allowed=EXECUTORS)
    elif hasattr(executor, "get_executor") and hasattr(executor, "nthreads"):
        crew = _of_client(executor, jobs)
    elif callable(getattr(executor, "submit", None)):
        crew = Crew(executor, jobs or int(getattr(executor, "_max_workers", 0)) or cores())
    else:
        raise InputError(
            f"executor is {executor!r:.80}; it has no submit(function, argument).", field="executor", value=executor
        )
    stack.push(lambda kind, *_: crew.close(abort=kind is not None))
    return crew


def _of_client(client: Any, jobs: int | None) -> Crew:
    threads = sum(client.nthreads().values())
    if not threads:
        raise SweepError("the dask cluster has no workers; start some: dask worker ADDRESS.", field="workers", value=0)
    # Not pure: a run that is tried again must run again. No retries of dask's own: they would not be reported.
    return Crew(client.get_executor(pure=False, retries=0), jobs or threads)


def _client(jobs: int | None, address: str | None, stack: contextlib.ExitStack) -> Any:
    """A dask client: of a scheduler at an address, or of a new cluster on this machine."""
    try:
        from dask.distributed import Client, LocalCluster
    except ImportError:
        words = f"dask is not installed: {how_to_install('cluster')}, or use another one."
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
        words = f"there is no dask scheduler at {address!r}: {reason}. Start one: dask scheduler."
        raise SweepError(words, field="address", value=address) from None


def refuse_no_count(name: str, value: object) -> None:
    """Refuse what is neither None nor a whole number from 1 on."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
        raise InputError(f"{name} is {value!r}; it must be a whole number from 1 on.", field=name, value=value)


def cores() -> int:
    """Cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS and Windows
        return os.cpu_count() or 1
