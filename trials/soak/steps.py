# SPDX-License-Identifier: Apache-2.0
"""Steps without end: energy, loops and angles of free motions, judged by closed forms and by pinocchio."""

import json
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import ada_dynamics as ada
from ada_dynamics.arrays import Array
from ada_dynamics.robots import mechanisms
from ada_dynamics.structured_text.files import to_json

LANES = 8  # motions side by side, each of them alone a long one
CHUNK = 2_000_000  # steps of each motion from row to row
GRAVITY = 9.81  # [m/s^2]


class Ledger:
    """A file of results and states, a line of JSON each, from which a later call resumes; a torn line is removed."""

    def __init__(self, path: Path) -> None:
        """Open or create the file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        whole, end, _ = path.read_bytes().rpartition(b"\n")
        os.truncate(path, len(whole + end))
        self.rows: list[dict[str, Any]] = [json.loads(line) for line in whole.splitlines()]
        self._path = path

    def append(self, row: dict[str, Any]) -> None:
        """Add a row and write it to the disk."""
        line = to_json(row)
        with self._path.open("ab") as file:
            file.write(line.encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        self.rows.append(json.loads(line))  # as a later call reads it


class Case(NamedTuple):
    """Free motions without any loss, what is judged of their states at a time, and the bound of each figure."""

    model: ada.Model
    starts: Array
    step: float  # [s]
    figures: Callable[[Array, float], dict[str, float]]
    bounds: Mapping[str, float]


def rhombus(q: Array, v: Array) -> tuple[Array, Array]:
    """Energy [J] and loop gap [m] of unit four-bars (Takahashi 2012, fig. 3.9), by hand; a row for each."""
    angles = np.cumsum(q, axis=1)
    end = np.stack([np.sin(angles).sum(axis=1) - 1.0, np.cos(angles).sum(axis=1)])
    energy = 5.0 / 6.0 * v[:, 0] ** 2 + 2.0 * GRAVITY * np.cos(q[:, 0])
    return energy, np.hypot(*end)


def swing(amplitude: Array, t: float) -> Array:
    """Angle of the rhombus from where it hangs, let go at some amplitude: a pendulum with (6/5) g [rad]."""
    from scipy.special import ellipj, ellipk

    k = np.sin(0.5 * amplitude)
    period = 4.0 * ellipk(k**2) / np.sqrt(1.2 * GRAVITY)
    _, cn, dn, _ = ellipj(np.fmod(t, period) * np.sqrt(1.2 * GRAVITY), k**2)
    return np.asarray(2.0 * np.arcsin(k * cn / dn))


def four_bars() -> Case:
    """Eight rhombuses, let go at 10 to 80 degrees."""
    amplitude = np.radians(np.linspace(10.0, 80.0, LANES))
    made = [mechanisms.four_bar(crank=float(np.pi - one)) for one in amplitude]
    starts = np.array([one.q for one in made])
    begin, _ = rhombus(starts, np.zeros_like(starts))

    def figures(x: Array, t: float) -> dict[str, float]:
        energy, gap = rhombus(x[:, :3], x[:, 3:])
        off = x[:, 0] - np.pi + swing(amplitude, t)
        found = {"energy [J]": energy - begin, "gap [m]": gap, "angle [rad]": off}
        return {name: float(np.abs(one).max()) for name, one in found.items()}

    return Case(made[0].model, starts, 1e-3, figures, {"energy [J]": 1e-7, "gap [m]": 1e-14, "angle [rad]": 3e-3})


def arms() -> Case:
    """Eight PA-10 without friction and stops that fall from random poses, for ever: chaos with an energy."""
    from ada_experiments.pinocchio_tree import PinocchioTree

    model = ada.load("pa10")
    starts = np.random.default_rng(1).uniform(-0.5, 0.5, (LANES, model.nq))
    judge = PinocchioTree(model)

    def energy(x: Array) -> Array:
        rows = []
        for q, v in zip(x[:, :7], x[:, 7:], strict=True):
            weight = judge.pin.computePotentialEnergy(judge.model, judge.data, judge.position(q))
            rows.append(0.5 * v @ judge.mass_matrix(q) @ v + weight)
        return np.array(rows)

    begin = energy(np.hstack([starts, np.zeros_like(starts)]))
    figures = lambda x, _: {"energy [J]": float(np.abs(energy(x) - begin).max())}  # noqa: E731
    return Case(model, starts, 5e-4, figures, {"energy [J]": 1e-2})


CASES: Mapping[str, Callable[[], Case]] = {"four_bar": four_bars, "pa10": arms}


def run(name: str, count: float, folder: Path, chunk: int = CHUNK) -> bool:
    """Take so many steps, all motions together, from where the last call ended; True if all figures keep their bounds.

    Args:
        name: of the case.
        count: steps in all, of all calls.
        folder: with a file of rows for each case.
        chunk: steps of each motion from row to row.
    """
    case, ledger = CASES[name](), Ledger(folder / f"steps_{name}.jsonl")
    each = -(-int(count) // LANES)
    motions = ada.Simulation(case.model, case.starts[0], step=case.step).batch(case.starts)
    x, done, seconds = np.hstack([motions.q, motions.v]), 0, 0.0
    if ledger.rows:
        last = ledger.rows[-1]
        x, done, seconds = np.array(last["x"]), last["steps"] // LANES, last["seconds"]
    while done < each:
        steps, began = min(chunk, each - done), time.monotonic()
        states = np.stack([x, x], axis=1)
        motions.fill_rows(states, np.zeros((LANES, case.model.nv)), steps, steps)
        x, done, seconds = states[:, 1], done + steps, seconds + time.monotonic() - began
        figures = case.figures(x, done * case.step)
        ledger.append({"steps": done * LANES, "seconds": seconds, **figures, "x": x})
        print(f"{name}: {done * LANES:.3g} steps of {count:.3g}, {figures}", flush=True)
    ending = f"{LANES} motions of {done:.3g} steps, {1e-6 * done * LANES / seconds:.2f} million steps/s"
    holds = True
    for one, bound in case.bounds.items():
        worst = max(np.inf if row[one] is None else row[one] for row in ledger.rows)  # none: a motion was lost
        holds = holds and worst <= bound
        print(f"{name:<10}{one:<14}{worst:>10.2e}  bound {bound:.0e}  {'' if worst <= bound else 'BROKEN':<8}{ending}")
    return holds
