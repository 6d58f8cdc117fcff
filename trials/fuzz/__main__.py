# SPDX-License-Identifier: Apache-2.0
"""python -m trials.fuzz [TARGET ...] [--runs N] [--seconds S]: fuzz each target in its own process, and print a table.

libFuzzer, by atheris, starts from the seeds, the corpus and the inputs that previous calls found in out/fuzz. Inputs
that break a target are added to trials/fuzz/crashes.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from trials.fuzz import targets
from trials.fuzz.target import CORPUS, CRASHES, Target, keep, kept

HYPOTHESIS = "hypothesis"
HANGS = 600  # [s] of wall time, which other programs may use; `Trial` limits processor time
MEMORY = 2048  # [MB] of the process of a target
RAM_DISK = Path("/dev/shm")  # writing a file for each input takes milliseconds on a disk
_ROW = "{:<16}{:>10}{:>9}{:>9}{:>9}"


def main() -> int:
    """Run targets one after another; 1 if one has a crash."""
    parser = argparse.ArgumentParser(prog="python -m trials.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"see --list; {HYPOTHESIS}: the tests marked fuzz")
    parser.add_argument("--runs", type=int, default=100_000, help="inputs for each target (%(default)s)")
    parser.add_argument("--seconds", type=int, default=0, help="limit for each target; 0: none")
    parser.add_argument("--seed", type=int, default=1, help="of the mutations (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=Path("out/fuzz"), help="for found inputs (%(default)s)")
    parser.add_argument("--list", action="store_true", help="list the targets")
    options = parser.parse_args()
    if options.list:
        for name in targets.names():
            print(f"{name:<16}{targets.find(name).about}")
        return 0
    print(_ROW.format("target", "runs", "runs/s", "found", "crashes"))
    failed = 0
    for name in options.targets or [HYPOTHESIS, *targets.names()]:
        failed += _property_tests() if name == HYPOTHESIS else _fuzz(targets.find(name), options)
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


def _fuzz(target: Target, options: argparse.Namespace) -> int:
    """Fuzz a target and print its row; returns the number of crashes."""
    folder: Path = options.out / target.name
    inputs = folder / "found"
    inputs.mkdir(parents=True, exist_ok=True)
    for one in {*target.seeds(), *kept(CORPUS, target.name), *kept(CRASHES, target.name)}:
        (inputs / hashlib.sha1(one, usedforsecurity=False).hexdigest()).write_bytes(one)
    flags: dict[str, object] = {
        **{"runs": options.runs, "max_total_time": options.seconds, "seed": options.seed, "reload": 0},
        **{"max_len": target.longest, "timeout": HANGS, "rss_limit_mb": MEMORY, "artifact_prefix": f"{folder}/"},
    }
    if target.words:
        flags["dict"] = folder / "words"
        escaped = ("".join(f"\\x{one:02x}" for one in word.encode()) for word in target.words)
        (folder / "words").write_text("".join(f'"{word}"\n' for word in escaped), encoding="utf-8")
    began = time.monotonic()
    with tempfile.TemporaryDirectory(dir=RAM_DISK if RAM_DISK.is_dir() else None) as scratch:
        command = [sys.executable, "-m", "trials.fuzz.child", target.name, scratch]
        command += [*(f"-{key}={value}" for key, value in flags.items()), str(inputs)]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    crashes = [one for kind in ("crash", "timeout", "oom") for one in folder.glob(f"{kind}-*")]
    if crashes:
        keep(CRASHES, target.name, [*kept(CRASHES, target.name), *(one.read_bytes() for one in crashes)])
        for file in crashes:
            file.unlink()
    ended = re.search(r"Done (\d+) runs", done.stderr)
    runs = int(ended[1]) if ended else 0
    has_failed = bool(crashes or done.returncode or not ended)
    if has_failed:
        print(done.stderr[-4000:], file=sys.stderr, flush=True)
    rate = f"{runs / (time.monotonic() - began):.0f}"
    print(_ROW.format(target.name, runs, rate, len(list(inputs.iterdir())), len(crashes)), flush=True)
    return max(len(crashes), int(has_failed))


if __name__ == "__main__":
    sys.exit(main())
