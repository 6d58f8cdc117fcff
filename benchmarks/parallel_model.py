# SPDX-License-Identifier: Apache-2.0
"""Time of assembly on many workers, computed from the times of single steps: two cores cannot show what 1024 would do.

    T(n, p) = velocities + Σ over the depths (that depth's steps on p workers + 2 · waiting)

Twice, because the way back passes each depth once more. A step's time is that of its assembly and disassembly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil, log2

import ada_dynamics as ada
from ada_dynamics.algorithms.assembly_order import assembly_order
from benchmarks.assembly_steps import ADD_LINK, BOTH, PAIR, Kind, kinds_by_depth

Level = Sequence[tuple[Kind, int]]  # independent steps: kinds and how many of each
TIP = Kind("", "CK", "K")  # the joint to the ground, at last; what is left is the free tip


@dataclass(frozen=True)
class Speed:
    """Seconds that one worker takes, alone or for `lanes` of the same at once.

    Attributes:
        steps: for a step of each kind.
        link: for a link's velocity and free acceleration.
        turn: to join two turns in a parallel prefix of the velocities.
    """

    steps: Mapping[Kind, float]
    link: float
    turn: float


@dataclass(frozen=True)
class Worker:
    """One of p equal workers.

    Attributes:
        single: one thing at a time.
        wide: `lanes` equal things at once.
        lanes: of its vectors.
        hop: for two workers to meet [s]; p of them meet in log₂ p hops.
        meeting: besides, however many they are [s].
    """

    single: Speed
    wide: Speed
    lanes: int
    hop: float
    meeting: float = 0.0

    def waiting(self, p: int) -> float:
        """Of p workers for each other."""
        return self.meeting + self.hop * ceil(log2(p)) if p > 1 else 0.0


@lru_cache(maxsize=32)
def balanced(n: int) -> tuple[Level, ...]:
    """Steps of the balanced order of a chain, depth by depth."""
    tree = ada.chain_3d(n).tree
    return tuple(tuple(sorted(c.items())) for c in kinds_by_depth(tree, assembly_order(tree, "balanced")))


@lru_cache(maxsize=256)
def blocks(n: int, count: int) -> tuple[Level, ...]:
    """Blocks of neighbours, each assembled link by link by one worker; then pairs of blocks, pairs of pairs, ..."""
    longest = ceil(n / count)
    levels: list[Counter[Kind]] = [Counter({PAIR: count})] if longest > 1 else []
    levels += [Counter({ADD_LINK: count})] * max(0, longest - 2)
    while count > 1:
        levels.append(Counter({BOTH: count // 2}))
        count = ceil(count / 2)
    return tuple(tuple(c.items()) for c in [*levels, Counter({TIP: 1})])


def at_one_depth(level: Level, p: int, worker: Worker) -> float:
    """Time of independent steps: the longest first, each to whoever is free."""
    count = sum(c for _, c in level)
    speed, ways = (worker.single, p) if count <= p else (worker.wide, p * worker.lanes)
    total, done = 0.0, 0
    for seconds, c in sorted(((speed.steps[kind], c) for kind, c in level), reverse=True):
        total += seconds * (ceil((done + c) / ways) - ceil(done / ways))
        done += c
    return total


def velocities(n: int, p: int, worker: Worker) -> float:
    """Of all links: a recursion for one worker; for several a prefix, within blocks and then over them."""
    if p == 1:
        return n * worker.single.link
    ways = min(p * worker.lanes, n)
    speed = worker.wide if ways > p else worker.single
    within = ceil(n / ways) * (speed.turn + speed.link)
    return within + ceil(log2(ways)) * speed.turn + 2.0 * worker.waiting(min(p, n))


def by_levels(n: int, p: int, worker: Worker) -> float:
    """The balanced order; the workers meet at each depth."""
    meetings = sum(worker.waiting(min(p, sum(c for _, c in level))) for level in balanced(n))
    return velocities(n, p, worker) + sum(at_one_depth(level, p, worker) for level in balanced(n)) + 2.0 * meetings


def by_blocks(n: int, p: int, worker: Worker) -> float:
    """Blocks; the workers meet only where blocks are joined."""
    total = velocities(n, p, worker)
    for level in blocks(n, max(1, min(p * worker.lanes, n // 2))):
        alone = all(kind in (PAIR, ADD_LINK) for kind, _ in level)
        meeting = 0.0 if alone else 2.0 * worker.waiting(min(p, sum(c for _, c in level)))
        total += at_one_depth(level, p, worker) + meeting
    return total


def best(n: int, p: int, worker: Worker) -> float:
    """The quicker of the two, with as many of the workers, and of their lanes, as help."""
    few = [1 << k for k in range(p.bit_length()) if 1 << k <= p]
    ways = (worker, replace(worker, wide=worker.single, lanes=1))
    return min(time(n, used, one) for used in few for one in ways for time in (by_levels, by_blocks))


def crossover(n: int, sequential: float, worker: Worker, most: int) -> int | None:
    """The fewest workers, a power of two, that are quicker than a sequential algorithm; None where `most` are not."""
    counts = [1 << k for k in range(most.bit_length()) if 1 << k <= most]
    return next((p for p in counts if best(n, p, worker) < sequential), None)
