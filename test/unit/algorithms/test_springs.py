# SPDX-License-Identifier: Apache-2.0
"""Springs of joints: in every algorithm, with loops and mimicking joints, as stored energy, in implicit steps."""

from dataclasses import replace

import numpy as np
import pytest
from random_trees import sprung_chain

import ada_dynamics as ada
from ada_dynamics import ModelError
from ada_dynamics.algorithms import rnea
from ada_dynamics.model import Builder, Mimic
from ada_dynamics.model.edit import lock, with_parts

INERTIA = (0.2, 0.3, 0.25, 0.01, 0.02, 0.03)


def sprung_four_bar():
    """Three equal rods between two pivots, which never lie in one line; with springs in two joints of the tree."""
    robot = Builder("bars").link("base")
    parent, height = "base", 0.0
    for i, k in enumerate((4.0, 0.0, 7.0)):
        robot.link(f"l{i}", 1.0, (0.0, 0.0, 0.5), (0.1, 0.1, 0.0))
        at = {"axis": (0.0, 1.0, 0.0), "stiffness": k, "rest": 0.3}
        robot.joint(f"j{i}", "revolute", parent, f"l{i}", (0.0, 0.0, height), **at)
        parent, height = f"l{i}", 1.0
    ends = {"parent_xyz": (0.0, 0.0, 1.0), "child_xyz": (0.7, 0.0, 0.0)}
    return robot.loop("closing", "revolute", "l2", "base", **ends, axis=(0.0, 1.0, 0.0)).build()


def without_springs(model):
    slack = [replace(joint, stiffness=0.0, rest=0.0) for joint in model.joints.values()]
    return with_parts(model, *slack)


@pytest.mark.parametrize("options", [{}, {"kernel": "generic"}, {"device": "host"}], ids=["own", "generic", "device"])
def test_what_holds_a_robot_at_rest_holds_its_springs_too_on_every_path(options):
    model = sprung_chain(damping=0.3)
    rng = np.random.default_rng(8)
    q = np.array([model.random_state(rng)[0] for _ in range(5)])
    dyn, zero = ada.Dynamics(model, **options), np.zeros(model.nv)
    plain = [rnea.inverse_dynamics(model.tree, x.tolist(), zero.tolist(), zero.tolist()) for x in q]
    assert np.max(np.abs(np.array(plain) - ada.Dynamics(without_springs(model)).gravity(q))) > 1.0
    ways = {
        "gravity": dyn.gravity(q),
        "bias at rest": dyn.bias(q, zero),
        "inverse of zeros": dyn.inverse(q, zero, zero),
        "state by state": [dyn.gravity(x) for x in q],
        "in Python": [rnea.gravity_efforts(model.tree, x.tolist()) for x in q],
    }
    for way, found in ways.items():
        np.testing.assert_allclose(np.asarray(found), plain, rtol=0.0, atol=1e-12 * np.max(np.abs(plain)), err_msg=way)


def test_a_spherical_spring_at_rest_does_not_pull_and_has_a_finite_slope_there():
    model = sprung_chain()
    dyn = ada.Dynamics(model)
    q = model.neutral()
    rest = {j.name: j.rest for j in model.joints.values() if j.kind != "spherical"}
    for name, value in rest.items():
        q[model.q_index(name)] = value
    zero = np.zeros(model.nv)
    slack = ada.Dynamics(without_springs(model))
    assert np.allclose(dyn.gravity(q), slack.gravity(q), atol=1e-13)
    assert np.isfinite(dyn.forward(q, zero, zero)).all()
    wanted = np.array([1e-7, -2e-7, 3e-7])  # for small turns k times the rotation vector
    at = model.v_index("j2")
    step = zero.copy()
    step[at] = wanted
    there = model.integrate(q, step)
    assert np.allclose((dyn.gravity(there) - slack.gravity(there))[at], 5.0 * wanted, rtol=1e-9)


def test_springs_are_the_slope_of_the_energy_that_they_store():
    model = sprung_chain()
    dyn = ada.Dynamics(model)
    rng = np.random.default_rng(3)
    q, _ = model.random_state(rng)
    zero = np.zeros(model.nv)
    hold = dyn.gravity(q)
    h = 1e-6
    for i in range(model.nv):
        step = h * np.eye(model.nv)[i]
        ends = [dyn.energy(model.integrate(q, s), zero)[1] for s in (step, -step)]
        assert abs((ends[0] - ends[1]) / (2.0 * h) - hold[i]) < 1e-7 * max(1.0, abs(hold[i]))  # h² and rounding / h


def test_springs_act_in_closed_loops_as_in_another_engine_and_keep_energy():
    pytest.importorskip("pinocchio")
    from ada_experiments.pinocchio_model import PinocchioModel

    model = sprung_four_bar()
    q = ada.close_loops(model, [0.7, 0.9, 1.5])
    other = PinocchioModel(model)
    for algorithm in ("auto", "aba", "ada", "dca"):
        dyn = ada.Dynamics(model, algorithm=algorithm)
        v = dyn.project_to_constraints(q, [0.4, -0.2, 0.3])[1]
        a = dyn.forward(q, v, np.zeros(3))
        assert np.allclose(a, other.forward(q, v, np.zeros(3), solver="dense"), rtol=1e-8, atol=1e-8)
    log = ada.Simulation(model, q=q, v=v, integrator="dop853").run(1.0)
    assert np.ptp(log.total_energy) < 1e-7 * np.ptp(log.energy.potential)


def test_the_spring_of_a_joint_that_mimics_pulls_the_joint_that_it_mimics():
    robot = Builder("pair").link("base").link("a", 1.0, (0, 0, 0.3), INERTIA).link("b", 2.0, (0, 0, 0.2), INERTIA)
    robot.joint("lead", "revolute", "base", "a", axis=(0, 1, 0))
    robot.joint("follow", "revolute", "a", "b", (0, 0, 1), axis=(0, 1, 0), mimic=Mimic("lead", -2.0, 0.1))
    stiff = robot.build()
    parts = Builder("pair").link("base").link("a", 1.0, (0, 0, 0.3), INERTIA).link("b", 2.0, (0, 0, 0.2), INERTIA)
    parts.joint("lead", "revolute", "base", "a", axis=(0, 1, 0))
    own = {"stiffness": 5.0, "rest": 0.4}
    parts.joint("follow", "revolute", "a", "b", (0, 0, 1), axis=(0, 1, 0), mimic=Mimic("lead", -2.0, 0.1), **own)
    with_spring, q, zero = ada.Dynamics(parts.build()), np.array([0.7]), np.zeros(1)
    extra = with_spring.bias(q, zero) - ada.Dynamics(stiff).bias(q, zero)
    assert np.allclose(extra, -2.0 * 5.0 * (-2.0 * 0.7 + 0.1 - 0.4), rtol=1e-12)  # of ½ k (q_follow - rest)²


@pytest.mark.parametrize(
    "kind, values",
    [
        ("universal", {"stiffness": 1.0}),
        ("planar", {"stiffness": 1.0}),
        ("spherical", {"stiffness": 1.0, "rest": 0.2}),
        ("revolute", {"stiffness": -1.0}),
        ("revolute", {"stiffness": 1.0, "rest": float("nan")}),
    ],
)
def test_a_spring_that_means_nothing_is_refused(kind, values):
    robot = Builder("r").link("base").link("body", 1.0)
    with pytest.raises(ModelError):
        robot.joint("j", kind, "base", "body", **values)


def test_a_locked_joint_has_no_spring():
    locked = lock(sprung_chain(), {"j0": [0.3]})
    assert locked.joints["j0"].stiffness == 0.0
