# SPDX-License-Identifier: Apache-2.0
"""python -m trials.gate repeat [--runs 10] [--all 3] | faults: measure the test gate itself.

repeat: run `make test` repeatedly in a clone of HEAD, and `make test-all`, which begins with it, in the last runs.
        The first run includes the set-up; the first two begin with an empty kernel cache. Four of ten compete with four
        busy processes (none beside test-all); half ignore SIGINT.
faults: change one line in each of twelve rooms (trials/gate/faults.yaml), one at a time, and run the unit tests, which
        `make test` runs, until the first failure. A fault that no test finds is an error.

Results are kept in out/gate, a line per run; an interrupted campaign resumes where it ended.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
FAULTS = Path(__file__).with_name("faults.yaml")
BUSY = "while True: pass"
BUSY_PROCESSES = 4
_SUMMARY = re.compile(r"^=+ (.*\d+ (?:passed|failed|error).*) =+$", re.MULTILINE)


def main() -> int:
    """Run a campaign and print its table; 1 where a run failed or a fault was not found."""
    parser = argparse.ArgumentParser(prog="python -m trials.gate", description=__doc__.split("\n")[0])
    parser.add_argument("campaign", choices=("repeat", "faults"))
    parser.add_argument("--runs", type=int, default=10, help="of repeat (default: %(default)s)")
    parser.add_argument("--all", type=int, default=3, help="runs of test-all among them (default: %(default)s)")
    parser.add_argument("--folder", type=Path, default=ROOT / "out/gate", help="of results (default: out/gate)")
    options = parser.parse_args()
    head = subprocess.check_output(("git", "rev-parse", "--short", "HEAD"), cwd=ROOT, text=True).strip()
    folder = options.folder / head
    clone = folder / "clone"
    folder.mkdir(parents=True, exist_ok=True)
    if not clone.exists():
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    if options.campaign == "repeat":
        targets = ["test"] * (options.runs - options.all) + ["test-all"] * options.all
        return repeat(clone, folder / "repeat.jsonl", targets)
    return faults(clone, folder / "faults.jsonl")


def repeat(clone: Path, kept: Path, targets: Sequence[str]) -> int:
    """Run `make TARGET` for each target that has no result yet."""
    results = _read(kept)
    for number, target in list(enumerate(targets))[len(results) :]:
        is_busy, ignores = target == "test" and number % 5 in (1, 3, 4), number % 2 == 1
        if number < 2:
            shutil.rmtree(clone / ".pytest_cache", ignore_errors=True)
        log = kept.with_name(f"{target}-{number}.log")
        began = time.monotonic()
        with _busy(BUSY_PROCESSES if is_busy else 0):
            code = _make(clone, target, log, ignores_sigint=ignores)
        summaries = _SUMMARY.findall(log.read_text(errors="replace"))
        result = {"run": number, "target": target, "busy": is_busy, "code": code, "tests": summaries}
        result |= {"sigint": "ignored" if ignores else "default", "seconds": round(time.monotonic() - began)}
        results.append(result)
        _append(kept, result)
        print(_row(result), flush=True)
    print(f"\n{len(results)} runs, {sum(one['code'] != 0 for one in results)} failed:")
    print(*map(_row, results), sep="\n")
    return int(any(one["code"] for one in results))


def _row(one: dict[str, Any]) -> str:
    beside = f"beside {BUSY_PROCESSES} busy processes" if one["busy"] else "quiet"
    tests = "; ".join(one["tests"])
    sigint = f"SIGINT {one['sigint']}"
    run = f"run {one['run'] + 1:>2}  make {one['target']:<8}  {one['seconds']:>5} s  exit {one['code']}"
    return f"{run}  {sigint:<15} {beside:<24} {tests}"


def faults(clone: Path, kept: Path) -> int:
    """Judge the faults that have no verdict yet."""
    if _make(clone, "setup", kept.with_name("setup.log")):
        raise SystemExit(f"make setup failed; see {kept.with_name('setup.log')}")
    results = {one["fault"]: one for one in _read(kept)}
    for fault in yaml.safe_load(FAULTS.read_text(encoding="utf-8")):
        name = f"{fault['file']}: {fault['now']}"
        if name in results:
            continue
        file = clone / fault["file"]
        text = file.read_text(encoding="utf-8")
        if text.count(fault["was"]) != 1:
            raise SystemExit(f"{FAULTS.name}: {fault['was']!r} is not once in {fault['file']}")
        file.write_text(text.replace(fault["was"], fault["now"]), encoding="utf-8")
        log = kept.with_name(f"fault-{Path(fault['file']).stem}.log")
        try:
            code = _make(clone, "test-unit", log, ARGS="-x")
        finally:
            file.write_text(text, encoding="utf-8")
        first = re.search(r"^(?:FAILED|ERROR) (\S+)", log.read_text(errors="replace"), re.MULTILINE)
        results[name] = {"fault": name, "found": code != 0, "by": first[1] if first else ""}
        _append(kept, results[name])
        print(f"{'found' if code else 'MISSED':<7} {name}\n        by {results[name]['by']}", flush=True)
    missed = [name for name, one in results.items() if not one["found"]]
    print(f"\n{len(results) - len(missed)} of {len(results)} faults found")
    return int(bool(missed))


def _make(clone: Path, target: str, log: Path, *, ignores_sigint: bool = False, **variables: str) -> int:
    """Run a target; its exit code. The output goes to a file."""
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "ARGS")}
    command = ["make", target, *(f"{name}={value}" for name, value in variables.items())]
    # a shell sets what its children inherit; Python's own preexec_fn is not safe beside threads
    shell = ["sh", "-c", 'trap "" INT; exec "$@"', "sh"] if ignores_sigint else []
    with log.open("w") as out:
        return subprocess.run(
            [*shell, *command], cwd=clone, env=environment, stdout=out, stderr=subprocess.STDOUT
        ).returncode


@contextmanager
def _busy(count: int) -> Iterator[None]:
    """Some processes beside the block that use all the processor time they get."""
    others = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(count)]
    try:
        yield
    finally:
        for other in others:
            other.send_signal(signal.SIGKILL)
            other.wait()


def _read(kept: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []


def _append(kept: Path, result: dict[str, Any]) -> None:
    with kept.open("a") as file:
        file.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    sys.exit(main())
