# SPDX-License-Identifier: Apache-2.0
"""Cost of programs for the same thing: counted, compiled and timed in turn."""

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

Evaluate = Callable[[int], None]  # so many times over all states

ROUNDS = 21
SECONDS = 0.004  # per program and round


@dataclass
class ProgramCost:
    """One program.

    Attributes:
        name: for the table.
        operations: additions and multiplications.
        divisions: of the program.
        instructions: about, see `jit.estimate`.
        trace: seconds to write it down.
        compile: seconds, without the cache; None where nothing can be compiled.
        seconds: of one evaluation, native; likewise.
        size: links behind one another in a piece, of programs with pieces of equal size.
        joints: at which the tree is cut.
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
    """Cuts into pieces of so many links; by default of one, two, three, ... up to the whole tree."""
    depth = max(len(tree.ancestry(body.index)) for body in tree.bodies)
    chosen = sizes or range(1, min(depth, cut_selection.SIZES[-1]) + 1)
    return {size: cut_selection.uniform_cuts(tree, size) for size in chosen}


def counted(name: str, make: Callable[[], Function]) -> tuple[ProgramCost, Function]:
    """A program with its operations."""
    start = time.perf_counter()
    function = make()
    taken = time.perf_counter() - start
    of = cost(function)
    return ProgramCost(name, of.flops, of.divisions, instructions(function), taken), function


def compiled(measured: ProgramCost, function: Function, states: Sequence[Array]) -> Evaluate | None:
    """Its code, ready to run over the states; notes how long it took to compile."""
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
    """Seconds of one evaluation of each: the least over rounds in which all of them run in turn."""
    return {name: min(times) for name, times in in_turn(programs, count, rounds).items()}


def in_turn(programs: Mapping[str, Evaluate], count: int, rounds: int = ROUNDS) -> dict[str, list[float]]:
    """Seconds of one evaluation of each, round by round: they run in turn, so that what slows the machine slows all.

    Args:
        programs: by name.
        count: of states that an evaluation goes through.
        rounds: of timing.
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
    """Median of the ratio of two programs' times, round by round, and the middle half of the rounds."""
    ratios = np.asarray(one) / np.asarray(other)
    low, median, high = np.percentile(ratios, (25.0, 50.0, 75.0))
    return float(median), (float(low), float(high))


def _seconds(evaluate: Evaluate, repeats: int) -> float:
    start = time.process_time()
    evaluate(repeats)
    return time.process_time() - start
