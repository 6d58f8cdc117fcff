# SPDX-License-Identifier: Apache-2.0
"""Long chains with the generic kernel: time against the number of links."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import ada_dynamics as ada
from ada_dynamics.dynamics.dynamics import kernel_of
from ada_dynamics.jit.generic import GenericKernel
from benchmarks import peers
from benchmarks.peers import PINOCCHIO, Pinocchio
from benchmarks.report import Report
from benchmarks.timing import Contender, Schedule, measure, rows_in_turn

OWN, CALL = "ada", "a call from Python"
LENGTHS = (8, 16, 32, 64, 128, 256, 512, 1024, 4096, 100_000)
QUICK = (8, 64)
GOAL_AT, GOAL = 512, 3.0  # the longest chain of pinocchio, whose memory grows with the cube of the length: 5 GB
FIT_FROM = 64  # shorter chains show the cost of a call
EXPONENT = 1.1
CALL_GOAL_AT, CALL_GOAL = (64, 256), 1.1
LINKS_PER_CALL = 4096  # number of states times links, so that the call itself does not count
COLUMNS = ["links", "us", "ns/link", "call us", "set-up s", "pinocchio us", "pinocchio / ada"]


def run(report: Report, schedule: Schedule, quick: bool) -> None:
    """Measure one row per length."""
    report.begin("chains", "rods in 3-D, joints x, y, z in turn; the generic kernel, nothing compiled per robot")
    with_pinocchio = PINOCCHIO in peers.available()
    rows = [_row(n, schedule, with_pinocchio and n <= GOAL_AT) for n in (QUICK if quick else LENGTHS)]
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


def _row(n: int, schedule: Schedule, against: bool) -> list[Any]:
    rng = np.random.default_rng(n)
    count = min(64, max(1, LINKS_PER_CALL // n))
    q, v, tau = (rng.normal(size=(count, n)) for _ in range(3))
    start = time.perf_counter()
    kernel = _own_kernel(n)
    set_up = time.perf_counter() - start
    dynamics = ada.Dynamics(ada.chain_3d(n), kernel="generic")
    state = {"q": q[0], "v": v[0], "tau": tau[0]}
    dynamics.forward(*state.values())
    names = {**state, "f": dynamics.forward}
    contenders = [rows_in_turn(OWN, kernel, (q, v, tau)), Contender(CALL, "f(q, v, tau)", names)]
    if against:
        peer = Pinocchio(ada.chain_3d(n)).native(q, v, tau)
        exec(peer.statement, dict(peer.names))
        ours, theirs = kernel.batch(q, v, tau), np.array(peer.names["out"]).T
        # Long chains are ill-conditioned: the difference of roundings grows with the length.
        peers.require_agreement(f"chain of {n}: ada against pinocchio", ours, theirs, 1e-7)
        contenders.append(peer)
    timings = measure(contenders, schedule)
    seconds = timings.median(OWN)
    own = [n, seconds * 1e6, seconds * 1e9 / n, timings.median(CALL) * 1e6, set_up]
    return [*own, timings.median(PINOCCHIO) * 1e6, timings.ratio(PINOCCHIO, OWN)] if against else [*own, "", ""]


def _own_kernel(n: int) -> GenericKernel:
    """The kernel with its tables and workspace in place."""
    kernel = kernel_of(ada.Dynamics(ada.chain_3d(n), kernel="generic"), "forward")
    assert isinstance(kernel, GenericKernel)
    kernel.single(*(np.zeros(n),) * 3)
    return kernel
