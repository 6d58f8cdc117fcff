# SPDX-License-Identifier: Apache-2.0
"""Logs of small robots for the tests of logs and recordings."""

from __future__ import annotations

from functools import cache

import numpy as np

import ada_dynamics as ada
from ada_dynamics.simulation.log import ContactFrame, EventRecord, Log

ROBOTS = ("arm", "floating", "linkage", "mixed")
ROWS = ("t", "q", "v", "a", "tau")


def mixed(base: str) -> ada.Model:
    """Joints of all kinds in a row, with names that have to be quoted in tables."""
    builder = ada.Builder("mixed")
    builder.link("foot", mass=1.0, inertia=(0.1, 0.2, 0.15))
    before = "foot"
    for kind in ("prismatic", "spherical", "fixed", "universal", "cylindrical", "planar", "continuous"):
        builder.link(f"of {kind}", mass=1.0, com=(0.1, 0.2, 0.3), inertia=np.diag((0.1, 0.2, 0.15)))
        axes = {"axis2": (0, 1, 0), "axis": (1, 0, 0)} if kind == "universal" else {}
        builder.joint(f"joint, {kind}", kind, before, f"of {kind}", xyz=(0.0, 0.1, 0.2), **axes)
        before = f"of {kind}"
    return builder.build(base)


@cache
def robot(name: str) -> ada.Model:
    """An arm of 3 joints, the same afloat, a four-bar linkage, joints of all kinds of coordinates."""
    if name == "linkage":
        return ada.load("four_bar")
    if name == "mixed":
        return mixed("fixed")
    builder = ada.Builder(name)
    builder.link("base", mass=2.0, com=(0.0, 0.0, 0.1), inertia=np.diag((0.02, 0.03, 0.025)))
    for i in range(3):
        builder.link(f"link_{i}", mass=1.0 + i, com=(0.0, 0.01, 0.25), inertia=np.diag((0.02, 0.022, 0.003)))
        parent = f"link_{i - 1}" if i else "base"
        axis = ((0, 1, 0), (1, 0, 0), (0, 1, 0))[i]
        builder.joint(f"joint_{i}", "revolute", parent, f"link_{i}", xyz=(0, 0, 0.5), axis=axis)
    return builder.build("floating" if name == "floating" else "fixed")


@cache  # each has kernels of its own
def motion(name: str, rows: int = 60) -> Log:
    """States of a robot, its loops closed, with all that a log can hold; accelerations as its dynamics have them."""
    model = robot(name)
    rng = np.random.default_rng(5)
    start = np.array(ada.close_loops(model)) if model.loops else model.neutral()
    dynamics = ada.Dynamics(model, q0=start if model.loops else None)
    way = 0.3 * rng.normal(size=model.nv)
    t = 0.01 * np.arange(rows)
    states = [dynamics.project_to_constraints(model.integrate(start, way, s), way * np.cos(s)) for s in t]
    q, v = np.array([s[0] for s in states]), np.array([s[1] for s in states])
    tau = rng.normal(size=(rows, model.nv))
    last, first = model.link_names[-1], model.link_names[1]
    log = Log(
        model,
        t,
        q,
        v,
        tau=tau,
        external={last: rng.normal(size=(rows, 6))},
        contact_wrenches={"heel": rng.normal(size=(rows, 6)), "toe": rng.normal(size=(rows, 6))},
        contact_frames={"heel": ContactFrame(last, (0.1, -0.2, 0.3)), "toe": ContactFrame(last, (0.2, 0, 0), first)},
        events=[EventRecord(0.125, "touchdown", q[12], v[12])],
        singular=[0.1, 0.2],
        info={"integrator": "rk4", "step": 0.01},
        dynamics=dynamics,
    )
    log.a = dynamics.forward(q, v, tau, log.applied)
    return log


def assert_same(found: Log, wanted: Log) -> None:
    for name in ROWS:
        assert np.array_equal(getattr(found, name), getattr(wanted, name), equal_nan=True), name
    for name in ("external", "contact_wrenches"):
        own, other = getattr(found, name), getattr(wanted, name)
        assert list(own) == list(other)
        assert all(np.array_equal(own[key], other[key]) for key in own)
    assert found.contact_frames == wanted.contact_frames
    assert found.singular == wanted.singular
    assert [(e.t, e.name, *e.q, *e.v) for e in found.events] == [(e.t, e.name, *e.q, *e.v) for e in wanted.events]
    assert {k: found.info[k] for k in wanted.info} == wanted.info
