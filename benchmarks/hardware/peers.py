# SPDX-License-Identifier: Apache-2.0
"""The command: `python -m benchmarks.hardware.peers [--trials 4] [--rounds 10000] [--commands 1000000]`.

Every fault of the devices in `test/support/peers` (which share no code with drivers and emulators), random life and bad
commands, judged on what reaches the wire. Nothing is timed by this machine's clock but the rows with processes.
"""

from __future__ import annotations

import argparse
import json
import logging
import math
import sys
import time
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[2] / "test/support"
WIDTHS = (66, 7, 10, 7)  # [characters] of the columns before the reaction


def main(arguments: list[str] | None = None) -> int:
    """Try everything; 1 where anything was unsafe."""
    parser = argparse.ArgumentParser("python -m benchmarks.hardware.peers", description=__doc__)
    parser.add_argument("--trials", type=int, default=4, help="of each fault (default 4)")
    parser.add_argument("--rounds", type=int, default=10_000, help="of random life (default 10000)")
    parser.add_argument("--commands", type=int, default=1_000_000, help="bad ones (default 1000000)")
    parser.add_argument("--only", default="", metavar="TEXT", help="faults whose names have it, and nothing else")
    parser.add_argument("--stops", action="store_true", help="the table of stops, and nothing else")
    parser.add_argument("--json", type=Path, metavar="FILE", help="gets all figures")
    chosen = parser.parse_args(arguments)
    if not TESTS.is_dir():
        parser.error(f"the devices are in {TESTS}, which is not there; run this in a checkout")
    sys.path.insert(0, str(TESTS))
    logging.disable(logging.CRITICAL)  # tracebacks of faults that are meant
    figures = {"stops": _stops()} if chosen.stops else {"faults": _faults(chosen.trials, chosen.only)}
    if not (chosen.only or chosen.stops):
        figures["life"] = _life(chosen.rounds)
        figures["commands"] = _commands(chosen.commands)
    if chosen.json is not None:
        chosen.json.parent.mkdir(parents=True, exist_ok=True)
        chosen.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")
    return int(any(row["unsafe"] for rows in figures.values() for row in rows))


def _faults(trials: int, only: str) -> list[dict[str, Any]]:
    """The table, row by row as it is made."""
    from peers.faults_table import FAULTS

    _line("fault", "trials", "safe after", "unsafe", "reaction")
    rows: list[dict[str, Any]] = []
    for fault in FAULTS:
        if only not in fault.name:
            continue
        made = [fault.run(number) for number in range(trials)]
        safe = max((one.safe_after for one in made if not math.isnan(one.safe_after)), default=math.nan)
        unsafe = [text for one in made for text in one.unsafe]
        reactions = dict.fromkeys(one.reaction.split(":")[0] for one in made)
        after = "" if math.isnan(safe) else "never" if math.isinf(safe) else f"{1e3 * safe:.0f} ms"
        _line(fault.name, str(trials), after, str(sum(bool(one.unsafe) for one in made)), " / ".join(reactions))
        for text in dict.fromkeys(unsafe[:2]):
            print(f"      ! {text}")
        rows.append(
            {
                "fault": fault.name,
                "trials": trials,
                "safe_after": safe if math.isfinite(safe) else str(safe),
                "reaction": made[0].reaction,
                "unsafe": unsafe,
            }
        )
    bad = [row for row in rows if row["unsafe"]]
    print(f"{len(rows)} faults, {len(rows) * trials} trials; unsafe: {len(bad)} faults")
    return rows


def _stops() -> list[dict[str, Any]]:
    from peers.stop_table import rows

    _line("stopped by", "in", "told to move", "limit", "unsafe")
    made = []
    for row in rows():
        is_late = [f"later than {row.limit:g} s"] if row.last_motion > row.limit else []
        unsafe = row.unsafe + is_late
        _line(f"{row.way}; {row.state}", "", f"{1e3 * row.last_motion:.0f} ms", f"{1e3 * row.limit:.0f}", str(unsafe))
        made.append({**row._asdict(), "unsafe": unsafe})
    return made


def _line(*columns: str) -> None:
    shown = [column.ljust(width) for column, width in zip(columns, WIDTHS, strict=False)]
    print("  ".join([*shown, *columns[len(WIDTHS) :]]), flush=True)


def _life(rounds: int) -> list[dict[str, Any]]:
    from peers.life import live

    rows = []
    for layout in ("ce", "7c"):
        began = time.monotonic()
        life = live(rounds // 2, 1, layout=layout)
        ended = ", ".join(f"{count} {phase}" for phase, count in life.phases.most_common())
        print(f"random life {layout}: {life.rounds} rounds in {time.monotonic() - began:.0f} s, ended {ended}; "
              f"unsafe or without a way back: {len(life.unsafe)}", flush=True)  # fmt: skip
        for text in life.unsafe[:5]:
            print(f"      ! {text}")
        rows.append({"layout": layout, "rounds": life.rounds, "phases": dict(life.phases), "unsafe": life.unsafe})
    return rows


def _commands(count: int) -> list[dict[str, Any]]:
    from peers.bad_commands import send

    rows = []
    for layout in ("ce", "7c"):
        tally = send(count // 2, 1, layout)
        print(
            f"bad commands {layout}: {tally.sent}, {dict(sorted(tally.by_kind.items()))}; unsafe: {len(tally.unsafe)}"
        )
        for text in tally.unsafe[:5]:
            print(f"      ! {text}")
        rows.append({"layout": layout, "sent": tally.sent, "by_kind": dict(tally.by_kind), "unsafe": tally.unsafe})
    return rows


if __name__ == "__main__":
    sys.exit(main())
