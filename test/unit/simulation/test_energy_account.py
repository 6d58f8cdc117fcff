# SPDX-License-Identifier: Apache-2.0
"""Energy drift is what no power accounts for: scipy integrates the powers; passive mechanisms keep their energy."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation
from tiers import nightly

import ada_dynamics as ada
from ada_dynamics.errors import IntegrationAccuracyWarning
from ada_dynamics.model.elements import Limits
from ada_dynamics.simulation import (
    CompiledController,
    Contact,
    ContactPoint,
    IntegrationError,
    JointServos,
    JointStops,
    Material,
    Simulation,
)
from ada_dynamics.simulation.forces import half_sine
from ada_dynamics.simulation.log import Log
from ada_dynamics.simulation.methods import METHODS, Method

DAMPING, FRICTION, LIMIT, SLIDES = (0.4, 0.05), (0.3, 0.1), 0.9, 0.01  # below SLIDES friction is as good as viscous


def arm(limits: Limits | None = None, losses: bool = True) -> ada.Model:
    """Two links that swing about y, damped, with friction."""
    b = ada.Builder("arm").link("base")
    for name, mass in (("upper", 2.0), ("lower", 1.0)):
        b.link(name, mass, (0.0, 0.0, -0.25), (0.02, 0.02, 0.01))
    for i, (name, parent, child, z) in enumerate((("shoulder", "base", "upper", 0), ("elbow", "upper", "lower", -0.5))):
        more: dict[str, Any] = {"damping": DAMPING[i], "friction": FRICTION[i]} if losses else {}
        b.joint(name, "revolute", parent, child, xyz=(0, 0, z), axis=(0, 1, 0), limits=limits or Limits(), **more)
    return b.build()


def pendulum(damping: float) -> ada.Model:
    b = ada.Builder("pendulum").link("base").link("bob", 2.0, (0.0, 0.0, -0.5), (0.1, 0.1, 0.1))
    return b.joint("pivot", "revolute", "base", "bob", axis=(0, 1, 0), damping=damping).build()


FREE = arm(losses=False)


def test_damping_and_friction_take_what_scipy_integrates_and_nothing_is_left():
    tau, start, end = np.array([1.5, -0.5]), np.array([1.2, -0.6]), 1.5
    plain = ada.Dynamics(FREE)

    def rate(_t: float, x: np.ndarray) -> np.ndarray:
        q, v = x[:2], x[2:4]
        damping, friction = np.array(DAMPING) * v, np.array(FRICTION) * v / np.sqrt(v**2 + SLIDES**2)
        a = plain.forward(q, v, tau - damping - friction)
        return np.array([*v, *a, damping @ v, friction @ v, tau @ v])

    exact = solve_ivp(rate, (0.0, end), [*start, *np.zeros(5)], method="DOP853", rtol=1e-11, atol=1e-12).y[:, -1]
    log = ada.Simulation(arm(), start, tau=tau, friction_speed=SLIDES, step=5e-4).run(end)
    np.testing.assert_allclose(log.q[-1], exact[:2], atol=1e-6)  # joints turn round four times, within 5 ms each
    account = log.balance.account
    wanted = dict(zip(("damping", "friction", "motors"), exact[4:], strict=True))
    for name, joules in wanted.items():
        assert account[name] == pytest.approx(joules, rel=1e-4), name
    lost = log.total_energy[0] - log.total_energy[-1]
    assert lost + wanted["motors"] > 1.0  # so much that it would be a drift of tens of per cent
    assert log.energy_drift < 1e-4


def test_without_friction_the_balance_of_a_damped_motion_closes_to_the_order_of_the_method():
    log = ada.Simulation(pendulum(0.5), [1.0]).run(3.0)
    assert log.total_energy[0] - log.total_energy[-1] > 3.0
    assert log.energy_drift < 1e-11


@pytest.mark.parametrize("integrator", ["rkf45", "dop853"])
def test_stops_that_are_met_between_two_rows_are_in_the_balance(integrator):
    model = arm(Limits(-LIMIT, LIMIT))
    log = ada.Simulation(
        model, [0.5, -0.5], [6.0, -9.0], stops=JointStops.for_model(model, 1e-3), integrator=integrator
    ).run(1.0)
    assert np.max(np.abs(log.q)) > LIMIT
    assert abs(log.balance.account["stops"]) > 0.1
    assert log.energy_drift < 2e-4


@pytest.mark.parametrize("law", ["servo", "compiled"])
def test_motors_that_act_between_the_rows_are_integrated_as_such(law):
    model = FREE

    def moved(step: float) -> Log:
        if law == "servo":
            sim = ada.Simulation(model, [0.3, 0.2], servos=JointServos(bandwidth=10.0), step=step)
            sim.servos.hold(np.array([0.8, -0.4]))
        else:
            spring = CompiledController(lambda t, q, v: [20.0 * (0.9 - x) for x in q])
            sim = ada.Simulation(model, [0.3, 0.2], controller=spring, step=step)
        return sim.run(1.0)

    log = moved(1e-3)
    assert np.max(np.abs(log.balance.work["input"])) > 1.0
    assert log.energy_drift < 5e-5  # efforts change by a tenth from row to row at first
    assert moved(2.5e-4).energy_drift < 0.1 * log.energy_drift or log.energy_drift < 1e-9


def box(step: float, log_every: int = 1) -> ada.Simulation:
    b = ada.Builder("box").link("box", 2.0, inertia=(0.02, 0.03, 0.04))
    model = b.build(base="floating")
    corners = [(x, y, z) for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.05, 0.05)]
    contact = Contact(
        points=[ContactPoint(f"corner_{i}", "box", c) for i, c in enumerate(corners)],
        material=Material(2.5e5, 19.0, slip_speed=2e-3),  # 25 times stiffer than an explicit step follows
    )
    q = np.array([0.0, 0.0, 0.3, *Rotation.from_euler("xyz", [0.3, 0.2, 0.1]).as_quat()])
    v = np.array([0.5, 0.0, 0.0, 1.0, 2.0, 0.0])
    return ada.Simulation(model, q, v, contact=contact, integrator="semi_implicit", step=step, log_every=log_every)


def test_the_ground_takes_what_a_box_has_lost_when_it_lies():
    log = box(1e-3).run(2.0)
    assert np.max(np.abs(log.v[-1])) < 1e-2
    lost = log.total_energy[0] - log.total_energy[-1]
    assert lost == pytest.approx(2.0 * 9.81 * (0.3 - 0.05) + 0.5 * 2.0 * 0.25 + 0.5 * (0.02 + 0.03 * 4.0), rel=1e-3)
    assert log.balance.account["contact"] == pytest.approx(lost, rel=0.02)  # by the corners' stiff knocks, at 1 ms
    drifts = [box(step).run(2.0).energy_drift for step in (1e-3, 2.5e-4)]
    assert drifts[0] < 0.02
    assert drifts[1] < 0.5 * drifts[0]  # first order, through knocks


def test_contact_wrenches_of_semi_implicit_steps_are_those_that_moved_the_body():
    log = box(1e-3).run(0.6)
    force = sum(wrench[:-1, :3] for wrench in log.contact_wrenches.values())
    R = Rotation.from_quat(log.q[:-1, 3:7])
    a, v = log.a[:-1], log.v[:-1]
    needed = 2.0 * (R.apply(a[:, :3] + np.cross(v[:, 3:], v[:, :3])) + np.array([0.0, 0.0, 9.81]))
    assert np.max(np.abs(force)) > 100.0
    np.testing.assert_allclose(force, needed, atol=1e-8 * np.max(np.abs(force)))


def shaken(duration: float = 0.2, **options: Any) -> Log:
    """An arm whose efforts change with every call of its controller."""
    model = FREE
    return ada.Simulation(model, [0.5, 0.2], controller=lambda t, q, v: 40.0 * np.sin(60.0 * t) - v, **options).run(
        duration
    )


SLOW = {"control_period": 0.01}  # ten steps
KNOWN: dict[str, Callable[[], Log]] = {
    "each step": shaken,
    "some rows": lambda: shaken()[20:90],
    "a call every two steps": lambda: shaken(control_period=2e-3),
    "a row for each call": lambda: shaken(log_every=10, **SLOW),
    "two rows for each call": lambda: shaken(log_every=5, **SLOW),
    "rows left out that no call had": lambda: shaken(**SLOW)[::5],
    "adaptive": lambda: shaken(integrator="dop853", step=0.01, **SLOW),
    "constant efforts": lambda: ada.Simulation(arm(), [0.5, 0.2], tau=[1.0, 0.0], log_every=3).run(0.2)[::2],
}
UNKNOWN: dict[str, Callable[[], Log]] = {
    "rows further apart than calls": lambda: shaken(log_every=10),
    "rows left out": lambda: shaken()[::10],
    "calls within steps": lambda: shaken(control_period=0.25e-3),
    "calls between steps": lambda: shaken(control_period=1.5e-3),
    "calls within adaptive steps": lambda: shaken(integrator="dop853", step=0.02, control_period=1e-3),
    "rows further apart than slow calls": lambda: shaken(log_every=20, **SLOW),
    "rows left out of a log from elsewhere": lambda: told_again(shaken())[::10],
}


def told_again(log: Log) -> Log:
    return Log(log.model, log.t, log.q, log.v, log.a, log.tau)


@pytest.mark.parametrize("case", KNOWN)
def test_efforts_that_hold_from_row_to_row_are_accounted_for_to_the_order_of_the_method(case):
    log = KNOWN[case]()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert log.energy_drift < 1e-5 if case == "constant efforts" else log.energy_drift < 1e-8
    assert abs(log.balance.account["motors"]) > 0.05


@pytest.mark.parametrize("case", UNKNOWN)
def test_efforts_that_change_between_the_rows_make_the_account_unknown(case):
    log = UNKNOWN[case]()
    with pytest.warns(ada.UnknownWorkWarning):
        assert np.isnan(log.energy_drift)
    assert np.isnan(log.balance.account["motors"])


def test_a_run_that_goes_on_between_two_calls_knows_that_it_does():
    model = FREE
    sim = ada.Simulation(model, [0.5, 0.2], controller=lambda t, q, v: 40.0 * np.sin(60.0 * t) - v)
    sim.run(0.01)
    assert sim.run(0.1).energy_drift < 1e-8
    sim.run(0.0005)
    with pytest.warns(ada.UnknownWorkWarning):
        assert np.isnan(sim.run(0.1).energy_drift)


def test_work_is_known_up_to_the_first_change_that_no_row_shows():
    log = shaken(control_period=1.5e-3)
    with pytest.warns(ada.UnknownWorkWarning):
        work = log.balance.work["input"]
    assert np.isfinite(work[:2]).all() and np.isnan(work[2:]).all()


def bounced(**options: Any) -> Log:
    model = arm(Limits(-LIMIT, LIMIT))
    return ada.Simulation(model, [0.5, -0.5], [6.0, -9.0], stops=JointStops.for_model(model, 1e-3), **options).run(1.0)


def servoed(log_every: int) -> Log:
    sim = ada.Simulation(FREE, [0.3, 0.2], servos=JointServos(bandwidth=10.0), log_every=log_every)
    sim.servos.hold(np.array([0.8, -0.4]))
    return sim.run(1.0)


def hit(duration: float, log_every: int) -> Log:
    impact = half_sine("lower", [5.0 / duration, 0, 0, 0, 0, 0], 0.1003, duration)
    return ada.Simulation(FREE, [0.3, 0.2], external=[impact], log_every=log_every).run(0.3)


def braked(log_every: int) -> Log:
    return ada.Simulation(pendulum(100.0), [1.0], [5.0], log_every=log_every).run(0.1)


@pytest.mark.parametrize(
    ("make", "whose"),
    [
        (lambda: box(1e-3, 5).run(1.0), ("contact",)),
        (lambda: box(1e-3).run(1.0)[::10], ("contact",)),
        (lambda: bounced(log_every=10), ("stops", "damping", "friction")),
        (lambda: servoed(50), ("motors",)),
        (lambda: hit(5e-3, 10), ("external",)),
        (lambda: hit(5e-4, 1), ("external",)),
        (lambda: braked(10), ("damping", "friction")),
    ],
)
def test_what_acts_in_steps_without_rows_makes_its_own_account_unknown(make, whose):
    with pytest.warns(ada.UnknownWorkWarning):
        balance = make().balance
    assert np.isnan(balance.worst)
    assert {name for name, joules in balance.account.items() if np.isnan(joules)} == {*whose, "unexplained"}


MORE = "four_bar watt_six_bar stephenson_six_bar bennett parallel_gripper delta hexa cassie_leg"
MECHANISMS = ["five_bar", "slider_crank", *map(nightly, MORE.split())]


@pytest.mark.parametrize("step", [1e-3, 2e-3])
@pytest.mark.parametrize("name", MECHANISMS)
def test_a_passive_mechanism_keeps_its_energy_with_semi_implicit_steps(name: str, step: float) -> None:
    """For 60 s within 2 % of what moves; it may lose more, by damping, but not gain it."""
    sim = Simulation(model := ada.load(name), integrator="semi_implicit", step=step, log_every=10)
    # off the symmetric motions, which pass through singular configurations
    sim.reset(ada.close_loops(model, model.integrate(sim.q, 1e-6 * np.random.default_rng(0).normal(size=model.nv))))
    log = sim.run(60.0)
    total = log.energy.kinetic + log.energy.potential
    swing = max(float(log.energy.kinetic.max()), float(np.ptp(log.energy.potential)))
    assert total.max() - total[0] < 0.02 * swing
    assert np.any([model.damping, model.friction, model.stiffness]) or total[0] - total.min() < 0.02 * swing


def gaining(name: str) -> tuple[Method, float]:
    """An integrator that adds energy, and its step [s]: without stage coefficients it is the explicit Euler method."""
    method = METHODS[name]
    if method.is_direct:
        return method, 2e-2  # links of the chain turn by up to a radian in a step
    errors = None if method.errors is None else np.zeros_like(method.errors)
    return replace(method, A=0.0 * method.A, errors=errors), 5e-3


WAYS: dict[str, Callable[[Simulation], object]] = {
    "run": lambda sim: sim.run(2000 * sim.step_length),
    "step": lambda sim: [sim.step(500) for _ in range(4)],
    "motions": lambda sim: sim.batch(sim.q[None]).run(2000),
    "rollout": lambda sim: sim.rollout(sim.q[None], None, 2000 * sim.step_length),
}


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("integrator", METHODS)
def test_a_motion_that_gains_energy_raises_a_warning(integrator: str, how: str) -> None:
    method, step = gaining(integrator)
    sim = Simulation(ada.load("planar_4r"), [1.0, 0.5, 0.3, 0.2], integrator=method, step=step)
    with pytest.warns(IntegrationAccuracyWarning):
        WAYS[how](sim)


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("integrator", METHODS)
@pytest.mark.filterwarnings("error::ada_dynamics.errors.IntegrationAccuracyWarning")
def test_a_motion_that_keeps_its_energy_raises_no_warning(integrator: str, how: str) -> None:
    WAYS[how](Simulation(ada.load("planar_4r"), [1.0, 0.5, 0.3, 0.2], integrator=integrator, step=1e-3))


@pytest.mark.filterwarnings("error::ada_dynamics.errors.IntegrationAccuracyWarning")
def test_motions_at_rest_and_near_turning_points_gain_nothing() -> None:
    """Pendulums of all amplitudes, looked at in all phases: what there is beside the work is bounded."""
    sim = Simulation(ada.planar_chain(1), integrator="semi_implicit", step=2e-3)
    many = sim.batch(np.linspace(0.0, np.pi, 200)[:, None])
    for _ in range(10):
        many.run(1000)


@pytest.mark.filterwarnings("error::ada_dynamics.errors.IntegrationAccuracyWarning")
def test_a_controlled_arm_in_its_stops_gains_nothing_but_the_work_of_its_motors() -> None:
    arm = ada.load("pa10")
    stiffness, q = np.array([40.0, 40, 20, 20, 1, 1, 0.05]), 1.5 * np.eye(arm.nv)[1]
    law = lambda t, q, v: stiffness * (0.3 - q - 0.2 * v)  # noqa: E731
    for more in ({"controller": law, "control_period": 0.01}, {"q": q, "stops": JointStops()}):
        assert np.max(np.abs(Simulation(arm, **more).run(0.5).v)) > 0.01


def test_a_run_that_cannot_go_on_has_time_joint_and_the_log_up_to_then() -> None:
    sim = Simulation(ada.load("five_bar"), integrator="rk4", step=0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(IntegrationError) as caught:
            sim.run(60.0)
    problem = caught.value
    assert problem.joint in sim.model.joint_names
    assert problem.log.t[-1] == pytest.approx(problem.time, abs=0.11)
    assert np.isfinite(problem.log.q).all()
