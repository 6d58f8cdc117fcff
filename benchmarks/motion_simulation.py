# SPDX-License-Identifier: Apache-2.0
"""Hybrid motion simulation in real time: `python -m benchmarks.motion_simulation [--touches N] [--json FILE]`.

Three processes on this machine (dynamics, table control with the emulated HEXA and sensor, and where asked for the
graphics), UDP between them, 2 ms. Touches follow each other for as long as is asked. Shown are missed cycles, the
delay of the loop, and what the touches were like beside those in lock step, which do not depend on the machine.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ada_dynamics.clock import ManualClock
from ada_experiments.motion_simulation.hexa_table import EmulatedTable, EmulatedTableSettings
from ada_experiments.motion_simulation.lock_step import run
from ada_experiments.motion_simulation.robots import PairSettings, RobotPair

GAINS = {200.0: 2.0, 400.0: 3.0, 800.0: 4.0}  # K_d [N m s/rad] for each K_p [N m/rad], as in S2
_BUSY = "while True: pass"


class Run(NamedTuple):
    """One way to run it.

    Attributes:
        name: of it.
        arguments: of the command.
        is_busy: whether a busy process runs beside.
    """

    name: str
    arguments: tuple[str, ...] = ()
    is_busy: bool = False


RUNS = (
    Run("K_p 200", ("--table-set=kp=200", "--table-set=kd=2")),
    Run("K_p 400", ("--table-set=kp=400", "--table-set=kd=3")),
    Run("K_p 800", ("--table-set=kp=800", "--table-set=kd=4")),
    Run("K_p 800, not compensated", ("--table-set=kp=800", "--table-set=kd=4", "--loop-set=compensation=0")),
    Run("K_p 800, a tenth lost", ("--table-set=kp=800", "--table-set=kd=4", "--fault=drop=0.1")),
    Run("K_p 800, busy sibling", ("--table-set=kp=800", "--table-set=kd=4"), is_busy=True),
    Run("K_p 200, plate on springs", ("--table=impedance",)),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all; 0, or 1 where none of the runs came to its end."""
    parser = argparse.ArgumentParser("python -m benchmarks.motion_simulation", description=__doc__)
    parser.add_argument("--touches", type=int, default=10, help="of each run (default %(default)s)")
    parser.add_argument("--priority", type=int, default=50, help="of the loops, SCHED_FIFO (default %(default)s)")
    parser.add_argument("--tries", type=int, default=3, help="of a run that the table's watchdog ends")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here as well")
    chosen = parser.parse_args(arguments)
    found: list[dict[str, Any]] = []
    _lock_step()
    for one in RUNS:
        found.append(_real_time(one, chosen.touches, chosen.priority, chosen.tries))
    if chosen.json:
        chosen.json.write_text(json.dumps(found, indent=1), encoding="utf-8")
    return 0 if any(one["figures"] for one in found) else 1


def _lock_step() -> None:
    """What the touches should be like."""
    print("in lock step:       touch [ms]  peak [N]  energy gained")
    for kp, kd in GAINS.items():
        pair = RobotPair(PairSettings())
        table = EmulatedTable(EmulatedTableSettings(kp=kp, kd=kd), pair.mounting, clock=ManualClock())
        record = run(pair, table, 0.45)
        begin, end = record.touch
        peak = record.smoothed().max()
        print(f"  K_p {kp:4g}          {1e3 * (end - begin):8.0f}  {peak:8.2f}  {100 * record.gain:+10.1f} %")


def _real_time(one: Run, touches: int, priority: int, tries: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "ada_experiments.motion_simulation", "all"]
    command += [f"--touches={touches}", f"--priority={priority}", *one.arguments]
    problems: list[str] = []
    print(f"{one.name}:", flush=True)
    for _ in range(tries):
        with _sibling(one.is_busy):
            ran = subprocess.run(command, capture_output=True, text=True, env=_environment())
        if ran.returncode == 0:
            figures = json.loads(ran.stdout)
            _show(figures)
            return {"name": one.name, "figures": figures, "problems": problems}
        problems.append(ran.stderr.strip()[-300:])
        print(f"  ended early: {problems[-1]}")
    return {"name": one.name, "figures": None, "problems": problems}


def _show(figures: dict[str, Any]) -> None:
    dynamics, table = figures["dynamics"], figures["table"]
    for name, part in (("dynamics", dynamics), ("table", table)):
        p, busy = part["periods"], part["busy"]
        print(
            f"  {name:8} {p['missed']:5} of {p['count'] + p['missed']} cycles missed; period p99 "
            f"{p['period_p99_ms']:.2f}, max {p['period_max_ms']:.1f} ms; late p99 {p['late_p99_ms']:.2f}, max "
            f"{p['late_max_ms']:.1f} ms; computes {busy['p50_ms']:.2f} (p99 {busy['p99_ms']:.2f}) ms"
        )
    d = dynamics["delays"]
    delay, trip = ([1e3 * d[f"{name}_{part}"] for part in ("p50", "p99", "max")] for name in ("delay", "round_trip"))
    answers = d["answers"] + d["lost"]
    print(
        f"  loop     delay p50 {delay[0]:.1f}, p99 {delay[1]:.1f}, max {delay[2]:.1f} ms; round trip p50 "
        f"{trip[0]:.1f}, p99 {trip[1]:.1f} ms; {d['lost']} of {answers} lost, {dynamics['filled']} guessed"
    )
    shown = (("duration", "ms", 1e3), ("peak", "N", 1.0), ("gain", "%", 100.0), ("energy_made", "%", 100.0))
    for key, unit, factor in shown:
        values = sorted(factor * one[key] for one in dynamics["touches"])
        print(f"  {key:11} {values[0]:.2f} to {values[-1]:.2f}, median {values[len(values) // 2]:.2f} {unit}")
    active = sum(not one["is_passive"] for one in dynamics["touches"])
    print(f"  {active} of {len(dynamics['touches'])} touches got energy from the loop")
    late = sum(not one["is_in_time"] for one in dynamics["touches"])
    print(
        f"  {late} of {len(dynamics['touches'])} touches are not to be trusted: a force was later than can be guessed"
    )


@contextmanager
def _sibling(is_busy: bool) -> Iterator[None]:
    """A process that computes all the time, where one is wanted."""
    process = subprocess.Popen([sys.executable, "-c", _BUSY]) if is_busy else None
    try:
        yield
    finally:
        if process is not None:
            process.kill()
            process.wait()


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(one for one in sys.path if one)}


if __name__ == "__main__":
    sys.exit(main())
