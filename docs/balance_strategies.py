# SPDX-License-Identifier: Apache-2.0
"""Limits of two balance strategies from the runs of examples/sweeps/balance.yaml and balance_free_feet.yaml.

python docs/balance_strategies.py fixed.csv free.csv writes docs/research/balance_strategies.csv from the exported runs
and prints what decides between the strategies: an analysis of variance of the difference of the limits.
"""

from __future__ import annotations

import csv
import itertools
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

DATA = Path(__file__).parent / "research" / "balance_strategies.csv"
FACTORS = {
    "feet": ("fixed", "free"),
    "rotor inertia": ("0.0187", "0.0374"),  # [kg m²]; fixed feet also without
    "friction": ("0", "0.05"),  # [N m]
    "full angle": ("0.1 rad", "0.2 rad", "0.4 rad", "45 deg"),
    "place": ("left shoulder", "waist", "right shoulder"),
    "side": ("from behind", "from the front"),
}
UNITS = ("rotor_inertia [kg m^2]", "joint_friction [N m]")
STRATEGIES = ("upper-body rotation", "combined")
IMPULSE = 0.2 / np.pi  # [N s] of half a sine of 0.1 s with a peak of 1 N
LOWERED = 0.05  # [m] drop of the centre of mass of a fallen robot
Case = tuple[str, ...]


def withstood(run: dict[str, str]) -> bool:
    """Whether the robot stands, and the zero-moment point of fixed feet stays in the soles."""
    if run["status"] != "done":  # the motion after a fall has no finite velocities
        return False
    return float(run["centre_of_mass_drop"]) < LOWERED and float(run.get("zmp_margin_of_motion") or 0.0) >= 0.0


def limits(runs: Iterable[dict[str, str]], feet: str) -> tuple[dict[Case, list[float]], int]:
    """Largest impulse below which all are withstood, by case and strategy, and the number of cases with later ones."""
    tried: dict[tuple[Case, int], list[tuple[float, bool]]] = {}
    for run in runs:
        peak = float(run["disturbances.0.wrench.0"])
        rotor, friction = (f"{float(run[f'model.{key}']):g}" for key in UNITS)
        place = run["disturbances.0.link"].replace("body", "waist").replace("_", " ")
        side = FACTORS["side"][0 if peak > 0.0 else 1]
        case = (feet, rotor, friction, run["controller.settings.full_angle"], place, side)
        strategy = 1 if run["controller.settings.strategy"] == "combined" else 0
        if peak:
            tried.setdefault((case, strategy), []).append((abs(peak) * IMPULSE, withstood(run)))
    found: dict[Case, list[float]] = {}
    islands = 0
    for (case, strategy), pushes in tried.items():
        largest = [impulse for impulse, stands in itertools.takewhile(lambda push: push[1], sorted(pushes))]
        found.setdefault(case, [0.0, 0.0])[strategy] = largest[-1] if largest else 0.0
        islands += len(largest) < sum(stands for _, stands in pushes)
    return found, islands


def read() -> dict[Case, tuple[float, float]]:
    """Largest impulses withstood by rotation and by the combined strategy [N s], by the values of `FACTORS`."""
    with DATA.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    first, second = STRATEGIES
    return {tuple(row[name] for name in FACTORS): (float(row[first]), float(row[second])) for row in rows}


def variance(found: dict[Case, tuple[float, float]]) -> list[tuple[str, float]]:
    """Shares of the factors and of pairs of factors in the variance of the difference of the limits."""
    shape = tuple(len(values) for values in FACTORS.values())
    cells = np.array([found[case] for case in itertools.product(*FACTORS.values())])
    difference = (cells[:, 1] - cells[:, 0]).reshape(shape)
    rest = difference - difference.mean()
    total, axes = float(np.sum(rest**2)), range(len(shape))
    shares = []
    for count in (1, 2):
        for kept in itertools.combinations(axes, count):
            effect = rest.mean(axis=tuple(axis for axis in axes if axis not in kept), keepdims=True)
            for axis in kept if count == 2 else ():
                effect = effect - effect.mean(axis=tuple(other for other in kept if other != axis), keepdims=True)
            share = float(np.sum(np.broadcast_to(effect, shape) ** 2)) / total
            shares.append((" × ".join(list(FACTORS)[axis] for axis in kept), share))
    return sorted(shares, key=lambda one: -one[1])


def counts(found: dict[Case, tuple[float, float]]) -> list[tuple[str, str, int, int, int]]:
    """For each value of each factor: the number of cases in which rotation, neither and combination withstand more."""
    rows = []
    for index, (name, values) in enumerate(FACTORS.items()):
        for value in values:
            signs = [np.sign(c - r) for case, (r, c) in found.items() if case[index] == value]
            rows.append((name, value, signs.count(-1.0), signs.count(0.0), signs.count(1.0)))
    return rows


def draw() -> Figure:
    """Largest impulses withstood over the full angle, by side, place and feet, and the shares of the variance."""
    found = read()
    angles = {"0.1 rad": 5.73, "0.2 rad": 11.46, "0.4 rad": 22.92, "45 deg": 45.0}
    figure = Figure(figsize=(9.0, 7.0), layout="constrained")
    above, below = figure.subfigures(2, 1, height_ratios=(3, 2))
    panels = above.subplots(2, 3, sharex=True, sharey="row")
    for row, side in zip(panels, FACTORS["side"], strict=True):
        for panel, place in zip(row, FACTORS["place"], strict=True):
            for feet, style in (("fixed", "-"), ("free", "--")):
                for index, strategy in enumerate(STRATEGIES):
                    # smallest and largest limit over rotors and friction
                    tried = [
                        [found[feet, rotor, friction, angle, place, side][index] for angle in angles]
                        for rotor, friction in itertools.product(FACTORS["rotor inertia"], FACTORS["friction"])
                    ]
                    x, colour = list(angles.values()), f"C{index}"
                    panel.plot(x, np.mean(tried, axis=0), style, color=colour, label=f"{strategy}, {feet} feet")
                    panel.fill_between(x, np.min(tried, axis=0), np.max(tried, axis=0), color=colour, alpha=0.12)
            panel.set_title(f"{place}, {side}", fontsize="medium")
        row[0].set(ylabel="impulse [N s]", ylim=(0.0, None))
    for panel in panels[1]:
        panel.set_xlabel("full angle [deg]")
    panels[0, 0].legend(fontsize="x-small")
    names, shares = zip(*reversed(variance(found)[:8]), strict=True)
    axes = below.subplots()
    axes.barh(names, np.multiply(shares, 100.0))
    axes.set_xlabel("share of the variance of the difference between the strategies [%]")
    return figure


def main(files: Sequence[str]) -> None:
    """Write the limits and print the analysis."""
    found: dict[Case, list[float]] = {}
    for feet, path in zip(FACTORS["feet"], files, strict=True):
        with Path(path).open(encoding="utf-8") as file:
            ours, islands = limits(csv.DictReader(file), feet)
        print(f"{feet} feet: {len(ours)} cases, {islands} limits with larger impulses that are withstood again")
        found |= ours
    with DATA.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*FACTORS, *STRATEGIES])
        writer.writerows([*case, *(f"{limit:.4f}" for limit in both)] for case, both in sorted(found.items()))
    shown = read()
    for name, share in variance(shown)[:12]:
        print(f"{share:6.1%}  {name}")
    for row in counts(shown):
        print(*row, sep=", ")


if __name__ == "__main__":
    main(sys.argv[1:])
