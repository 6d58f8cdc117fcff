# SPDX-License-Identifier: Apache-2.0
"""Execution of calls: batches on several threads, suspended garbage collection, and log thresholds."""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import invalid

PIECE = 4096  # rows: fits into the caches and amortizes the overhead of a call


@contextmanager
def pause_garbage_collection() -> Iterator[None]:
    """Suspend garbage collection while many objects are created; also a decorator.

    Collections would double the time for a model of 100 000 links.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def silence_logger(logger: str, level: int = logging.CRITICAL) -> Iterator[None]:
    """Suppress messages of a logger below a level within the block."""
    log = logging.getLogger(logger)
    previous = log.level
    log.setLevel(level)
    try:
        yield
    finally:
        log.setLevel(previous)


def run_pieces(work: Callable[[slice], None], pieces: Sequence[slice], threads: object) -> None:
    """Call `work` for the rows of each piece of a batch on several threads; the first one may compile a kernel."""
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise invalid("threads", threads, "a whole number of at least 1")
    serial = pieces if threads == 1 else pieces[:1]
    for piece in serial:
        work(piece)
    if len(serial) == len(pieces):
        return
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, pieces[1:]))  # re-raises exceptions of the threads


def in_threads(function: Callable[..., Array], *rows: Array, threads: int) -> Array:
    """Evaluate a function of a batch on several threads.

    The result is bitwise independent of the number of threads. Example::

        a = ada.in_threads(dyn.forward, q, v, tau, threads=4)  # q, v, tau: one state per row

    Args:
        function: takes batches and returns one array with one row per state, such as `Dynamics.forward`.
        rows: arrays of shape (N, ...), one state per row.
        threads: number of threads.

    Returns:
        The result of the function for all states, (N, ...).

    Raises:
        InputError: the arguments are not batches of equal length, `threads` is not a positive integer, or the function
            does not return one array with one row per state.
    """
    arrays = [np.asarray(array) for array in rows]
    if any(array.ndim < 2 for array in arrays) or len({len(array) for array in arrays}) != 1:
        raise invalid("rows", tuple(array.shape for array in arrays), "(N, ...) each, with equal N", "shapes of ")
    count = len(arrays[0])
    edges = [*range(0, max(count - PIECE, 0) + 1, PIECE), count]  # the last piece takes the remainder
    pieces = [slice(begin, end) for begin, end in pairwise(edges)]
    result = np.empty(0)

    def work(piece: slice) -> None:
        nonlocal result
        part: Any = function(*(array[piece] for array in arrays))
        rows = len(arrays[0][piece])
        if not isinstance(part, np.ndarray) or part.shape[:1] != (rows,):
            found = f"an array of shape {part.shape}" if isinstance(part, np.ndarray) else type(part).__name__
            wanted = f"one array with {rows} rows, as of forward; select one of several: lambda q, v: f(q, v).dq"
            raise invalid("function", found, wanted, "the result of ")
        if piece is pieces[0]:
            result = np.empty((count, *part.shape[1:]))
        result[piece] = part

    run_pieces(work, pieces, threads)
    return result
