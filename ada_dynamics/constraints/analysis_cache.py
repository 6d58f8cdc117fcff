# SPDX-License-Identifier: Apache-2.0
"""Findings about a model's loops, kept on disk beside the compiled kernels: they take some 0.1 s."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from ada_dynamics.algorithms.elimination import Plan
from ada_dynamics.arrays import Array
from ada_dynamics.constraints.analysis import Study, study, turned_study
from ada_dynamics.constraints.constraint_set import LoopNumbers
from ada_dynamics.constraints.plans import Plans, make_plans
from ada_dynamics.constraints.tree_elimination import LONG, SEARCHED, RedundantError, study_long
from ada_dynamics.jit.cache import ObjectCache, digest, source_hash
from ada_dynamics.model.model import Model


def studied(model: Model, fingerprint: str, pose: Array | None, unturned: Study | None) -> tuple[Study, Plans]:
    """Study and plans of a model, from the disk where they are.

    Args:
        model: a model with loops.
        fingerprint: differs for any two models that differ.
        pose: as for `study`.
        unturned: the study whose constraints get the axes of the other sides of the loop joints; None for their own.
    """
    store, turned = ObjectCache.default(), unturned is not None
    key = digest(
        "loops", fingerprint, repr((None if pose is None else pose.tolist(), turned)), source_hash(), np.__version__
    )
    entry = store.load(key)
    if entry is not None:
        return _study_of(model, entry.metadata["study"], turned), _plans_of(entry.metadata["plans"])
    found, plans = _study_and_plans(model, pose, unturned)
    store.store(key, b"", {"study": _study_data(found), "plans": asdict(plans)})
    return found, plans


def _study_and_plans(model: Model, pose: Array | None, unturned: Study | None) -> tuple[Study, Plans]:
    if unturned is None and model.nv > LONG:
        try:
            return study_long(model, pose)
        except RedundantError:
            if model.nv > SEARCHED:
                raise
    found = study(model, pose) if unturned is None else turned_study(unturned)
    return found, make_plans(model, found)


def _study_data(found: Study) -> dict[str, Any]:
    return {
        "poses": [q.tolist() for q in found.poses],
        "rank": found.rank,
        "used": found.used,
        "idle": found.idle,
        "spare": found.spare,
    }


def _study_of(model: Model, data: dict[str, Any], turned: bool) -> Study:
    poses = tuple(np.array(q, dtype=np.float64) for q in data["poses"])
    used, idle, spare = (tuple(data[k]) for k in ("used", "idle", "spare"))
    return Study(LoopNumbers(model, turned), poses, data["rank"], used, idle, spare)


def _plan_of(data: dict[str, Any]) -> Plan:
    rows = {name: tuple(chosen) for name, chosen in data["rows"].items()}
    return Plan(rows, tuple(data["order"]), dict(data["combinations"]))


def _plans_of(data: dict[str, Any]) -> Plans:
    candidates = {name: _plan_of(plan) for name, plan in data["candidates"].items()}
    return Plans(
        {name: tuple(chosen) for name, chosen in data["rows"].items()},
        tuple(data["conditions"]),
        tuple(data["used"]),
        candidates,
        candidates.get("kkt late") or _plan_of(data["late"]),
        tuple(data["typical"]),
        tuple(data["inertias"]),
        data["determinant"],
        {name: _plan_of(plan) for name, plan in data["following"].items()},
        tuple(data["following_typical"]),
    )
