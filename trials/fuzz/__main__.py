# SPDX-License-Identifier: Apache-2.0
"""python -m trials.fuzz [TARGET ...] [--runs N] [--seed S] [--keep]: each target in its own process, and a table."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from trials.fuzz import targets
from trials.fuzz.corpus import CORPUS, CRASHES, chosen, keep, kept
from trials.fuzz.target import Target, Trial

HYPOTHESIS = "hypothesis"
MEMORY = 2048  # [MB] of a target's process, at most
_ROW = "{:<16}{:>10}{:>9}{:>14}{:>13}{:>10}{:>9}"


def main() -> int:
    """Run targets one after another; 1 where one has found a crash."""
    parser = argparse.ArgumentParser(prog="python -m trials.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"see --list; {HYPOTHESIS}: the tests marked fuzz")
    parser.add_argument("--runs", type=int, default=100_000, help="inputs for each target (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the mutations (default: %(default)s)")
    parser.add_argument("--list", action="store_true", help="what there is")
    parser.add_argument("--keep", action="store_true", help="choose the corpus anew from what was found")
    options = parser.parse_args()
    wanted = options.targets or [HYPOTHESIS, *targets.names()]
    if options.list:
        for name in targets.names():
            print(f"{name:<16}{targets.find(name).about}")
        return 0
    print(_ROW.format("target", "runs", "runs/s", "corpus", "slowest", "memory", "crashes"))
    failed = 0
    for name in wanted:
        failed += _property_tests() if name == HYPOTHESIS else _fuzzed(targets.find(name), options)
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


def _fuzzed(target: Target, options: argparse.Namespace) -> int:
    """One target: its row, and its crash where there is one, which is kept for good."""
    with tempfile.TemporaryDirectory(prefix=f"fuzz_{target.name}_") as place:
        folder = Path(place)
        found = folder / "found"
        found.mkdir()
        begin = {*target.seeds(), *kept(CORPUS, target.name), *kept(CRASHES, target.name)}
        for i, one in enumerate(sorted(begin)):
            (found / f"{i:05}").write_bytes(one)
        words = folder / "words"
        words.write_text("".join(f'"{_escaped(word)}"\n' for word in target.words), encoding="utf-8")
        flags: dict[str, object] = {
            "runs": options.runs,
            "seed": options.seed,
            "max_len": target.longest,
            "rss_limit_mb": MEMORY,
        }
        flags |= {"timeout": round(10 * target.seconds), "artifact_prefix": f"{folder}/", "print_final_stats": 1}
        flags |= {"dict": words} if target.words else {}
        given = [f"-{key}={value}" for key, value in flags.items()]
        began = time.monotonic()
        command = [sys.executable, "-m", "trials.fuzz.child", target.name, place, *given, str(found)]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        spent = time.monotonic() - began
        crashes = [one.read_bytes() for kind in ("crash", "timeout", "oom") for one in folder.glob(f"{kind}-*")]
        inputs = [one.read_bytes() for one in found.iterdir()]
        _tell(target, done.stderr, spent, inputs, len(crashes), folder / "slowest.json")
        if crashes:
            keep(CRASHES, target.name, [*kept(CRASHES, target.name), *crashes])
        if done.returncode or "DONE" not in done.stderr:
            print(done.stderr[-3000:] + done.stdout[-3000:], file=sys.stderr, flush=True)
            return 1
        if options.keep:
            scratch = folder / "scratch"
            keep(CORPUS, target.name, chosen(inputs, Trial(target, scratch), 8 * target.longest))
        return 0


def _escaped(word: str) -> str:
    return "".join(f"\\x{one:02x}" for one in word.encode())


def _tell(target: Target, said: str, spent: float, inputs: list[bytes], crashes: int, slowest: Path) -> None:
    counts = re.findall(r"^#(\d+)\s", said, re.MULTILINE)
    memory = re.findall(r"stat::peak_rss_mb:\s+(\d+)", said) or re.findall(r"rss: (\d+)Mb", said)
    runs = int(counts[-1]) if counts else 0
    worst = 1e3 * json.loads(slowest.read_text(encoding="utf-8"))["seconds"] if slowest.exists() else 0.0
    size = f"{len(inputs)}/{sum(map(len, inputs)) / 1024:.0f} kB"
    row = target.name, runs, f"{runs / spent:.0f}", size, f"{worst:.1f} ms", f"{(memory or ['?'])[-1]} MB", crashes
    print(_ROW.format(*row), flush=True)


if __name__ == "__main__":
    sys.exit(main())
