# SPDX-License-Identifier: Apache-2.0
"""Batches on several threads: compiled code lets others run meanwhile, and states do not feel their neighbours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError

PIECE = 4096  # rows: few enough for the caches, many enough to make little of what a call costs


def side_by_side(work: Callable[[slice], None], pieces: Sequence[slice], threads: object) -> None:
    """Do the work on each piece: on the first one alone, for it may have to compile something.

    Raises:
        InputError: threads is no whole number of at least 1.
    """
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        message = f"threads is {threads!r}; it must be a whole number of at least 1."
        raise InputError(message, field="threads", value=threads, allowed="1, 2, ...")
    alone = pieces if threads == 1 else pieces[:1]
    for piece in alone:
        work(piece)
    if len(alone) == len(pieces):
        return
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, pieces[1:]))  # raises what one of them raised


def in_threads(function: Callable[..., Array], *rows: Array, threads: int) -> Array:
    """A function of a batch on several threads: the same numbers, bit for bit, whatever their number.

    Example::

        a = ada.in_threads(dyn.forward, q, v, tau, threads=4)     # q, v, tau: one state in each row

    Args:
        function: takes batches and gives one array with a row for each state, such as `Dynamics.forward`.
        rows: arrays with a state in each row.
        threads: how many work at the same time.

    Raises:
        InputError: the arguments are no batch, threads is no whole number of at least 1, or the function does not give
            one array with a row for each state.
    """
    arrays = [np.asarray(array) for array in rows]
    if any(array.ndim < 2 for array in arrays) or len({len(array) for array in arrays}) != 1:
        shapes = ", ".join(str(array.shape) for array in arrays)
        message = f"the arguments have the shapes {shapes}; in_threads needs (N, ...), as many rows in each."
        raise InputError(message, field="rows", value=tuple(x.shape for x in arrays))
    count = len(arrays[0])
    edges = [*range(0, max(count - PIECE, 0) + 1, PIECE), count]  # the last piece is the longest, never a short one
    pieces = [slice(begin, end) for begin, end in pairwise(edges)]
    found = np.empty(0)

    def work(piece: slice) -> None:
        nonlocal found
        part = _as_rows(function(*(array[piece] for array in arrays)), len(arrays[0][piece]))
        if piece is pieces[0]:
            found = np.empty((count, *part.shape[1:]))
        found[piece] = part

    side_by_side(work, pieces, threads)
    return found


def _as_rows(found: object, count: int) -> Array:
    if isinstance(found, np.ndarray) and found.shape[:1] == (count,):
        return found
    what = f"an array of shape {found.shape}" if isinstance(found, np.ndarray) else type(found).__name__
    text = (
        f"the function gives {what} for {count} states; in_threads needs one array with a row for each of them, as "
        "Dynamics.forward or Dynamics.energies gives. Of several arrays, return one: lambda q, v: f(q, v).dq."
    )
    raise InputError(text, field="function", value=what, allowed=f"({count}, ...)")
