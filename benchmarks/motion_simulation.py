# SPDX-License-Identifier: Apache-2.0
"""Hybrid motion simulation in real time: `python -m benchmarks.motion_simulation [--touches N] [--json FILE]`.

Three processes on this machine (dynamics, table control with the emulated HEXA and sensor, graphics where chosen), UDP
between them, 2 ms. The result is missed cycles, the delay of the loop, and durations, peaks and energies of contacts.
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
from typing import Any

HIGH_GAINS = ("--table-set=kp=800", "--table-set=kd=4")
RUNS = {  # arguments of the command; "busy": with a busy process
    "K_p 200": ("--table-set=kp=200", "--table-set=kd=2"),
    "K_p 400": ("--table-set=kp=400", "--table-set=kd=3"),
    "K_p 800": HIGH_GAINS,
    "K_p 800, not compensated": (*HIGH_GAINS, "--loop-set=compensation=0"),
    "K_p 800, a tenth lost": (*HIGH_GAINS, "--fault=drop=0.1"),
    "K_p 800, busy sibling": HIGH_GAINS,
    "K_p 200, plate on springs": ("--table=impedance",),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all cases; 1 if all of them failed."""
    parser = argparse.ArgumentParser("python -m benchmarks.motion_simulation", description=__doc__)
    parser.add_argument("--touches", type=int, default=10, help="of each run (default %(default)s)")
    parser.add_argument("--priority", type=int, default=50, help="of the loops, SCHED_FIFO (default %(default)s)")
    parser.add_argument("--tries", type=int, default=3, help="of a run that the table's watchdog ends")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to FILE")
    chosen = parser.parse_args(arguments)
    words = f"--touches={chosen.touches}", f"--priority={chosen.priority}"
    found = {name: _run(name, [*words, *options], chosen.tries) for name, options in RUNS.items()}
    if chosen.json:
        chosen.json.write_text(json.dumps(found, indent=1), encoding="utf-8")
    return 0 if any(found.values()) else 1


def _run(name: str, words: Sequence[str], tries: int) -> dict[str, Any] | None:
    """Figures of a case; None if all tries ended early."""
    command = [sys.executable, "-m", "ada_experiments.motion_simulation", "all", *words]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(one for one in sys.path if one)}
    print(f"{name}:", flush=True)
    for _ in range(tries):
        with _sibling("busy" in name):
            ran = subprocess.run(command, capture_output=True, text=True, env=environment)
        if ran.returncode == 0:
            figures: dict[str, Any] = json.loads(ran.stdout)
            _show(figures)
            return figures
        print(f"  ended early: {ran.stderr.strip()[-300:]}")
    return None


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
        f"{trip[0]:.1f}, p99 {trip[1]:.1f} ms; {d['lost']} of {answers} lost, {dynamics['filled']} extrapolated"
    )
    shown = (("duration", "ms", 1e3), ("peak", "N", 1.0), ("gain", "%", 100.0), ("energy_made", "%", 100.0))
    for key, unit, factor in shown:
        values = sorted(factor * one[key] for one in dynamics["touches"])
        print(f"  {key:11} {values[0]:.2f} to {values[-1]:.2f}, median {values[len(values) // 2]:.2f} {unit}")
    active = sum(not one["is_passive"] for one in dynamics["touches"])
    print(f"  {active} of {len(dynamics['touches'])} touches received energy from the loop")
    late = sum(not one["is_in_time"] for one in dynamics["touches"])
    print(
        f"  {late} of {len(dynamics['touches'])} touches are invalid: a force was later than the limit of extrapolation"
    )


@contextmanager
def _sibling(is_busy: bool) -> Iterator[None]:
    """A process that computes all the time, where chosen."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"]) if is_busy else None
    try:
        yield
    finally:
        if process is not None:
            process.kill()
            process.wait()


if __name__ == "__main__":
    sys.exit(main())
