# SPDX-License-Identifier: Apache-2.0
"""Constraint analyses and elimination plans, cached on disk with the compiled kernels; they take some 0.1 s."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from ada_dynamics.algorithms.elimination import Plan
from ada_dynamics.arrays import Array
from ada_dynamics.constraints.analysis import ConstraintAnalysis, analyse, analyse_turned
from ada_dynamics.constraints.constraint_set import ConstraintSet
from ada_dynamics.constraints.elimination import EliminationPlans, make_plans
from ada_dynamics.constraints.tree_elimination import LONG, SEARCHED, RedundantConstraintsError, analyse_large
from ada_dynamics.jit.cache import ObjectCache, digest, source_hash
from ada_dynamics.model.model import Model

Found = tuple[ConstraintAnalysis, EliminationPlans]


def cached_analysis(model: Model, fingerprint: str, q: Array | None, unturned: ConstraintAnalysis | None) -> Found:
    """Analysis and elimination plans of a model, from the cache if possible.

    Args:
        model: a model with loops.
        fingerprint: differs for any two models that differ.
        q: as for `analyse`.
        unturned: analysis whose constraints get the axes of the other sides of the loop joints; None for their own.
    """
    store, turned = ObjectCache.default(), unturned is not None
    key = digest("loops", fingerprint, repr((None if q is None else q.tolist(), turned)), source_hash(), np.__version__)
    entry = store.load(key)
    if entry is not None:
        return _analysis_of(model, entry.metadata["analysis"], turned), _plans_of(entry.metadata["plans"])
    analysis, plans = _analysis_and_plans(model, q, unturned)
    store.store(key, b"", {"analysis": _analysis_data(analysis), "plans": asdict(plans)})
    return analysis, plans


def _analysis_and_plans(model: Model, q: Array | None, unturned: ConstraintAnalysis | None) -> Found:
    if unturned is None and model.nv > LONG:
        try:
            return analyse_large(model, q)
        except RedundantConstraintsError:
            if model.nv > SEARCHED:
                raise
    found = analyse(model, q) if unturned is None else analyse_turned(unturned)
    return found, make_plans(model, found)


def _analysis_data(found: ConstraintAnalysis) -> dict[str, Any]:
    return {
        "configurations": [q.tolist() for q in found.configurations],
        "rank": found.rank,
        "independent": found.independent,
        "trivial": found.trivial,
        "redundant": found.redundant,
    }


def _analysis_of(model: Model, data: dict[str, Any], turned: bool) -> ConstraintAnalysis:
    configurations = tuple(np.array(q, dtype=np.float64) for q in data["configurations"])
    independent, trivial, redundant = (tuple(data[k]) for k in ("independent", "trivial", "redundant"))
    constraints = ConstraintSet(model, turned)
    return ConstraintAnalysis(constraints, configurations, data["rank"], independent, trivial, redundant)


def _plan_of(data: dict[str, Any]) -> Plan:
    rows = {name: tuple(chosen) for name, chosen in data["rows"].items()}
    return Plan(rows, tuple(data["order"]), dict(data["combinations"]))


def _plans_of(data: dict[str, Any]) -> EliminationPlans:
    candidates = {name: _plan_of(plan) for name, plan in data["candidates"].items()}
    return EliminationPlans(
        {name: tuple(chosen) for name, chosen in data["rows"].items()},
        tuple(data["nontrivial"]),
        tuple(data["independent"]),
        candidates,
        candidates.get("kkt late") or _plan_of(data["late"]),
        tuple(data["typical"]),
        tuple(data["inertias"]),
        data["determinant"],
        {name: _plan_of(plan) for name, plan in data["following"].items()},
        tuple(data["following_typical"]),
    )
