# SPDX-License-Identifier: Apache-2.0
"""Zero-moment point of fixed feet: that of Newton and Euler, whatever way the feet share the load."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from refused import refused

import ada_dynamics as ada
from ada_dynamics.analysis.balance import ground_wrench
from ada_dynamics.analysis.fixed_feet import fixed_feet_of
from ada_dynamics.analysis.polygon import margin
from ada_dynamics.errors import InputError
from ada_dynamics.model.edit.parts import Parts
from ada_dynamics.robots.close import with_loops
from ada_dynamics.simulation.profiles import constant, half_sine


@pytest.mark.fuzz
def test_zero_moment_point_is_that_of_the_rates_of_momentum() -> None:
    """The robot's bodies but the right foot, which does not move and whose weight is added by hand."""
    model = ada.load("hoap2_standing")
    rng = np.random.default_rng(1)
    push = half_sine("body", [3.0, 1.0, 0.0, 0.0, 0.0, 0.0], 0.0, 0.2, frame="world")
    log = ada.Simulation(
        model,
        np.zeros(10),
        tau=rng.uniform(-0.2, 0.2, 10),
        step=1e-3,
        external=[push, constant("left_foot", np.zeros(6), frame="world")],
    ).run(0.15)
    found = fixed_feet_of(log)
    com, wrench = ground_wrench(log.dynamics, log.q, log.v, log.a, log.external)
    about_origin = wrench[:, 3:] + np.cross(com, wrench[:, :3])
    foot, at = model.links["right_foot"], log.dynamics.poses(log.q[0])["right_foot"]
    weight = np.array([0.0, 0.0, foot.mass * 9.81])
    force = wrench[:, :3] + weight
    moment = about_origin + np.cross(at[:3, 3] + at[:3, :3] @ foot.com, weight)
    wanted = np.column_stack([-moment[:, 1], moment[:, 0]]) / force[:, 2:]
    assert found.zmp[:, :2] == pytest.approx(wanted, abs=1e-9)
    total = sum(found.wrenches.values())
    assert np.asarray(total)[:, :3] == pytest.approx(force, abs=1e-9 * 70.0)


@pytest.mark.fuzz
def test_feet_that_loops_fix_to_the_world_have_the_zero_moment_point_of_those_on_a_ground_link() -> None:
    fixed, floating = ada.load("hoap2_standing"), ada.load("hoap2_10dof")
    poses = ada.Dynamics(fixed).poses(np.zeros(10))
    soles = {f"{side}_foot_fixed": f"{side}_sole" for side in ("left", "right")}
    loops = [
        {"name": loop, "type": "fixed", "parent": {"link": "world", "xyz": poses[sole][:3, 3].tolist()}}
        | {"child": {"link": sole}}
        for loop, sole in soles.items()
    ]
    parts = Parts.of(with_loops(floating, loops))
    parts.joints = {name: replace(joint, armature=0.0) for name, joint in parts.joints.items()}
    standing = parts.build()
    q = np.concatenate([poses["waist"][:3, 3], [0, 0, 0, 1], np.zeros(10)])
    tau = np.random.default_rng(1).uniform(-0.2, 0.2, 10)
    whole = np.zeros(standing.nv)
    for name in fixed.joint_names:
        whole[standing.v_index(name)] = tau[fixed.v_index(name)]
    found = fixed_feet_of(ada.Simulation(standing, q, tau=whole, step=1e-3).run(0.05))
    wanted = fixed_feet_of(ada.Simulation(fixed, np.zeros(10), tau=tau, step=1e-3).run(0.05))
    assert found.soles == pytest.approx(wanted.soles, abs=1e-12)
    assert found.zmp == pytest.approx(wanted.zmp, abs=1e-9)


def test_margins_are_those_within_the_hull_of_both_soles_and_none_where_the_feet_pull() -> None:
    model, rest = ada.load("hoap2_standing"), np.zeros(10)
    pushes = [np.array([0.0, 0.0, fz, 0.0, ny, 0.0]) for ny, fz in ((0.0, 0.0), (20.0, 0.0), (0.0, 200.0))]
    tau = ada.Dynamics(model).inverse(rest, rest, rest)
    still = half_sine("body", np.zeros(6), 0.0, 0.2, frame="world")  # the kernel of the test above
    acting = [[still, constant("left_foot", w, frame="world")] for w in pushes]
    logs = [ada.Simulation(model, rest, tau=tau, step=1e-3, external=one) for one in acting]
    level, tilted, lifted = (fixed_feet_of(sim.run(0.002)) for sim in logs)
    for found in (level, tilted):
        assert found.margin == pytest.approx([margin(p[:2], found.soles) for p in found.zmp], abs=1e-14)
    assert np.ptp(level.soles, axis=0) == pytest.approx([0.094, 0.078 + 0.062])
    com = ada.Dynamics(model).com(rest)
    assert np.abs(level.zmp[0, :2] - com[:2]).max() < 1e-3  # at rest it is under the centre of all mass
    assert level.margin[0] > 0.0 > tilted.margin[0]
    assert (lifted.margin == -np.inf).all()


def test_a_robot_without_fixed_feet_is_refused() -> None:
    model = ada.load("pa10")
    with refused(InputError, field="model", value="pa10"):
        fixed_feet_of(ada.Simulation(model, np.zeros(7)).run(0.002))
