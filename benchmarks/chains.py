# SPDX-License-Identifier: Apache-2.0
"""Long chains with the generic kernel: time and memory against the number of links."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

import ada_dynamics as ada
from ada_dynamics.arrays import Array
from ada_dynamics.dynamics.front import kernel_of
from ada_dynamics.jit.generic import GenericKernel
from benchmarks import machine, peers, robots
from benchmarks.native import evaluate, rows_in_turn
from benchmarks.peers import PINOCCHIO, Pinocchio
from benchmarks.report import Report
from benchmarks.timing import Contender, Plan, measure

T = TypeVar("T")
OWN, CALL = "ada", "a call from Python"
LENGTHS = (8, 16, 32, 64, 128, 256, 512, 1024, 4096, 100_000)
QUICK = (8, 64)
AGAINST_PINOCCHIO = 512
GOAL_AT, GOAL = 512, 3.0
FIT_FROM = 64  # shorter chains show the cost of a call
EXPONENT = 1.1
# Shorter chains need less memory than what the process has spare already.
MEMORY_FROM = 512
CALL_GOAL_AT, CALL_GOAL = (64, 256), 1.1
LINKS_PER_CALL = 4096  # so many states that the call itself does not count
PINOCCHIO_BYTES = 5e9  # seen at 512 links; it grows with the cube


@dataclass
class Row:
    """What was measured for one length."""

    links: int
    seconds: float
    set_up: float  # [s]
    bytes_per_link: float  # model, tables and workspace
    call: float = 0.0  # of one state, from Python [s]
    pinocchio: float | None = None  # [s]
    pinocchio_bytes: float | None = None
    ratio: float | None = None

    def cells(self) -> list[object]:
        """As a row of the table."""
        memory: list[object] = [
            round(x) if x is not None and self.links >= MEMORY_FROM else ""
            for x in (self.bytes_per_link, self.pinocchio_bytes)
        ]
        theirs: list[object] = ["", "", ""]
        if self.pinocchio is not None and self.ratio is not None:
            theirs = [self.pinocchio * 1e6, memory[1], self.ratio]
        times = self.seconds * 1e6, self.seconds * 1e9 / self.links, self.call * 1e6
        return [self.links, *times, memory[0], self.set_up, *theirs]


def run(report: Report, plan: Plan, quick: bool) -> None:
    """One row per length."""
    report.begin("chains", "rods in 3-D, joints x, y, z in turn; the generic kernel, nothing compiled per robot")
    with_pinocchio = PINOCCHIO in peers.available()
    _own_kernel(2)  # LLVM's own memory is not the chains'
    rows = []
    for n in QUICK if quick else LENGTHS:
        rows.append(_one(n, plan, with_pinocchio and n <= AGAINST_PINOCCHIO and _fits(report, n)))
    columns = ["links", "us", "ns/link", "call us", "bytes/link", "set-up s"]
    columns += ["pinocchio us", "bytes/link", "pinocchio / ada"]
    report.table("one state, native", columns, [row.cells() for row in rows])
    report.note("pinocchio's memory grows with the cube of the length: it is not asked beyond 512 links")
    for row in rows:
        if row.links == GOAL_AT and row.ratio is not None:
            report.aim(f"{GOAL_AT} links: pinocchio / ada", row.ratio, GOAL, "x", at_least=True)
        if row.links in CALL_GOAL_AT:
            report.aim(f"{row.links} links: a call from Python / native", row.call / row.seconds, CALL_GOAL, "x")
    long = {row.links: row.seconds for row in rows if row.links >= FIT_FROM}
    if len(long) > 2:
        slope = float(np.polyfit(np.log(list(long)), np.log(list(long.values())), 1)[0])
        report.aim(f"exponent of time against length, {min(long)} to {max(long)} links", slope, EXPONENT, "")


def _fits(report: Report, n: int) -> bool:
    """True if there is memory enough for pinocchio."""
    needed = PINOCCHIO_BYTES * (n / 512) ** 3
    if machine.available_memory() > 2.0 * needed:
        return True
    report.note(f"pinocchio needs about {needed / 1e9:.1f} GB for {n} links and as much to spare: left out")
    return False


def _one(n: int, plan: Plan, against: bool) -> Row:
    rng = np.random.default_rng(n)
    count = min(64, max(1, LINKS_PER_CALL // n))
    q, v, tau = (rng.normal(size=(count, n)) for _ in range(3))
    start = time.perf_counter()
    kernel, grown = _growth(lambda: _own_kernel(n))
    row = Row(n, 0.0, time.perf_counter() - start, grown / n)
    dynamics = ada.Dynamics(ada.chain_3d(n), kernel="generic")
    state = {"q": q[0], "v": v[0], "tau": tau[0]}
    dynamics.forward(*state.values())
    names = {**state, "f": dynamics.forward}
    contenders = [rows_in_turn(OWN, kernel, (q, v, tau)), Contender(CALL, "f(q, v, tau)", names)]
    if against:
        peer, theirs = _growth(lambda: _pinocchio(n, q, v, tau))
        row.pinocchio_bytes = theirs / n
        ours = kernel.batch(q, v, tau)
        # Long chains are ill-conditioned: what pinocchio rounds differently grows with the length.
        peers.insist(f"chain of {n}: ada against pinocchio", ours, np.array(peer.names["out"]).T, 1e-7)
        contenders.append(peer)
    timings = measure(contenders, plan)
    row.seconds, row.call = timings.median(OWN), timings.median(CALL)
    if against:
        row.pinocchio, row.ratio = timings.median(PINOCCHIO), timings.ratio(PINOCCHIO, OWN)
    return row


def _own_kernel(n: int) -> GenericKernel:
    """The kernel with its tables and workspace in place."""
    kernel = kernel_of(ada.Dynamics(ada.chain_3d(n), kernel="generic"), "forward")
    assert isinstance(kernel, GenericKernel)
    kernel.single(*(np.zeros(n),) * 3)
    return kernel


def _pinocchio(n: int, q: Array, v: Array, tau: Array) -> Contender:
    contender = Pinocchio(robots.chain(n)).native(q, v, tau)
    evaluate(contender)
    return contender


def _growth(run: Callable[[], T]) -> tuple[T, float]:
    """A result and the resident memory that came with it [bytes]."""
    gc.collect()
    before = machine.resident_memory()
    result = run()
    gc.collect()
    return result, max(machine.resident_memory() - before, 0.0)
