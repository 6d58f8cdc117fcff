# SPDX-License-Identifier: Apache-2.0
"""The pipeline of Awa 2009 (eqs. 3-46) against `Dynamics`, which shares no recursion with it, and its PID control."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import ada_dynamics as ada
from ada_experiments import awa_equations
from ada_experiments.awa_equations import FrameHistory, Samples
from ada_experiments.awa_simulators import SimulatorSettings, soles, walk_here, walk_there
from ada_experiments.awa_walk import FEET, Gains, SampledPid, Walk, khr1_walk, with_armature
from ada_experiments.settings import read_settings
from ada_tools.scenario.scenario import load

Array = NDArray[np.float64]
STATES = 6
# A dozen products of 4x4 matrices with entries up to some tens: 1e-14 is seen.
ROUNDING = 1e-11


def two_armed() -> ada.Model:
    """A body with two branches of three motors, each with a fixed hand; all numbers are random."""
    rng = np.random.default_rng(5)
    builder = ada.Builder("two_armed").link("trunk", 1.0, (0.1, 0.2, 0.3), (0.1, 0.2, 0.25, 0.01, 0.02, 0.03))
    for side in ("left", "right"):
        parent = "trunk"
        for i in range(4):
            name = f"{side}_{i}"
            A = rng.normal(size=(3, 3))
            builder.link(name, rng.uniform(0.1, 1.0), rng.normal(size=3) * 0.1, 0.01 * (A @ A.T + np.eye(3)))
            kind, axis = ("fixed", None) if i == 3 else ("revolute", rng.normal(size=3))
            place = rng.normal(size=3) * 0.2, rng.normal(size=3)
            builder.joint(f"joint_{name}", kind, parent, name, *place, axis=axis)
            parent = name
    return builder.build(base="floating")


class Case:
    """Random states of a model, and what the pipeline makes of them."""

    def __init__(self) -> None:
        rng = np.random.default_rng(1)
        self.model = two_armed()
        self.dynamics = ada.Dynamics(self.model)
        self.q = np.array([self.model.random_state(rng)[0] for _ in range(STATES)])
        self.v, self.a = rng.normal(size=(2, STATES, self.model.nv))
        self.motors = awa_equations.motors_of(self.model)
        samples = Samples(self.q[:, 7:], self.v[:, 6:], self.a[:, 6:])
        self.motions = awa_equations.motions_of(self.motors, samples, self.frame(self.model.root))
        self.loads = awa_equations.loads_of(self.motors, self.motions, np.array(self.model.gravity))

    def frame(self, link: str) -> FrameHistory:
        """T, V and A of a link from `Dynamics` (eqs. 16 and 28)."""
        T = self.dynamics.pose(link, self.q)
        velocity = self.dynamics.velocity(link, self.q, self.v)
        acceleration = self.dynamics.acceleration(link, self.q, self.v, self.a)
        p, w, wd = T[:, :3, 3], velocity[:, 3:], acceleration[:, 3:]
        V, A = np.zeros_like(T), np.zeros_like(T)
        V[:, :3, :3], A[:, :3, :3] = awa_equations.hat(w), awa_equations.hat(wd)
        V[:, :3, 3] = velocity[:, :3] - np.cross(w, p)
        A[:, :3, 3] = acceleration[:, :3] - np.cross(w, velocity[:, :3]) - np.cross(wd, p)
        return FrameHistory(T, V, A)


@pytest.fixture(scope="module")
def case() -> Case:
    return Case()


def test_motion_of_every_hand_equals_that_of_dynamics(case: Case) -> None:
    for motor, motion in zip(case.motors, case.motions, strict=True):
        if motor.link.endswith("_3"):  # which carry nothing: their tip is their origin
            wanted = case.frame(motor.link)
            assert np.allclose(motion.tip.T, wanted.T, atol=ROUNDING)
            assert np.allclose(motion.tip.V, wanted.V, atol=ROUNDING)
            assert np.allclose(motion.tip.A, wanted.A, atol=ROUNDING)


def test_torques_equal_inverse_dynamics(case: Case) -> None:
    u = np.array([load.u for motor, load in zip(case.motors, case.loads, strict=True) if motor.column is not None]).T
    assert np.allclose(u, case.dynamics.inverse(case.q, case.v, case.a)[:, 6:], atol=ROUNDING)


def test_load_of_the_body_is_the_wrench_on_the_floating_base(case: Case) -> None:
    T = case.dynamics.pose(case.model.root, case.q)
    back = np.swapaxes(T[:, :3, :3], 1, 2)
    whole = case.loads[0]
    about_origin = whole.moment - np.cross(T[:, :3, 3], whole.f)
    found = np.concatenate([np.einsum("nij,nj->ni", back, x) for x in (whole.f, about_origin)], axis=1)
    assert np.allclose(found, case.dynamics.inverse(case.q, case.v, case.a)[:, :6], atol=ROUNDING)


def test_momenta_add_up_to_the_momentum_of_the_robot(case: Case) -> None:
    P, L = (np.sum([getattr(load, name) for load in case.loads], axis=0) for name in "PL")
    momentum, com = case.dynamics.momentum(case.q, case.v), case.dynamics.com(case.q)
    assert np.allclose(P, momentum[:, :3], atol=ROUNDING)
    assert np.allclose(L - np.cross(com, P), momentum[:, 3:], atol=ROUNDING)


def test_pid_is_equation_1_on_a_ramp() -> None:
    T, c, steps = 1e-3, 0.2, 400
    pid = SampledPid(Gains(), T, 1)
    for k in range(steps + 1):
        u = pid.target_speed(np.array([c * k * T]))
    t = steps * T
    # The sum of k T over the samples is t (t + T) / 2.
    assert u[0] == pytest.approx(5.0 * (c * t + c * t * (t + T) / 2.0 / 0.5 + 0.1 * c), rel=1e-12)


@pytest.fixture(scope="module")
def khr1() -> ada.Model:
    return ada.load("khr1")


def test_khr1_settles_alike_in_both_simulators(khr1: ada.Model) -> None:
    pytest.importorskip("mujoco")
    scenario = load("A2").with_changes({"settings.rest": 0.0})
    chosen = read_settings(scenario, SimulatorSettings)
    model = with_armature(khr1, chosen.armature)
    whole = khr1_walk(model)
    walk = Walk(model, [0.0, 0.5], {"neck_yaw": [0.0, 0.0]})
    walk.frames[:] = whole.frames[0]
    contact = soles(model, chosen)
    ours, _ = walk_here(model, walk, contact, chosen)
    theirs = walk_there(model, walk, contact, chosen)
    assert np.array_equal(ours.t, theirs.t)
    assert np.abs(ours.angles - theirs.angles).max() < 5e-3
    assert np.abs(ours.q[:, 2] - theirs.q[:, 2]).max() < 1e-3
    weight = model.total_mass * 9.81
    for run in (ours, theirs):
        assert sum(run.smoothed(foot)[-1] for foot in FEET) == pytest.approx(weight, rel=0.02)


def test_the_papers_robot_has_the_parts_of_table_4(khr1: ada.Model) -> None:
    model = awa_equations.paper_robot(khr1)
    assert model.total_mass == pytest.approx(17 * 0.045 + 2 * 0.002 + 0.025, abs=1e-12)
    thigh, sole = model.links["left_thigh"], model.links["left_sole"]
    assert thigh.com == pytest.approx([0.0, 0.0, -0.0285])  # half of the way to the knee
    assert np.diag(thigh.inertia) == pytest.approx(
        0.045 / 12 * np.array([35**2 + 41**2, 21**2 + 41**2, 21**2 + 35**2]) * 1e-6
    )
    assert sole.mass == 0.002 and np.diag(sole.inertia)[2] == pytest.approx(0.002 / 12 * (0.08**2 + 0.045**2))
    assert model.joint_names == khr1.joint_names
