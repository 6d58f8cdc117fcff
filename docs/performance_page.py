# SPDX-License-Identifier: Apache-2.0
"""Write docs/performance.md and its plot: `python docs/performance_page.py FIGURES.json AVX2.json DATE`.

The figures come from `make bench ARGS="forward closed chains derivatives flops other simulation compile --json FILE"`,
and from `ADA_TARGET=avx2 make bench ARGS="derivatives --json FILE"`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
TREES = {"pa10": "PA-10 arm", "humanoid": "humanoid"}
LOOPS = {
    "four_bar": "four-bar linkage",
    "five_bar": "five-bar linkage",
    "slider_crank": "slider-crank",
    "delta": "Delta robot",
    "stewart": "Stewart platform",
    "hexa": "HEXA",
    "rus6": "6-RUS",
    "two_feet": "humanoid on two feet",
    "ladder_10": "ladder of 10 loops",
}
Row = list[Any]


class Figures:
    """Tables of a JSON file of the benchmarks."""

    def __init__(self, path: Path) -> None:
        data = json.loads(path.read_text(encoding="utf-8"))
        self.machine: dict[str, str] = data["machine"]
        self.tables: list[dict[str, Any]] = data["tables"]

    def rows(self, section: str, title: str, end: str = "") -> dict[Any, Row]:
        """Rows by their first entry, of the table whose title begins and ends so."""
        for table in self.tables:
            if table["section"] == section and table["title"].startswith(title) and table["title"].endswith(end):
                return {row[0]: row for row in table["rows"]}
        raise SystemExit(
            f"the figures have no table {title!r} of section {section!r}: run the command above with --json"
        )


def number(value: Any) -> str:
    """Three digits, or a dash where there is no figure."""
    return "–" if value in (None, "") else f"{value:.3g}"


def cell(rows: dict[Any, Row], label: str, column: int = 1) -> str:
    """One figure; a dash where an engine has none."""
    return number(rows[label][column]) if label in rows else "–"


def table(header: str, lines: list[list[str]]) -> str:
    """A table of Markdown."""
    columns = header.count("|") + 1
    return "\n".join([f"| {header} |", "|---" * columns + "|", *("| " + " | ".join(line) + " |" for line in lines)])


def forward(figures: Figures) -> str:
    """Forward dynamics of trees and loops: calls, native code and batches beside the other engines."""
    kernels = figures.rows("closed", "kernels")
    lines = []
    for name, label in TREES.items():
        call, native = figures.rows("forward", f"{name}, one call"), figures.rows("forward", f"{name}, native")
        batch = figures.rows("forward", f"{name}, batch")
        size = {"pa10": "7, 0", "humanoid": "30, 0"}[name]
        own = [cell(call, "ada forward"), cell(native, "ada native"), cell(batch, "ada forward, rows")]
        lines.append([label, size, *own, cell(call, "pinocchio"), cell(batch, "pinocchio"), cell(call, "MuJoCo")])
    for name, label in LOOPS.items():
        rows = figures.rows("closed", name)
        own = [cell(rows, "ada forward"), cell(rows, "ada native"), cell(rows, "ada forward, rows")]
        size = f"{number(kernels[name][1])}, {number(kernels[name][2])}"
        lines.append([label, size, *own, cell(rows, "pinocchio"), "–", cell(rows, "MuJoCo")])
    header = "robot | velocities, constraints | this, call | this, native | this, batch"
    header += " | pinocchio, call | pinocchio, batch | MuJoCo"
    return table(header, lines)


def quantities(figures: Figures) -> str:
    """Other quantities of a tree."""
    arm, humanoid = figures.rows("other", "pa10"), figures.rows("other", "humanoid")
    lines = [[name, *(number(rows[name][k]) for rows in (arm, humanoid) for k in (1, 2))] for name in arm]
    return table("quantity | PA-10, this | PA-10, pinocchio | humanoid, this | humanoid, pinocchio", lines)


def derivatives(figures: Figures) -> str:
    """Derivatives of forward dynamics."""
    names = TREES | {name: LOOPS[name] for name in ("four_bar", "rus6", "stewart", "delta", "two_feet")}
    lines = []
    for name, label in names.items():
        rows = figures.rows("derivatives", f"{name},", ": forward_derivatives")
        lines.append([label, *(cell(rows, each) for each in ("ada call", "ada native", "pinocchio"))])
    return table("robot | this, call | this, native | pinocchio", lines)


def on_avx2(figures: Figures, avx2: Figures) -> str:
    """Derivatives relative to pinocchio, with the instructions of the processor and with those of AVX2."""
    names = TREES | {name: LOOPS[name] for name in ("rus6", "stewart", "delta", "two_feet")}
    lines = []
    for quantity in ("forward", "inverse"):
        for name in names if quantity == "forward" else TREES:
            both = [one.rows("derivatives", f"{name},", f": {quantity}_derivatives") for one in (figures, avx2)]
            ratios = [cell(rows, label, 2) for rows in both for label in ("ada call", "ada batch")]
            lines.append([f"{names[name]}, {quantity}", *ratios])
    for name in ("pa10", "stewart"):
        both = [one.rows("derivatives", f"{name},", "steps, rk4, per step") for one in (figures, avx2)]
        ratios = [number(rows["its gradient"][1] / rows["motion"][1]) for rows in both]
        lines.append([f"{names[name]}, gradient of 1000 steps / motion", ratios[0], "–", ratios[1], "–"])
    return table("derivatives | AVX-512, call | AVX-512, batch | AVX2, call | AVX2, batch", lines)


def peak(figures: Figures) -> str:
    """Operations per time, size of the code, and distance to the peak of one core."""
    rows = figures.rows("flops", "operations")
    header = "kernel | operations | code kB | µs | GFlop/s | peak / this | straight-line code of the same size / this"
    return table(header, [[label, *map(number, own)] for label, *own in rows.values()])


def simulation(figures: Figures) -> str:
    """A four-bar linkage in three simulators."""
    lines = []
    for row in next(t["rows"] for t in figures.tables if t["title"].startswith("four-bar (")):
        if row[0].startswith("ada") and row[1]:
            continue
        setting = f", {row[1]}" if row[1] else ""
        lines.append([row[0].replace("ada ", "this, ") + setting, *map(number, row[2:5])])
    return table("simulator | largest closure error [m] | energy error [J] | µs per step", lines)


def scaling(figures: Figures) -> str:
    """Chains of any length."""
    rows = figures.rows("chains", "one state").values()
    return table(
        "links | µs | ns per link | pinocchio µs", [[f"{r[0]:.0f}", *map(number, (r[1], r[2], r[4]))] for r in rows]
    )


def derivatives_of_chains(figures: Figures) -> str:
    """Derivatives of forward and inverse dynamics over the number of links."""
    lines = []
    of_inverse = figures.rows("chains", "inverse_derivatives")
    for links, row in figures.rows("chains", "forward_derivatives").items():
        lines.append([f"{links:.0f}", *map(number, (*row[1:], *of_inverse[links][1:]))])
    header = "links | forward: call µs | batch µs | compile s | code kB"
    return table(f"{header} | inverse: call µs | batch µs | compile s | code kB", lines)


def first_use(figures: Figures) -> str:
    """Seconds until the first result."""
    robots = [figures.rows("compile", name) for name in ("pa10", "stewart", "humanoid")]
    lines = []
    for title in [name for name in robots[0] if not name.startswith("first call")]:
        times = [f"{number(rows[title][1])} / {number(rows[title][2])}" for rows in robots if title in rows]
        if len(times) == len(robots):
            lines.append([title.replace(", all in", ", everything included"), *times])
    return table("compiled / from the cache | PA-10 | Stewart platform | humanoid", lines)


def plot(figures: Figures, path: Path) -> None:
    """Time over the number of links."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = list(figures.rows("chains", "one state").values())
    figure, axes = pyplot.subplots(figsize=(6.4, 3.6), layout="constrained")
    axes.loglog([r[0] for r in rows], [r[1] for r in rows], "o-", label="this package, generic kernel")
    peers = [r for r in rows if r[4] not in (None, "")]
    axes.loglog([r[0] for r in peers], [r[4] for r in peers], "s-", label="pinocchio, ABA")
    axes.set(xlabel="links of the chain", ylabel="µs per state", title="Forward dynamics of chains")
    axes.grid(alpha=0.3, which="both")
    axes.legend()
    figure.savefig(path, dpi=120)


def page(figures: Figures, avx2: Figures, date: str) -> str:
    """The whole page."""
    m = figures.machine
    arm, chain = figures.rows("simulation", "pa10: a step"), figures.rows("simulation", "planar_7r, 3 s, error 1e-09")
    return f"""# Performance: how fast it is

How fast `ada_dynamics` is, beside pinocchio and MuJoCo on the same robots in the same process. Times are medians over
interleaved rounds; compare columns, not machines.

| | |
|---|---|
| machine | {m["processor"]} ({m["LLVM calls it"]}), one core, shared with other work |
| versions | {m["system"]}; numpy {m["numpy"]}, llvmlite {m["llvmlite"]}, pin {m["pin"]}, mujoco {m["mujoco"]} |
| date | {date} |
| command | `make bench ARGS="forward closed chains derivatives flops other simulation compile"` |

## Forward dynamics

Microseconds per state. "Call" is one call from Python with arrays in and out; "native" is the compiled code in a loop
without Python; "batch" is 4096 states in one call. With loops, pinocchio is `constraintDynamics` to convergence, called
from Python (it has no batch of it); MuJoCo is `mj_forward` without contacts, whose loops are soft.

{forward(figures)}

## Other quantities of a tree

Microseconds per call.

{quantities(figures)}

## Derivatives of forward dynamics

Microseconds for all three matrices (by q, v, τ), exact also along loops.

{derivatives(figures)}

Time of pinocchio divided by that of this package, for the code of this processor and for AVX2 code on the same one
(`ADA_TARGET=avx2`; processors without AVX-512 have other times). Batches have 512 states; the last rows are the time
of a gradient with respect to the efforts of 1000 steps of rk4 divided by that of the motion itself.

{on_avx2(figures, avx2)}

## Distance to the peak

Operations are additions and multiplications, two for a fused pair, with those of sines and cosines. The peak is that of
independent fused multiply-adds in all lanes, in a short loop. Straight-line code of such instructions with operands in
memory, as long as the code of the kernel and in the lanes of its widest instructions, shows what fetching the code and
the operands costs: nothing on a Zen 4, which computes with 512 bits in two cycles; on a Zen 5 300 kB of it run at 0.7
to 0.8 of the peak.

{peak(figures)}

Long code consists of parts, functions between which values are in memory; short code is one function. The number of
operations decides (`CodeLimits` in `ada_dynamics/jit/target.py`). Here both forms were made on a Zen 5: native code,
µs, the fastest of five copies of the code, because two pages of a copy may displace each other in the instruction cache
(1 % of the copies of the code for one state of a PA-10, 4 % of that for batches of 6-RUS, are slower by a fifth to
twice, for as long as the process runs). The choice is in bold; times to compile are those of both codes.

| kernel | one state: one function | parts | batch: one function | parts | compile s: one function | parts |
|---|---|---|---|---|---|---|
| PA-10, forward | **0.107** | 0.146 | **0.020** | 0.021 | 0.11 | 0.10 |
| Stewart, forward | **0.290** | 0.313 | **0.055** | 0.057 | 0.31 | 0.27 |
| 6-RUS, forward | **0.331** | 0.345 | **0.063** | 0.065 | 0.39 | 0.33 |
| chain of 16, forward | **0.462** | 0.467 | **0.078** | 0.082 | 0.45 | 0.34 |
| humanoid, forward | **0.411** | 0.529 | 0.141 | **0.113** | 0.97 | 0.54 |
| chain of 32, forward | **1.10** | 1.09 | 0.193 | **0.170** | 1.02 | 0.76 |
| humanoid on two feet, forward | **1.14** | 1.16 | 0.189 | **0.160** | 1.08 | 0.87 |
| PA-10, derivatives | **0.328** | – | 0.110 | **0.086** | 0.43 | 0.46 |
| Stewart, derivatives | 1.79 | **1.75** | 0.71 | **0.72** | 2.61 | 1.21 |
| chain of 16, derivatives | 2.12 | **2.00** | 1.02 | **0.897** | 3.26 | 1.96 |
| humanoid, derivatives | 4.15 | **4.01** | 1.94 | **1.85** | 4.94 | 2.93 |

## Simulation

A four-bar linkage swings freely for 10 s in steps of 1 ms (in a compiled loop for this package and MuJoCo, the dynamics
only for pinocchio):

{simulation(figures)}

A step of 1 ms of a PA-10 takes {cell(arm, "ada semi_implicit")} µs with semi-implicit Euler, {cell(arm, "ada rk4")} µs
with RK4; a step of MuJoCo's Euler {cell(arm, "MuJoCo Euler")} µs. A falling chain of seven links, 3 s with an error of
1e-9 rad, takes {cell(chain, "ada dop853")} µs here and {1e-3 * chain["scipy DOP853 on pinocchio"][1]:.3g} ms with
scipy's DOP853 and pinocchio.

## Scaling

Chains with the generic kernel, which needs no compilation per robot; native code, one state. Time is linear in the
number of links.

![Time of forward dynamics over the number of links, both axes logarithmic](images/scaling.png)

{scaling(figures)}

Derivatives of the same chains with `kernel="specialised"`: one state, batches of 16 states per state, processor time to
trace and compile the code of both, and its size. Each column of the derivatives of forward dynamics is solved with
triangular factors of the mass matrix up to 35 links, and by a pass inward and one outward over articulated bodies in
longer chains.

{derivatives_of_chains(figures)}

## First use

Seconds of processor time in a fresh process. Compiled code is cached on disk.

{first_use(figures)}

The pages [inverse kinematics](inverse_kinematics.md) and
[dynamics_node](ros/dynamics_node.md) have times of their own. `benchmarks/README.md` describes the method;
`docs/performance_page.py` writes this page.
"""


if __name__ == "__main__":
    found, of_avx2 = (Figures(Path(name)) for name in sys.argv[1:3])
    plot(found, DOCS / "images/scaling.png")
    (DOCS / "performance.md").write_text(page(found, of_avx2, sys.argv[3]), encoding="utf-8")
