# SPDX-License-Identifier: Apache-2.0
"""python -m trials.gate repeat [--runs 10] [--target test] [--quiet] | faults: measure the test gate itself.

repeat: run `make TARGET` repeatedly in a clone of HEAD. The first run includes the set-up; the first two begin with an
        empty kernel cache. Four of ten compete with four busy processes (none with --quiet); half ignore SIGINT.
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
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
FAULTS = Path(__file__).with_name("faults.yaml")
BUSY = "while True: pass"
BUSY_PROCESSES = 4
_SUMMARY = re.compile(r"^=+ (.*\d+ (?:passed|failed|error).*) =+$")


def main() -> int:
    """Run a campaign and print its table; 1 where a run failed or a fault was not found."""
    parser = argparse.ArgumentParser(prog="python -m trials.gate", description=__doc__.split("\n")[0])
    parser.add_argument("campaign", choices=("repeat", "faults"))
    parser.add_argument("--runs", type=int, default=10, help="of repeat (default: %(default)s)")
    parser.add_argument("--target", default="test", help="of make, for repeat (default: %(default)s)")
    parser.add_argument("--folder", type=Path, default=ROOT / "out/gate", help="of results (default: out/gate)")
    parser.add_argument("--quiet", action="store_true", help="repeat without busy processes")
    options = parser.parse_args()
    head = subprocess.check_output(("git", "rev-parse", "--short", "HEAD"), cwd=ROOT, text=True).strip()
    folder = options.folder / head
    clone = folder / "clone"
    folder.mkdir(parents=True, exist_ok=True)
    if not clone.exists():
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    if options.campaign == "repeat":
        busy = 0 if options.quiet else BUSY_PROCESSES
        return repeat(clone, folder / f"{options.target}.jsonl", options.target, options.runs, busy)
    return faults(clone, folder / "faults.jsonl")


def repeat(clone: Path, kept: Path, target: str, runs: int, busy_processes: int) -> int:
    """Run `make TARGET` until there are `runs` results."""
    results = _read(kept)
    for number in range(len(results), runs):
        is_busy, ignores = bool(busy_processes) and number % 5 in (1, 3), number % 2 == 1
        if number < 2:
            shutil.rmtree(clone / ".pytest_cache", ignore_errors=True)
        log = kept.with_name(f"{target}-{number}.log")
        began = time.monotonic()
        with _busy(busy_processes if is_busy else 0):
            code = _make(clone, target, log, ignores_sigint=ignores)
        summaries = [
            found[1] for line in log.read_text(errors="replace").splitlines() if (found := _SUMMARY.match(line))
        ]
        result = {"run": number, "busy": is_busy, "sigint": "ignored" if ignores else "default", "code": code}
        results.append(result | {"seconds": round(time.monotonic() - began), "tests": summaries})
        _append(kept, results[-1])
        print(_row(results[-1]), flush=True)
    print(f"\nmake {target}, {len(results)} runs, {sum(one['code'] != 0 for one in results)} failed:")
    print(*map(_row, results), sep="\n")
    return int(any(one["code"] for one in results))


def _row(one: dict[str, Any]) -> str:
    beside = f"beside {BUSY_PROCESSES} busy processes" if one["busy"] else "quiet"
    tests = "; ".join(one["tests"])
    sigint = f"SIGINT {one['sigint']}"
    return f"run {one['run'] + 1:>2}  {one['seconds']:>5} s  exit {one['code']}  {sigint:<15} {beside:<24} {tests}"


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
    others = [subprocess.Popen([sys.executable, "-c", BUSY], start_new_session=True) for _ in range(count)]
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
