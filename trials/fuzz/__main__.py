# SPDX-License-Identifier: Apache-2.0
"""python -m trials.fuzz [TARGET ...] [--runs N] [--seconds S]: each target in its own process, and a table.

What was done is counted in out/fuzz, and adds up over calls: the same command goes on where the last one was ended.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

from trials.fuzz import libfuzzer, targets
from trials.fuzz.corpus import CORPUS, MOST, chosen, keep
from trials.fuzz.counts import Counts
from trials.fuzz.target import Target, Trial

HYPOTHESIS = "hypothesis"
_ROW = "{:<16}{:>10}{:>9}{:>12}{:>14}{:>12}{:>9}{:>9}"


def main() -> int:
    """Run targets one after another; 1 where one has found a crash."""
    parser = argparse.ArgumentParser(prog="python -m trials.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"see --list; {HYPOTHESIS}: the tests marked fuzz")
    parser.add_argument("--runs", type=int, default=100_000, help="inputs for each target, in all (%(default)s)")
    parser.add_argument("--seconds", type=int, default=0, help="most for each in this call; 0: any")
    parser.add_argument("--seed", type=int, default=1, help="of the mutations (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=Path("out/fuzz"), help="where counts and finds are (%(default)s)")
    parser.add_argument("--list", action="store_true", help="what there is")
    parser.add_argument("--keep", action="store_true", help="choose the corpus anew from what was found")
    options = parser.parse_args()
    wanted = options.targets or [HYPOTHESIS, *targets.names()]
    if options.list:
        for name in targets.names():
            print(f"{name:<16}{targets.find(name).about}")
        return 0
    print(_ROW.format("target", "runs", "runs/s", "h for 10^6", "found", "slowest", "memory", "crashes"))
    failed, hours = 0, 0.0
    for name in wanted:
        if name == HYPOTHESIS:
            failed += _property_tests()
            continue
        target = targets.find(name)
        crashes, needs = _fuzzed(target, options)
        failed, hours = failed + crashes, hours + needs
        if options.keep and not crashes:
            _keep(target, options.out / name)
    print(f"10^6 of each: {hours:.1f} h of one processor")
    return int(failed > 0)


def _property_tests() -> int:
    began = time.monotonic()
    command = [sys.executable, "-m", "pytest", "-q", "-m", "fuzz", "--hypothesis-profile", "fuzz", "--timeout", "0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    last = done.stdout.strip().splitlines()[-1:] or [done.stderr[-200:]]
    print(f"{HYPOTHESIS:<16}{last[0]} ({time.monotonic() - began:.0f} s)", flush=True)
    if done.returncode:
        print(done.stdout, file=sys.stderr)
    return done.returncode


def _fuzzed(target: Target, options: argparse.Namespace) -> tuple[int, float]:
    """One target and its row: its crashes in this call, and the time that 10^6 inputs take [h]."""
    folder: Path = options.out / target.name
    crashes = libfuzzer.go_on(target, folder, runs=options.runs, seconds=options.seconds, seed=options.seed)
    counts, found = Counts.read(folder), libfuzzer.found(folder)
    hours = counts.seconds / max(counts.runs, 1) * 1e6 / 3600
    numbers = counts.runs, f"{counts.runs / max(counts.seconds, 1e-9):.0f}", f"{hours:.2f}"
    size = f"{len(found)}/{sum(map(len, found)) / 1024:.0f} kB"
    bounds = f"{1e3 * counts.slowest:.1f} ms", f"{counts.megabytes:.0f} MB"
    print(_ROW.format(target.name, *numbers, size, *bounds, crashes), flush=True)
    return crashes, hours


def _keep(target: Target, folder: Path) -> None:
    with libfuzzer.scratch(target) as place:
        keep(CORPUS, target.name, chosen(libfuzzer.found(folder), Trial(target, place), MOST))


if __name__ == "__main__":
    sys.exit(main())
