# SPDX-License-Identifier: Apache-2.0
"""python -m trials.mutants [ROOM ...] [--count N] [--seed S]: do the tests see a changed sign?

Small changes are drawn from a room's files, one at a time, and its tests must fail. What is known already, in
out/mutants, is not judged again. The exit status is 1 where a room's tests see less than nine of ten.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter
from pathlib import Path

import yaml

from trials.mutants.campaign import Campaign, Result
from trials.mutants.child import warm
from trials.mutants.rooms import ROOMS

WANTED = 0.9
REVIEWED = Path(__file__).with_name("reviewed.yaml")
SEEN = ("killed", "timeout", "crashed")
_ROW = "{:<11}{:>7}{:>7}{:>8}{:>9}{:>9}{:>9}{:>11}{:>8}   {}"


def main() -> int:
    """Judge rooms one after another; 1 where one has too many survivors, or its tests fail without a change."""
    parser = argparse.ArgumentParser(prog="python -m trials.mutants", description=__doc__)
    parser.add_argument("rooms", nargs="*", metavar="ROOM", help=f"of {', '.join(ROOMS)} (default: all)")
    parser.add_argument("--count", type=int, default=100, help="changes for each room (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the draw (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time (default: %(default)s)")
    parser.add_argument(
        "--budget", type=float, default=120.0, help="seconds of tests for a change (default: %(default)s)"
    )
    parser.add_argument("--unreached", action="store_true", help="judge nothing; print statements that no test runs")
    parser.add_argument("--folder", type=Path, default=Path("out/mutants"), help="of verdicts (default: %(default)s)")
    options = parser.parse_args()
    for name in set(options.rooms) - set(ROOMS):
        parser.error(f"no room is called {name}; there are {', '.join(ROOMS)}")
    warm(options.folder / "bytecode")
    bad, rows = 0, []
    for name in options.rooms or ROOMS:
        campaign = Campaign(name, ROOMS[name], options.folder, options.seed, options.jobs, options.budget)
        if options.unreached:
            print(*(f"{file}:{line}" for file, line in campaign.unreached()), sep="\n")
            continue
        results = list(campaign.run(campaign.draw(options.count), tell).values())
        equal = reviewed()
        row, score = summary(
            name, len(campaign.sites), [one for one in results if said(one) not in equal], len(results)
        )
        rows.append(row)
        bad += score < WANTED
        for test in campaign.failures():
            bad += 1
            print(f"{name}: fails, now and then at least, where nothing is changed, and judges nothing: {test}")
    if options.unreached:
        return 0
    head = (
        "room",
        "sites",
        "drawn",
        "killed",
        "timeout",
        "crashed",
        "survived",
        "equivalent",
        "score",
        "95 % interval",
    )
    print(_ROW.format(*head), *rows, sep="\n")
    return int(bad > 0)


def tell(one: Result) -> None:
    """A verdict, as it comes; of killed ones only the fact."""
    about = f"{one['verdict']:<9}{one['wall']:6.1f} s  {one['file']}:{one['line']} {one['operator']}"
    if one["verdict"] not in SEEN:
        about += "".join(f"\n    {mark} {one[text]}" for mark, text in (("-", "was"), ("+", "now")))
    print(about, one.get("why", ""), flush=True)


def reviewed() -> set[tuple[str, str, str]]:
    """Changes that change nothing, by file, line and what it becomes; each has its reason in the file."""
    return {(one["file"], one["was"], one["now"]) for one in yaml.safe_load(REVIEWED.read_text(encoding="utf-8"))}


def said(one: Result) -> tuple[str, str, str]:
    """How `reviewed` names a change: lines may move, and it is found all the same."""
    return one["file"], one["was"], one["now"]


def summary(name: str, places: int, judged: list[Result], drawn: int) -> tuple[str, float]:
    """A room's row and score: seen ones of those that change something. Errors of this program are not seen."""
    count = Counter(one["verdict"] for one in judged)
    seen, all_ = sum(count[verdict] for verdict in SEEN), len(judged)
    score = seen / all_ if all_ else 1.0
    low, high = wilson(seen, all_)
    figures = [count[verdict] for verdict in SEEN]
    left = all_ - seen
    span = f"{100 * low:.0f} to {100 * high:.0f} %"
    return _ROW.format(name, places, drawn, *figures, left, drawn - all_, f"{100 * score:.1f} %", span), score


def wilson(seen: int, of: int, z: float = 1.96) -> tuple[float, float]:
    """Where a share lies, by Wilson's interval of 95 %."""
    if not of:
        return 0.0, 1.0
    share, square = seen / of, z * z / of
    middle, half = share + square / 2, z * math.sqrt(share * (1 - share) / of + square / of / 4)
    return (middle - half) / (1 + square), (middle + half) / (1 + square)


if __name__ == "__main__":
    sys.exit(main())
