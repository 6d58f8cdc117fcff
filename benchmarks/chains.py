# SPDX-License-Identifier: Apache-2.0
"""Long chains with the generic kernel: time and memory against the number of links."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

import ada_dynamics as ada
from ada_dynamics.dynamics.dynamics import kernel_of
from ada_dynamics.jit.generic import GenericKernel
from benchmarks import peers
from benchmarks.peers import PINOCCHIO, Pinocchio
from benchmarks.report import Report
from benchmarks.timing import Contender, Plan, measure, rows_in_turn

T = TypeVar("T")
OWN, CALL = "ada", "a call from Python"
LENGTHS = (8, 16, 32, 64, 128, 256, 512, 1024, 4096, 100_000)
QUICK = (8, 64)
GOAL_AT, GOAL = 512, 3.0  # the longest chain of pinocchio
FIT_FROM = 64  # shorter chains show the cost of a call
EXPONENT = 1.1
MEMORY_FROM = 512  # shorter chains need less memory than the process has in reserve
CALL_GOAL_AT, CALL_GOAL = (64, 256), 1.1
LINKS_PER_CALL = 4096  # number of states times links, so that the call itself does not count
PINOCCHIO_BYTES = 5e9  # at 512 links; grows with the cube
COLUMNS = [
    "links", "us", "ns/link", "call us", "bytes/link", "set-up s", "pinocchio us", "pinocchio bytes/link",
    "pinocchio / ada",
]  # fmt: skip


def run(report: Report, plan: Plan, quick: bool) -> None:
    """Measure one row per length."""
    report.begin("chains", "rods in 3-D, joints x, y, z in turn; the generic kernel, nothing compiled per robot")
    with_pinocchio = PINOCCHIO in peers.available()
    _own_kernel(2)  # LLVM's own memory does not count
    rows = [_row(n, plan, with_pinocchio and _fits(report, n)) for n in (QUICK if quick else LENGTHS)]
    report.table("one state, native", COLUMNS, rows)
    report.note("pinocchio's memory grows with the cube of the length: it is omitted beyond 512 links")
    for links, time_us, _, call_us, *_, ratio in rows:
        if links == GOAL_AT and ratio:
            report.aim(f"{GOAL_AT} links: pinocchio / ada", ratio, GOAL, "x", at_least=True)
        if links in CALL_GOAL_AT:
            report.aim(f"{links} links: a call from Python / native", call_us / time_us, CALL_GOAL, "x")
    long = {row[0]: row[1] for row in rows if row[0] >= FIT_FROM}
    if len(long) > 2:
        slope = float(np.polyfit(np.log(list(long)), np.log(list(long.values())), 1)[0])
        report.aim(f"exponent of time against length, {min(long)} to {max(long)} links", slope, EXPONENT, "")


def _fits(report: Report, n: int) -> bool:
    """True if there is enough memory for pinocchio."""
    needed = PINOCCHIO_BYTES * (n / 512) ** 3
    if n > GOAL_AT or _available_memory() > 2.0 * needed:
        return n <= GOAL_AT
    report.note(f"pinocchio needs about {needed / 1e9:.1f} GB for {n} links and as much in reserve: omitted")
    return False


def _row(n: int, plan: Plan, against: bool) -> list[Any]:
    rng = np.random.default_rng(n)
    count = min(64, max(1, LINKS_PER_CALL // n))
    q, v, tau = (rng.normal(size=(count, n)) for _ in range(3))
    start = time.perf_counter()
    kernel, grown = _growth(lambda: _own_kernel(n))
    set_up = time.perf_counter() - start
    dynamics = ada.Dynamics(ada.chain_3d(n), kernel="generic")
    state = {"q": q[0], "v": v[0], "tau": tau[0]}
    dynamics.forward(*state.values())
    names = {**state, "f": dynamics.forward}
    contenders = [rows_in_turn(OWN, kernel, (q, v, tau)), Contender(CALL, "f(q, v, tau)", names)]
    theirs_grown = 0.0
    if against:
        peer, theirs_grown = _growth(lambda: _run_once(Pinocchio(ada.chain_3d(n)).native(q, v, tau)))
        ours, theirs = kernel.batch(q, v, tau), np.array(peer.names["out"]).T
        # Long chains are ill-conditioned: the difference of roundings grows with the length.
        peers.require_agreement(f"chain of {n}: ada against pinocchio", ours, theirs, 1e-7)
        contenders.append(peer)
    timings = measure(contenders, plan)
    seconds = timings.median(OWN)
    memory = [round(x / n) if n >= MEMORY_FROM else "" for x in (grown, theirs_grown)]
    own = [n, seconds * 1e6, seconds * 1e9 / n, timings.median(CALL) * 1e6, memory[0], set_up]
    if not against:
        return [*own, "", "", ""]
    return [*own, timings.median(PINOCCHIO) * 1e6, memory[1], timings.ratio(PINOCCHIO, OWN)]


def _own_kernel(n: int) -> GenericKernel:
    """The kernel with its tables and workspace in place."""
    kernel = kernel_of(ada.Dynamics(ada.chain_3d(n), kernel="generic"), "forward")
    assert isinstance(kernel, GenericKernel)
    kernel.single(*(np.zeros(n),) * 3)
    return kernel


def _run_once(contender: Contender) -> Contender:
    exec(contender.statement, dict(contender.names))
    return contender


def _growth(run: Callable[[], T]) -> tuple[T, float]:
    """A result, and the growth of the resident memory [bytes]."""
    gc.collect()
    before = _resident_memory()
    result = run()
    gc.collect()
    return result, max(_resident_memory() - before, 0.0)


def _available_memory() -> float:
    """Free memory [bytes]; infinite if the system does not report it."""
    table = Path("/proc/meminfo")
    lines = table.read_text(encoding="utf-8").splitlines() if table.is_file() else []
    return next((1024.0 * float(line.split()[1]) for line in lines if line.startswith("MemAvailable:")), np.inf)


def _resident_memory() -> float:
    """Memory of this process [bytes]; NaN if the system does not report it."""
    table = Path("/proc/self/statm")
    if not table.is_file():
        return float("nan")
    return float(table.read_text(encoding="utf-8").split()[1]) * os.sysconf("SC_PAGE_SIZE")
