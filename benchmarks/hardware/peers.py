# SPDX-License-Identifier: Apache-2.0
"""The command: `python -m benchmarks.hardware.peers [--trials 4] [--rounds 10000] [--commands 1000000]`.

Every fault of the devices in `test/support/peers`, which share no code with drivers and emulators, random operation and
invalid commands, judged by the messages on the wire. Trials run in lock step.
"""

from __future__ import annotations

import argparse
import json
import logging
import math
import sys
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[2] / "test/support"
WIDTHS = (66, 7, 10, 7)  # [characters] of the columns before the reaction
Rows = list[dict[str, Any]]


def main(arguments: list[str] | None = None) -> int:
    """Try everything; 1 if anything was unsafe."""
    parser = argparse.ArgumentParser("python -m benchmarks.hardware.peers", description=__doc__)
    parser.add_argument("--trials", type=int, default=4, help="of each fault (default 4)")
    parser.add_argument("--rounds", type=int, default=10_000, help="of random operation (default 10000)")
    parser.add_argument("--commands", type=int, default=1_000_000, help="invalid ones (default 1000000)")
    parser.add_argument("--only", default="", metavar="TEXT", help="only faults whose names contain TEXT")
    parser.add_argument("--stops", action="store_true", help="only the table of stops")
    parser.add_argument("--json", type=Path, metavar="FILE", help="for all figures")
    chosen = parser.parse_args(arguments)
    if not TESTS.is_dir():
        parser.error(f"the devices in {TESTS} are missing; run this in a checkout")
    sys.path.insert(0, str(TESTS))
    logging.disable(logging.CRITICAL)  # tracebacks of intended faults
    figures = {"stops": _stops()} if chosen.stops else {"faults": _faults(chosen.trials, chosen.only)}
    if not (chosen.only or chosen.stops):
        figures["life"] = _life(chosen.rounds)
        figures["commands"] = _commands(chosen.commands)
    if chosen.json is not None:
        chosen.json.parent.mkdir(parents=True, exist_ok=True)
        chosen.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")
    return int(any(row["unsafe"] for rows in figures.values() for row in rows))


def _faults(trials: int, only: str) -> Rows:
    from peers.faults_table import FAULTS

    _line("fault", "trials", "safe after", "unsafe", "reaction")
    rows: Rows = []
    for fault in FAULTS:
        if only not in fault.name:
            continue
        made = [fault.run(number) for number in range(trials)]
        safe = max((one.safe_after for one in made if not math.isnan(one.safe_after)), default=math.nan)
        unsafe = [text for one in made for text in one.unsafe]
        reactions = dict.fromkeys(one.reaction.split(":")[0] for one in made)
        after = "" if math.isnan(safe) else "never" if math.isinf(safe) else f"{1e3 * safe:.0f} ms"
        _line(fault.name, str(trials), after, str(sum(bool(one.unsafe) for one in made)), " / ".join(reactions))
        _problems(unsafe)
        safe_after = safe if math.isfinite(safe) else str(safe)
        rows.append({"fault": fault.name, "trials": trials, "safe_after": safe_after, "unsafe": unsafe})
    print(f"{len(rows)} faults, {len(rows) * trials} trials; unsafe: {sum(bool(row['unsafe']) for row in rows)} faults")
    return rows


def _stops() -> Rows:
    from peers.stop_table import rows

    _line("stopped by", "in", "demanded", "limit", "unsafe")
    made = []
    for row in rows():
        unsafe = row.unsafe + ([f"later than {row.limit:g} s"] if row.last_motion > row.limit else [])
        _line(f"{row.way}; {row.state}", "", f"{1e3 * row.last_motion:.0f} ms", f"{1e3 * row.limit:.0f}", str(unsafe))
        made.append({**row._asdict(), "unsafe": unsafe})
    return made


def _life(rounds: int) -> Rows:
    from peers.life import live

    rows = []
    for layout in ("ce", "7c"):
        life = live(rounds // 2, 1, layout=layout)
        ended = ", ".join(f"{count} {phase}" for phase, count in life.phases.most_common())
        print(f"random operation {layout}: {life.rounds} rounds, ended {ended}; unsafe: {len(life.unsafe)}", flush=True)
        _problems(life.unsafe)
        rows.append({"layout": layout, "rounds": life.rounds, "phases": dict(life.phases), "unsafe": life.unsafe})
    return rows


def _commands(count: int) -> Rows:
    from peers.bad_commands import send

    rows = []
    for layout in ("ce", "7c"):
        found = send(count // 2, 1, layout)
        kinds = dict(sorted(found.by_kind.items()))
        print(f"invalid commands {layout}: {found.sent}, {kinds}; unsafe: {len(found.unsafe)}", flush=True)
        _problems(found.unsafe)
        rows.append({"layout": layout, "sent": found.sent, "by_kind": kinds, "unsafe": found.unsafe})
    return rows


def _line(*columns: str) -> None:
    shown = [column.ljust(width) for column, width in zip(columns, WIDTHS, strict=False)]
    print("  ".join([*shown, *columns[len(WIDTHS) :]]), flush=True)


def _problems(texts: list[str]) -> None:
    for text in dict.fromkeys(texts[:5]):
        print(f"      ! {text}")


if __name__ == "__main__":
    sys.exit(main())
