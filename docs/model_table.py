# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: E501
"""Write docs/models.md, the checked models with closed loops: `python docs/model_table.py`.

Needs pinocchio and the experiments. Their pictures: `python docs/pictures.py model_NAME ...`.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from datetime import date
from itertools import groupby
from pathlib import Path

import numpy as np

import ada_dynamics as ada
from ada_dynamics.constraints.coordinates import units_of_rates
from ada_dynamics.robots.catalogue import CATALOGUE, CatalogueEntry, start_of
from ada_experiments.pinocchio_model import PinocchioModel

PAGE = Path(__file__).parent / "models.md"
STATES, SPREAD = 20, 0.1  # random states, and their distance from the start [rad, 0.1 m]
GROUPS = ("linkages", "legs and transmissions", "grippers and machines", "parallel robots")
MODELS = {name: one for name, one in CATALOGUE.items() if one.group in GROUPS and name != "closed_4r"}
ORDERED = sorted(MODELS.values(), key=lambda one: GROUPS.index(one.group))
FIRST_CALL = """
from time import perf_counter
import ada_dynamics as ada
from ada_dynamics.constraints.coordinates import units_of_rates
from ada_dynamics.robots.catalogue import start_of
begun = perf_counter()
model = ada.load("{name}")
q = start_of("{name}", model)
ada.Dynamics(model, q0=q).forward(q, model.nv * [0.0], model.nv * [0.0])
print(perf_counter() - begun)
"""
REDUCED = {  # tests against reduced models and closed forms
    "test_machines.py": "excavator_arm palletiser jansen_leg scissor_lift robotiq_gripper",
    "test_transmission.py": "parallel_ankle",
    "test_mechanisms.py": "four_bar five_bar slider_crank bennett delta hexa stewart",
}
TEXT = """# Checked models with closed loops

This page lists the mechanisms of the catalogue with their accuracy: `ada.load("NAME")` loads them, `ada view NAME` shows them, and
`ada up closed_chain mechanism:=NAME` simulates them as ROS 2 nodes. Sizes of machines and legs are rounded ones of published robots.

The closure error is the largest one of {states} random states near the start, after `close_loops`. The difference to pinocchio is that of
the accelerations of `forward` in these states, relative to the largest one; pinocchio gets the same tree, and its loops are
constraints. The first call of `forward` includes loading, the analysis of the loops and compiling, without cached
code. Further tests compare with reduced models and closed forms in independent coordinates (last column, in `test/unit`).

`python docs/model_table.py` computes this page ({machine}).

| | model | mobility | closure error [m, rad] | first call [s] | difference to pinocchio | also compared in |
|---|---|---|---|---|---|---|
{rows}
"""


def row(one: CatalogueEntry) -> str:
    """Line of the table."""
    model = ada.load(one.name)
    start = start_of(one.name, model)
    dynamics, other = ada.Dynamics(model, q0=start), PinocchioModel(model)
    rng, closed, worst = np.random.default_rng(0), 0.0, 0.0
    sizes = np.where([unit == "m" for unit in units_of_rates(model)], 0.1 * SPREAD, SPREAD)
    for _ in range(STATES):
        guess = model.integrate(start, sizes * rng.uniform(-1.0, 1.0, model.nv))
        q = np.asarray(ada.close_loops(model, guess))
        q, v = dynamics.project_to_constraints(q, rng.normal(size=model.nv))
        closed = max(closed, float(dynamics.constraints.closure_error(q)))
        tau = rng.normal(size=model.nv)
        found = dynamics.forward(q, v, tau)
        worst = max(worst, float(np.max(np.abs(found - other.forward(q, v, tau))) / np.max(np.abs(found))))
    environment = {**os.environ, "ADA_CACHE": "off"}
    command = [sys.executable, "-c", FIRST_CALL.format(name=one.name)]
    seconds = float(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
    reduced = next((f"`{file}`" for file, names in REDUCED.items() if one.name in names.split()), "")
    picture = f"![{one.summary}](images/model_{one.name}.png)"
    mobility = dynamics.constraints.mobility
    return f"| {picture} | `{one.name}`: {one.summary} | {mobility} | {closed:.0e} | {seconds:.2f} | {worst:.0e} | {reduced} |"


if __name__ == "__main__":
    lines = []
    for group, members in groupby(ORDERED, lambda one: one.group):
        lines.append(f"| | **{group}** | | | | | |")
        lines += map(row, members)
    PAGE.write_text(
        TEXT.format(states=STATES, machine=f"{platform.machine()}, {date.today()}", rows="\n".join(lines)),
        encoding="utf-8",
    )
    print(PAGE)
