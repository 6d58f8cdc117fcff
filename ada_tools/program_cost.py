# SPDX-License-Identifier: Apache-2.0
"""Cost of equivalent programs: operation counts, compile times and interleaved run times."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.expr import Function, cost
from ada_dynamics.hybrid import cut_selection
from ada_dynamics.jit import Kernel, Signature
from ada_dynamics.jit.cache import without_cache
from ada_dynamics.jit.estimate import instructions
from ada_dynamics.jit.fallback import reason_for_fallback
from ada_dynamics.model.tree import Tree

Evaluate = Callable[[int], None]  # evaluates all states the given number of times

ROUNDS = 21
SECONDS = 0.004  # per program and round


@dataclass
class ProgramCost:
    """Cost of one program.

    Attributes:
        name: name in tables.
        operations: additions and multiplications.
        divisions: divisions.
        instructions: estimated number, see `jit.estimate`.
        trace: time of tracing [s].
        compile: time of compilation without the cache [s]; None without a compiler.
        seconds: time of one evaluation in native code [s]; None without a compiler.
        size: links in series in a sub-chain, for programs with sub-chains of equal size.
        joints: joints at which the tree is cut.
    """

    name: str
    operations: int
    divisions: int
    instructions: float
    trace: float
    compile: float | None = None
    seconds: float | None = None
    size: int | None = None
    joints: tuple[str, ...] | None = None


def by_size(tree: Tree, sizes: Sequence[int] = ()) -> dict[int, tuple[int, ...]]:
    """Cuts into sub-chains with a given number of links in series.

    Args:
        tree: the mechanism.
        sizes: numbers of links; by default 1, 2, 3, ... up to the whole tree.
    """
    depth = max(len(tree.ancestry(body.index)) for body in tree.bodies)
    chosen = sizes or range(1, min(depth, cut_selection.SIZES[-1]) + 1)
    return {size: cut_selection.uniform_cuts(tree, size) for size in chosen}


def counted(name: str, make: Callable[[], Function]) -> tuple[ProgramCost, Function]:
    """A traced program and its operation counts."""
    start = time.perf_counter()
    function = make()
    taken = time.perf_counter() - start
    of = cost(function)
    return ProgramCost(name, of.flops, of.divisions, instructions(function), taken), function


def compiled(measured: ProgramCost, function: Function, states: Sequence[Array]) -> Evaluate | None:
    """Compile a program and record the compile time; return its evaluation, or None without a compiler."""
    if reason_for_fallback() is not None:
        return None
    kernel = Kernel(Signature.of(function), lambda: function, f"measured {measured.name}", checked=False)
    start = time.perf_counter()
    with without_cache():
        kernel.prepare("single")
    measured.compile = time.perf_counter() - start

    def evaluate(repeats: int) -> None:
        kernel.native_repeat(*states, repeats=repeats)

    return evaluate


def timed(programs: Mapping[str, Evaluate], count: int, rounds: int = ROUNDS) -> dict[str, float]:
    """Time of one evaluation of each program [s]: the least over rounds in which all programs run in turn."""
    return {name: min(times) for name, times in in_turn(programs, count, rounds).items()}


def in_turn(programs: Mapping[str, Evaluate], count: int, rounds: int = ROUNDS) -> dict[str, list[float]]:
    """Time of one evaluation of each program [s] by round.

    Programs run in turn, so that disturbances affect all of them.

    Args:
        programs: evaluations by name.
        count: number of states of one evaluation.
        rounds: number of rounds.
    """
    repeats = {}
    for name, evaluate in programs.items():
        n = 1
        while (taken := _seconds(evaluate, n)) < 0.2 * SECONDS:
            n *= 4
        repeats[name] = max(1, round(n * SECONDS / taken))
    found: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(rounds):
        for name, evaluate in programs.items():
            found[name].append(_seconds(evaluate, repeats[name]) / (repeats[name] * count))
    return found


def ratio_of(one: Sequence[float], other: Sequence[float]) -> tuple[float, tuple[float, float]]:
    """Median ratio of the times of two programs over the rounds, and the quartiles of the ratio."""
    ratios = np.asarray(one) / np.asarray(other)
    low, median, high = np.percentile(ratios, (25.0, 50.0, 75.0))
    return float(median), (float(low), float(high))


def _seconds(evaluate: Evaluate, repeats: int) -> float:
    start = time.process_time()
    evaluate(repeats)
    return time.process_time() - start
