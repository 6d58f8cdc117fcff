# SPDX-License-Identifier: Apache-2.0
"""Everything but forward dynamics and derivatives, against pinocchio: no targets, only the figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import ada_dynamics as ada
from ada_dynamics.arrays import Array
from ada_dynamics.errors import AdaError
from benchmarks import peers, robots
from benchmarks.peers import PINOCCHIO, Pinocchio
from benchmarks.report import Report
from benchmarks.timing import Contender, Schedule, measure

OWN = "ada"


@dataclass(frozen=True)
class Pair:
    """The same quantity in both engines, as Python text over the names q, v, u (effort or acceleration)."""

    name: str
    ours: str
    theirs: str
    value: str = "{}"  # conversion of the peer's result to ours


PAIRS = (
    Pair("inverse dynamics", "f.inverse(q, v, u)", "pin.rnea(m, d, q, v, u)"),
    Pair("mass matrix", "f.mass_matrix(q)", "pin.crba(m, d, q)", "full({})"),
    Pair("bias efforts", "f.bias(q, v)", "pin.nonLinearEffects(m, d, q, v)"),
    Pair("gravity efforts", "f.gravity(q)", "pin.computeGeneralizedGravity(m, d, q)"),
    Pair("Jacobian", "f.jacobian(tip, q)", "pin.computeFrameJacobian(m, d, q, frame, aligned)"),
    Pair("centre of mass", "f.com(q)", "pin.centerOfMass(m, d, q, False)"),
    Pair("energies", "f.energy(q, v)", "pin.computeKineticEnergy(m, d, q, v), pin.computePotentialEnergy(m, d, q)"),
    Pair("centroidal momentum", "f.momentum(q, v)", "pin.computeCentroidalMomentum(m, d, q, v)", "{}.vector"),
)


def run(report: Report, schedule: Schedule, quick: bool) -> None:
    """A table per robot."""
    report.begin("other", "other quantities, one call from Python each, against pinocchio")
    if PINOCCHIO not in peers.available():
        raise AdaError("this section needs pinocchio.")
    for model in [robots.pa10()] if quick else [robots.pa10(), robots.humanoid()]:
        _one(model, report, schedule)


def _one(model: ada.Model, report: Report, schedule: Schedule) -> None:
    pinocchio = Pinocchio(model)
    q, v, u = (x[0].copy() for x in robots.random_states(model, 1))
    tip = model.link_names[-1]
    pin = pinocchio.pin
    names: dict[str, Any] = {"q": q, "v": v, "u": u, "pin": pin, "m": pinocchio.model, "d": pinocchio.data, "tip": tip}
    names |= {"f": ada.Dynamics(model), "frame": pinocchio.model.getFrameId(tip), "full": _symmetric}
    names["aligned"] = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    rows: list[list[object]] = []
    for pair in PAIRS:
        worst = _difference(pair, names)
        timings = measure([Contender(OWN, pair.ours, names), Contender(PINOCCHIO, pair.theirs, names)], schedule)
        ratio = timings.ratio(PINOCCHIO, OWN)
        rows.append([pair.name, timings.median(OWN) * 1e6, timings.median(PINOCCHIO) * 1e6, ratio, f"{worst:.0e}"])
    _batches(names, model, pinocchio, rows, schedule)
    columns = ["us", "ada", "pinocchio", "pinocchio / ada", "difference"]
    report.table(f"{model.name}, {model.nv} velocities", columns, rows)


def _batches(
    names: dict[str, Any], model: ada.Model, pinocchio: Pinocchio, rows: list[list[object]], schedule: Schedule
) -> None:
    """Inverse dynamics of many states, which pinocchio also computes in one call."""
    count = 1024
    columns = [np.asfortranarray(x) for x in robots.random_states(model, count)]
    own = {**names, **dict(zip(("q", "v", "u"), columns, strict=True))}
    theirs = {"f": pinocchio.pin.rneaInParallel, "pool": pinocchio.pin.ModelPool(pinocchio.model, 1)}
    theirs |= dict(zip(("q", "v", "u"), (np.asfortranarray(x.T) for x in columns), strict=True))
    theirs["out"] = np.asfortranarray(np.zeros((model.nv, count)))
    contenders = [
        Contender(OWN, "f.inverse(q, v, u)", own, count),
        Contender(PINOCCHIO, "f(1, pool, q, v, u, out)", theirs, count),
    ]
    timings = measure(contenders, schedule)
    worst = peers.disagreement(own["f"].inverse(*columns), theirs["out"].T)
    ratio = timings.ratio(PINOCCHIO, OWN)
    label = f"inverse dynamics, batch of {count}"
    rows.append([label, timings.median(OWN) * 1e6, timings.median(PINOCCHIO) * 1e6, ratio, f"{worst:.0e}"])


def _difference(pair: Pair, names: dict[str, Any]) -> float:
    """Largest difference relative to the largest element; raises an error if it is large."""
    ours = eval(pair.ours, names)
    theirs = eval(pair.value.format(f"({pair.theirs})"), names)
    return peers.require_agreement(pair.name, _flat(ours), _flat(theirs), 1e-8)


def _flat(value: Any) -> Array:
    parts = value if isinstance(value, tuple) else (value,)
    return np.concatenate([np.asarray(part, dtype=float).ravel() for part in parts])[np.newaxis]


def _symmetric(M: Array) -> Array:
    """The whole matrix from its upper half; some versions of pinocchio fill no more."""
    return np.triu(M) + np.triu(M, 1).T
