# SPDX-License-Identifier: Apache-2.0
"""Logs: their rows, what is between rows, and what is worked out of them."""

import numpy as np
import pytest
from log_examples import ROBOTS, motion, robot

import ada_dynamics as ada
from ada_dynamics.errors import InputError
from ada_dynamics.simulation.log import Log

GRAVITY = 9.81


def pendulum(mass: float = 2.0, length: float = 0.7) -> ada.Model:
    builder = ada.Builder("pendulum")
    builder.link("base")
    builder.link("bob", mass=mass, com=(0, 0, -length))
    builder.joint("pivot", "continuous", "base", "bob", axis=(0, 1, 0))
    return builder.build()


def test_the_energy_of_half_a_million_rows_of_a_pendulum_is_the_closed_form():
    mass, length, rows = 2.0, 0.7, 500_000
    rng = np.random.default_rng(1)
    q, v = rng.normal(size=(rows, 1)), rng.normal(size=(rows, 1))
    log = Log(pendulum(mass, length), np.arange(rows) * 1e-3, q, v)
    kinetic, potential = log.energy
    assert np.allclose(kinetic, 0.5 * mass * length**2 * v[:, 0] ** 2, rtol=1e-14, atol=0)
    assert np.allclose(potential, -mass * GRAVITY * length * np.cos(q[:, 0]), rtol=0, atol=1e-13)
    assert np.array_equal(log.total_energy, kinetic + potential)


@pytest.mark.parametrize("name", ROBOTS)
def test_quantities_are_those_of_dynamics_in_each_row(name):
    log = motion(name)
    dyn = log.dynamics
    for i in (0, 17, len(log) - 1):
        q, v = log.q[i], log.v[i]
        # a batch may add in another order than a single state
        assert np.allclose(log.com[i], dyn.com(q), rtol=0, atol=1e-14)
        assert np.allclose(log.momentum[i], dyn.momentum(q, v), rtol=1e-12, atol=1e-13)
        assert np.allclose([x[i] for x in log.energy], dyn.energy(q, v), rtol=1e-12, atol=1e-13)
        assert log.loop_gap[i] == pytest.approx(dyn.constraints.state(q).largest_violation, abs=1e-15)


def test_the_gap_of_an_open_loop_is_the_largest_of_its_conditions():
    log = motion("linkage")
    assert np.max(log.loop_gap) < 1e-13  # closed by projection
    opened = Log(log.model, log.t, log.q + np.array([0.01, 0.0, 0.0]), log.v, dynamics=log.dynamics)
    gaps = [log.dynamics.constraints.state(q).largest_violation for q in opened.q]
    assert np.min(gaps) > 1e-3
    assert np.allclose(opened.loop_gap, gaps, rtol=1e-12)


@pytest.mark.parametrize("name", ["arm", "floating", "linkage"])
def test_wrenches_take_external_and_contact_wrenches_into_account(name):
    log = motion(name)
    i = 7
    acting = {link: wrench[i] for link, wrench in log.applied.items()}
    single = log.dynamics.joint_wrenches(log.q[i], log.v[i], log.tau[i], acting)
    assert set(log.wrenches) == set(single)
    for joint, wrench in single.items():
        assert np.allclose(log.wrenches[joint][i], wrench, rtol=1e-9, atol=1e-10)
        assert (log.wrenches_unique[joint] == single.unique[joint]).all()


def pressed(log: Log, contact: str) -> Log:
    wrenches = {contact: log.contact_wrenches[contact]}
    more = {"contact_wrenches": wrenches, "contact_frames": log.contact_frames, "dynamics": log.dynamics}
    return Log(log.model, log.t, log.q, log.v, **more)


@pytest.mark.parametrize("name", ["arm", "floating", "mixed"])
def test_contact_wrenches_on_links_have_the_power_that_they_have_in_the_contacts(name):
    log = motion(name)
    dyn = log.dynamics
    only_heel = pressed(log, "heel")
    frame = log.contact_frames["heel"]
    for i in (0, 11, 40):
        T, V = dyn.pose(frame.link, log.q[i]), dyn.velocity(frame.link, log.q[i], log.v[i])
        speed = V[:3] + np.cross(V[3:], T[:3, :3] @ np.array(frame.xyz))
        power = log.contact_wrenches["heel"][i] @ [*speed, *V[3:]]
        own = only_heel.applied[frame.link][i] @ [*(T[:3, :3].T @ V[:3]), *(T[:3, :3].T @ V[3:])]
        assert own == pytest.approx(power, rel=1e-12, abs=1e-13)


def test_a_contact_between_links_acts_on_both_in_balance():
    log = motion("floating")
    both = pressed(log, "toe")
    frame = log.contact_frames["toe"]
    total = np.zeros(6)
    for link in (frame.link, frame.other):
        T = log.dynamics.pose(link, log.q[3])
        force, moment = (T[:3, :3] @ x for x in np.split(both.applied[link][3], 2))
        total += [*force, *(moment + np.cross(T[:3, 3], force))]  # about the world's origin
    assert np.allclose(total, 0.0, atol=1e-14)


def test_wrenches_need_all_that_acted_in_the_joints_of_loops_efforts_and_places_of_contacts():
    log = motion("linkage")
    pushed = Log(log.model, log.t, log.q, log.v, log.a, log.tau + 1.0, external=log.applied, dynamics=log.dynamics)
    log = motion("arm")
    silent = Log(log.model, log.t, log.q, log.v)
    homeless = Log(log.model, log.t, log.q, log.v, tau=log.tau, contact_wrenches={"toe": log.external["link_2"]})
    for one in (pushed, silent, homeless):
        with pytest.raises(InputError):
            _ = one.wrenches


@pytest.mark.parametrize("name", ROBOTS)
def test_between_two_rows_a_log_goes_through_both_and_meets_no_corner(name):
    log = motion(name)
    for i in (0, 5, len(log) - 1):
        q, v = log.at(log.t[i])
        assert np.array_equal(q, log.q[i])
        assert np.array_equal(v, log.v[i])
    h = 1e-7
    (before, _), (after, _) = log.at(log.t[5] - h), log.at(log.t[5] + h)
    # differences of positions 2e-7 apart keep about 8 digits
    slope = log.model.difference(before, after) / (2 * h)
    assert np.allclose(slope, log.v[5], atol=2e-2 * np.max(np.abs(log.v[5])))
    assert not log.model.position_problems(log.at(0.5 * (log.t[5] + log.t[6]))[0])


def test_a_steady_turn_of_a_floating_body_is_interpolated_exactly():
    builder = ada.Builder("body")
    builder.link("body", mass=1.0, inertia=np.eye(3))
    model = builder.build("floating")
    v = np.array([0.0, 0.0, 0.0, 0.3, -0.5, 0.2])
    t = np.array([0.0, 1.0])
    rows = np.array([model.integrate(model.neutral(), v, s) for s in t])
    q, _ = Log(model, t, rows, [v, v]).at(0.25)
    assert np.allclose(q, model.integrate(model.neutral(), v, 0.25), atol=1e-15)


def test_unusable_arguments_are_refused():
    model, log = robot("arm"), motion("arm")
    for refused in (
        lambda: Log(model, [0.0, 1.0], np.zeros((2, 2)), np.zeros((2, 3))),
        lambda: Log(model, [[0.0]], np.zeros((1, 3)), np.zeros((1, 3))),
        lambda: Log(model, [0.0], np.zeros((1, 3)), np.zeros((1, 3)), external={"link_0": np.zeros((1, 5))}),
        lambda: log[3],
        lambda: log.at(-0.1),
        lambda: log.at(5.0),
        lambda: log.at(np.nan),
        lambda: log.at(log.t[:2]),
        lambda: log[:0].at(0.0),
    ):
        with pytest.raises(InputError):
            refused()
