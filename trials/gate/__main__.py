# SPDX-License-Identifier: Apache-2.0
"""python -m trials.gate [--runs 10] [--all 3]: is the test gate reliable?

Runs `make test` repeatedly in a clone of HEAD, and in the last runs `make test-all`, which includes it. The first run
includes the set-up; the first two begin with an empty kernel cache. Four of ten compete with four busy processes (none
with test-all); half ignore SIGINT. Results are kept in out/gate, and an interrupted campaign resumes.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
BUSY_PROCESSES = 4
_SUMMARY = re.compile(r"^=+ (.*\d+ (?:passed|failed|error).*) =+$", re.MULTILINE)


def main() -> int:
    """Run the campaign and print its table; 1 if a run failed."""
    parser = argparse.ArgumentParser(prog="python -m trials.gate", description=__doc__)
    parser.add_argument("--runs", type=int, default=10, help="number of runs (default: %(default)s)")
    parser.add_argument("--all", type=int, default=3, help="runs of test-all among them (default: %(default)s)")
    parser.add_argument("--folder", type=Path, default=ROOT / "out/gate", help="of results (default: out/gate)")
    options = parser.parse_args()
    head = subprocess.check_output(("git", "rev-parse", "--short", "HEAD"), cwd=ROOT, text=True).strip()
    clone, kept = options.folder / head / "clone", options.folder / head / "runs.jsonl"
    if not clone.exists():
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    results = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    for number in range(len(results), options.runs):
        target = "test" if number < options.runs - options.all else "test-all"
        results.append(_run(clone, kept.with_name(f"{target}-{number}.log"), number, target))
        with kept.open("a") as file:
            file.write(json.dumps(results[-1]) + "\n")
        print(_row(results[-1]), flush=True)
    print(f"\n{len(results)} runs, {sum(one['code'] != 0 for one in results)} failed:")
    print(*map(_row, results), sep="\n")
    return int(any(one["code"] for one in results))


def _run(clone: Path, log: Path, number: int, target: str) -> dict[str, Any]:
    """Run a target with its output in a file."""
    is_busy, ignores = target == "test" and number % 5 in (1, 3, 4), number % 2 == 1
    if number < 2:
        shutil.rmtree(clone / ".pytest_cache", ignore_errors=True)
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "ARGS")}
    # A shell sets what its children inherit; Python's preexec_fn is not safe with threads.
    shell = ["sh", "-c", 'trap "" INT; exec "$@"', "sh"] if ignores else []
    began = time.monotonic()
    with _busy(BUSY_PROCESSES if is_busy else 0), log.open("w") as out:
        command = [*shell, "make", target]
        code = subprocess.run(command, cwd=clone, env=environment, stdout=out, stderr=subprocess.STDOUT).returncode
    result = {
        "run": number,
        "target": target,
        "busy": is_busy,
        "code": code,
        "seconds": round(time.monotonic() - began),
    }
    tests = _SUMMARY.findall(log.read_text(errors="replace"))
    return {**result, "tests": tests, "sigint": "ignored" if ignores else "default"}


def _row(one: dict[str, Any]) -> str:
    load = f"{BUSY_PROCESSES} busy processes" if one["busy"] else "quiet"
    run = f"run {one['run'] + 1:>2}  make {one['target']:<8}  {one['seconds']:>5} s  exit {one['code']}"
    return f"{run}  SIGINT {one['sigint']:<8} {load:<17} {'; '.join(one['tests'])}"


@contextmanager
def _busy(count: int) -> Iterator[None]:
    """Processes that use all the processor time they get."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


if __name__ == "__main__":
    sys.exit(main())
