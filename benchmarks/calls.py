# SPDX-License-Identifier: Apache-2.0
"""Ways to call forward dynamics: by keywords, with lists, other arrays, a batch of one; beside the plain call."""

from __future__ import annotations

import numpy as np

import ada_dynamics as ada
from benchmarks.report import Report
from benchmarks.timing import Contender, Plan, measure

PLAIN, EARLY = "float64 arrays in order", "method taken before its first call"
STATEMENTS = {  # what is called, and how many times longer than the plain call it may take
    EARLY: ("early(q, v, tau)", 1.5),
    "keywords": ("f(q=q, v=v, tau=tau)", 3.0),
    "external=None": ("f(q, v, tau, external=None)", 3.0),
    "result of ada.close_loops": ("f(pose, v, tau)", 3.0),
    "float32": ("f(q32, v32, tau32)", 3.0),
    "int64 velocities": ("f(q, v64, tau)", 3.0),
    "strided": ("f(q_strided, v_strided, tau_strided)", 3.0),
    "lists": ("f(q_list, v_list, tau_list)", 3.0),
    "batch of one": ("f(q_row, v_row, tau_row)", 3.0),
}


def run(report: Report, plan: Plan, quick: bool) -> None:
    """An arm and a mechanism with a loop."""
    report.begin("calls", "ways to call forward dynamics from Python, beside the plain call in the same process")
    for name in ("pa10", "four_bar"):
        _compare(name, report, plan)
    report.note("lists: numpy alone takes longer to make arrays of them (last row)")


def _compare(name: str, report: Report, plan: Plan) -> None:
    model = ada.load(name)
    dynamics = ada.Dynamics(model)
    names: dict[str, object] = {"early": dynamics.forward, "array": np.array}
    pose = ada.close_loops(model, np.full(model.nq, 0.1) if not model.loops else None)
    state = {"q": np.array(pose), "v": np.zeros(model.nv), "tau": np.linspace(-1.0, 1.0, model.nv)}
    dynamics.forward(state["q"], state["v"], state["tau"])
    names |= {**state, "f": dynamics.forward, "pose": pose, "v64": state["v"].astype(np.int64)}
    for label, x in state.items():
        names |= {f"{label}32": x.astype(np.float32), f"{label}_list": x.tolist(), f"{label}_row": x[None]}
        names[f"{label}_strided"] = np.repeat(x, 2)[::2]
    by_numpy = "lists, numpy's conversion alone"
    contenders = [Contender(PLAIN, "f(q, v, tau)", names)]
    contenders += [Contender(label, statement, names) for label, (statement, _) in STATEMENTS.items()]
    contenders.append(Contender(by_numpy, "array(q_list), array(v_list), array(tau_list)", names))
    timings = measure(contenders, plan)
    report.timings(f"{name}, one state", timings)
    for label, (_, limit) in STATEMENTS.items():
        report.aim(f"{name}: {label} / plain call", timings.ratio(label, PLAIN), limit, "x")
