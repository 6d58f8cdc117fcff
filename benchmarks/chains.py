# SPDX-License-Identifier: Apache-2.0
"""Long chains: time of the generic kernel, and of derivatives, against the number of links."""

from __future__ import annotations

from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np

import ada_dynamics as ada
from ada_dynamics.dynamics.dynamics import kernel_of
from ada_dynamics.jit.cache import ObjectCache
from benchmarks import peers
from benchmarks.peers import PINOCCHIO, Pinocchio
from benchmarks.report import Report
from benchmarks.timing import CLOCK, Contender, Schedule, measure, rows_in_turn

OWN, CALL = "ada", "a call from Python"
LENGTHS = (8, 16, 32, 64, 128, 256, 512, 1024, 4096, 100_000)
GOAL_AT, GOAL = 512, 3.0  # the longest chain of pinocchio, whose memory grows with the cube of the length: 5 GB
FIT_FROM = 64  # shorter chains show the cost of a call
EXPONENT, DERIVATIVE_EXPONENT = 1.1, 2.1
CALL_GOAL_AT, CALL_GOAL = (64, 256), 1.1
LINKS_PER_CALL = 4096  # number of states times links, so that the call itself does not count
COLUMNS = ["links", "us", "ns/link", "call us", "pinocchio us", "pinocchio / ada"]
DERIVED, MANY = (16, 32, 64, 128, 256), 16  # links, and states of a batch


def run(report: Report, schedule: Schedule, quick: bool) -> None:
    """Measure one row per length."""
    report.begin("chains", "rods in 3-D, joints x, y, z in turn; the generic kernel, nothing compiled per robot")
    rows = [_row(n, schedule) for n in LENGTHS[: 2 if quick else None]]
    report.table("one state, native", COLUMNS, rows)
    for links, time_us, _, call_us, *_, ratio in rows:
        if links == GOAL_AT and ratio:
            report.aim(f"{GOAL_AT} links: pinocchio / ada", ratio, GOAL, "x", at_least=True)
        if links in CALL_GOAL_AT:
            report.aim(f"{links} links: a call from Python / native", call_us / time_us, CALL_GOAL, "x")
    _fit(report, "time", [row for row in rows if row[0] >= FIT_FROM], EXPONENT)
    for name in ("forward_derivatives", "inverse_derivatives"):
        rows = [_derived(n, name, schedule) for n in DERIVED[: 1 if quick else None]]
        report.table(name, ["links", "call us", "batch us/state", "compile s", "code kB"], rows)
        _fit(report, name, rows, DERIVATIVE_EXPONENT)


def _fit(report: Report, what: str, rows: list[list[Any]], limit: float) -> None:
    if len(rows) > 2:
        links, times = np.log([row[:2] for row in rows]).T
        title = f"exponent of {what} against length, {rows[0][0]} to {rows[-1][0]} links"
        report.aim(title, float(np.polyfit(links, times, 1)[0]), limit, "")


def _derived(n: int, name: str, schedule: Schedule) -> list[Any]:
    """Times of one state and of a batch, and of compiling them, with the size of the code of both."""
    states = np.random.default_rng(n).normal(size=(3, MANY, n))
    derive = getattr(ada.Dynamics(ada.chain_3d(n), kernel="specialised"), name)
    with TemporaryDirectory() as folder, patch.dict("os.environ", ADA_CACHE_DIR=folder, ADA_CACHE="on"):
        start = CLOCK()
        derive(*states[:, 0]), derive(*states)
        first, size = CLOCK() - start, ObjectCache.default().size()
    names = {"f": derive, "one": states[:, 0], "all": states}
    timings = measure([Contender(OWN, "f(*one)", names), Contender("batch", "f(*all)", names, MANY)], schedule)
    return [n, timings.median(OWN) * 1e6, timings.median("batch") * 1e6, first, size / 1024]


def _row(n: int, schedule: Schedule) -> list[Any]:
    against = n <= GOAL_AT and PINOCCHIO in peers.available()
    rng = np.random.default_rng(n)
    count = min(64, max(1, LINKS_PER_CALL // n))
    q, v, tau = (rng.normal(size=(count, n)) for _ in range(3))
    dynamics = ada.Dynamics(ada.chain_3d(n), kernel="generic")
    kernel = kernel_of(dynamics, "forward")
    dynamics.forward(q[0], v[0], tau[0])
    names = {"f": dynamics.forward, "one": [q[0], v[0], tau[0]]}
    contenders = [rows_in_turn(OWN, kernel, (q, v, tau)), Contender(CALL, "f(*one)", names)]
    if against:
        peer = Pinocchio(ada.chain_3d(n)).native(q, v, tau)
        exec(peer.statement, dict(peer.names))
        ours, theirs = kernel.batch(q, v, tau), np.array(peer.names["out"]).T
        # Long chains are ill-conditioned: the difference of roundings grows with the length.
        peers.require_agreement(f"chain of {n}: ada against pinocchio", ours, theirs, 1e-7)
        contenders.append(peer)
    timings = measure(contenders, schedule)
    seconds = timings.median(OWN)
    own = [n, seconds * 1e6, seconds * 1e9 / n, timings.median(CALL) * 1e6]
    return [*own, timings.median(PINOCCHIO) * 1e6, timings.ratio(PINOCCHIO, OWN)] if against else [*own, "", ""]
