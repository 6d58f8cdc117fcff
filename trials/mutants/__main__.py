# SPDX-License-Identifier: Apache-2.0
"""python -m trials.mutants [AREA ...] [--count N] [--seed S]: do the tests detect small changes of the code?

Changes are drawn from the files of an area and made one at a time in a clone of HEAD in out/mutants; the tests of the
area must fail. Known verdicts on the same sources and tests are kept. The exit status is 1 if the tests of an area
detect less than nine of ten changes, or fail without a change.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from trials.mutants.areas import AREAS, Area
from trials.mutants.sites import Site, difference, mutated, sites

WANTED = 0.9
PATIENCE = 60.0  # [s] beyond four times the duration of the tests without a change
REVIEWED = Path(__file__).with_name("reviewed.yaml")
ROOT = Path(__file__).resolve().parents[2]
KILLED, TIMEOUT, SURVIVED = "killed", "timeout", "survived"
_ROW = "{:<11}{:>7}{:>7}{:>8}{:>9}{:>9}{:>11}{:>8}   {}"
Result = dict[str, Any]


def main() -> int:
    """Judge areas one after another."""
    parser = argparse.ArgumentParser(prog="python -m trials.mutants", description=__doc__)
    parser.add_argument("areas", nargs="*", metavar="AREA", help=f"of {', '.join(AREAS)} (default: all)")
    parser.add_argument("--count", type=int, default=100, help="changes for each area (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the draw (default: %(default)s)")
    parser.add_argument("--folder", type=Path, default=ROOT / "out/mutants", help="of clone and verdicts")
    options = parser.parse_args()
    for name in set(options.areas) - set(AREAS):
        parser.error(f"no area is called {name}; there are {', '.join(AREAS)}")
    head = subprocess.check_output(("git", "rev-parse", "--short", "HEAD"), cwd=ROOT, text=True).strip()
    clone = options.folder / head
    if not clone.exists():
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    rows, bad = [], 0
    for name in options.areas or AREAS:
        places, results = judge(AREAS[name], clone, options.folder / f"{name}.jsonl", options.count, options.seed)
        row, score = summary(name, places, results)
        rows.append(row)
        bad += score < WANTED
    head_row = "area", "sites", "drawn", KILLED, TIMEOUT, SURVIVED, "equivalent", "score", "95 % interval"
    print(_ROW.format(*head_row), *rows, sep="\n")
    return int(bad > 0)


def judge(area: Area, clone: Path, kept: Path, count: int, seed: int) -> tuple[int, list[Result]]:
    """Number of sites of an area, and the verdicts on those that are drawn.

    Raises:
        SystemExit: the tests fail without a change.
    """
    tests, texts = area.test_files(clone), {file: (clone / file).read_text() for file in area.source_files(clone)}
    content = "".join([*texts.values(), *((clone / file).read_text() for file in tests)])
    version = hashlib.sha256(content.encode()).hexdigest()[:16]
    lines = kept.read_text().splitlines() if kept.exists() else []
    known = {one["key"]: one for one in map(json.loads, lines) if one["version"] == version}
    found = sorted((one for file, text in texts.items() for one in sites(file, text, seed)), key=lambda one: one.rank)
    results: list[Result] = []
    limit = 0.0
    for site in found:
        if len(results) == count:
            break
        text = texts[site.file]
        changed = mutated(text, site.operator, site.occurrence)
        if changed is None:
            continue
        if site.key not in known:
            limit = limit or 4.0 * _clean(clone, tests) + PATIENCE
            known[site.key] = _verdict(site, text, changed, clone, tests, limit) | {"version": version}
            with kept.open("a", encoding="utf-8") as file:
                file.write(json.dumps(known[site.key], ensure_ascii=False) + "\n")
        results.append(known[site.key])
    return len(found), results


def _clean(clone: Path, tests: Sequence[str]) -> float:
    """Duration of the tests without a change [s]."""
    began = time.monotonic()
    failed, by = _run(clone, tests, None)
    if failed:
        raise SystemExit(f"tests fail without a change: {by}")
    return time.monotonic() - began


def _verdict(site: Site, text: str, changed: str, clone: Path, tests: Sequence[str], limit: float) -> Result:
    path = clone / site.file
    path.write_text(changed, encoding="utf-8")
    try:
        failed, by = _run(clone, tests, limit)
        verdict = KILLED if failed else SURVIVED
    except subprocess.TimeoutExpired:
        verdict, by = TIMEOUT, ""
    finally:
        path.write_text(text, encoding="utf-8")
    was, now = difference(text, changed)
    print(f"{verdict:<9} {site.file}:{site.place[0]} {site.operator} {by}", flush=True)
    if verdict == SURVIVED:
        print(f"    - {was}\n    + {now}", flush=True)
    return {"key": site.key, "verdict": verdict, "by": by, "file": site.file, "was": was, "now": now}


def _run(clone: Path, tests: Sequence[str], limit: float | None) -> tuple[bool, str]:
    """True if a test fails, and its name. The cache of kernels is found by the sources, thus changes have their own."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-n0", *tests]
    environment = {**os.environ, "PYTHONPATH": f"{clone}:{clone}/experiments", "PYTHONDONTWRITEBYTECODE": "1"}
    ran = subprocess.run(command, cwd=clone, env=environment, capture_output=True, text=True, timeout=limit)
    first = [line for line in ran.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return ran.returncode != 0, first[0].split()[1] if first else ran.stderr[-200:]


def summary(name: str, places: int, results: Sequence[Result]) -> tuple[str, float]:
    """Row and score of an area: detected changes of those that are not equivalent."""
    equal = {(one["file"], one["was"], one["now"]) for one in yaml.safe_load(REVIEWED.read_text(encoding="utf-8"))}
    judged = [one for one in results if (one["file"], one["was"], one["now"]) not in equal]
    count, number = Counter(one["verdict"] for one in judged), len(judged)
    seen = count[KILLED] + count[TIMEOUT]
    score = seen / number if number else 1.0
    low, high = wilson(seen, number)
    figures = count[KILLED], count[TIMEOUT], count[SURVIVED], len(results) - number
    span = f"{100 * low:.0f} to {100 * high:.0f} %"
    return _ROW.format(name, places, len(results), *figures, f"{100 * score:.1f} %", span), score


def wilson(seen: int, of: int, z: float = 1.96) -> tuple[float, float]:
    """Wilson's interval of 95 % for a share."""
    if not of:
        return 0.0, 1.0
    share, square = seen / of, z * z / of
    middle, half = share + square / 2, z * math.sqrt(share * (1 - share) / of + square / of / 4)
    return (middle - half) / (1 + square), (middle + half) / (1 + square)


if __name__ == "__main__":
    sys.exit(main())
