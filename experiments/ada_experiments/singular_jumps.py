# SPDX-License-Identifier: Apache-2.0
"""N2: jumps at singular configurations of closed chains are numerical (Takahashi 2012, secs. 3.3 and 8.2, 6).

Mechanisms move through a configuration in which their constraints, or those of the platform for locked motors, lose
rank. Ten steps of the Runge-Kutta method of order 4 lead through it; the start is chosen so that one stage is evaluated
at a given distance in time from the singular configuration. The velocities after it are compared with those of steps
of 0.1 ms; T3.4 compares the rhombus with its closed form, a test the two feet with equal legs. Accelerations are those
of several methods: the literal equations of the document (equal to the KKT system), the same with Baumgarte's
stabilization, the proximal solver of pinocchio, MuJoCo (with its own integrator of order 4), and this library. Mass
matrix, bias and constraints of the first two are those of pinocchio.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np

from ada_dynamics.algorithms.kinematics import position_rates
from ada_dynamics.arrays import Array
from ada_dynamics.drawing.panels import Curve, Panel
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import AdaError
from ada_dynamics.model.builder import Builder
from ada_dynamics.model.edit.joints import reduce
from ada_dynamics.model.model import Model, link_poses
from ada_dynamics.robots.catalogue import start_of
from ada_dynamics.robots.load import load, with_loops
from ada_dynamics.robots.mechanisms import hexa
from ada_dynamics.simulation import Simulation
from ada_dynamics.simulation.integrator import explicit_step
from ada_dynamics.simulation.methods import METHODS
from ada_experiments.hand_on_wall import fixed_to_world
from ada_experiments.mujoco_twin import MujocoModel
from ada_experiments.pictures import exponent, picture
from ada_experiments.pinocchio_model import PinocchioModel
from ada_tools.scenario.registry import Outcome, Progress, Quantity, experiment
from ada_tools.scenario.scenario import Scenario, settings_of

INDEPENDENT = 1e-8  # relative singular value of dependent constraints
OURS = "this library"
STEPS = 10  # through the singular configuration
PLANAR = ("rhombus", "slider-crank", "two feet")
FINE = 1e-4  # [s] steps of the reference
LEG = ("hip_pitch", "knee", "ankle_pitch")

Solver: TypeAlias = Callable[[Array, Array], Array]  # accelerations of a state


class Passage(NamedTuple):
    """A mechanism with closed loops, and the start of a motion through a singular configuration."""

    model: Model
    q: Array
    v: Array
    measure: Callable[[Array], float]  # of a configuration: zero where it is singular
    until: float  # [s]: the measure changes its sign once before

    def state(self, t: float) -> tuple[Array, Array]:
        """Configuration and velocities at a time, by short steps of this library."""
        count = max(1, round(t / FINE))
        log = Simulation(self.model, self.q, self.v, integrator="rk4", step=t / count, stops=None, log_every=count).run(
            t
        )
        return log.q[-1], log.v[-1]

    def singular_time(self) -> float:
        """Time of the singular configuration [s]."""
        from scipy.optimize import brentq

        return float(brentq(lambda t: self.measure(self.state(t)[0]), 0.1 * self.until, self.until, xtol=1e-14))


def passages() -> dict[str, Passage]:
    """Rhombus, slider-crank with equal links, a humanoid that straightens its knees, and a 6-RUS platform."""
    table, still = hexa(), np.zeros(3)
    return {
        "rhombus": Passage(load("closed_4r"), np.radians((60.0, 30.0, 150.0)), still, lambda q: float(q[1]), 0.6),
        "slider-crank": _slider_crank(),
        "two feet": _on_both_feet(),
        "6-RUS": _platform(table.model, np.asarray(table.q)),
    }


def _slider_crank() -> Passage:
    """Crank and rod of 0.5 m that swing below the pivot, with a slider at the end of the rod."""
    builder = Builder("equal_slider_crank").link("base").link("slider", 0.8, inertia=3 * (1e-3,))
    builder.joint("slide", "prismatic", "base", "slider", axis=(1, 0, 0))
    for name, parent, at in (("crank", "base", 0.0), ("rod", "crank", 0.5)):
        builder.link(name, 1.0, (0.0, 0.0, 0.25), (0.25 / 12.0, 0.25 / 12.0, 1e-4))
        builder.joint(f"{name}_joint", "revolute", parent, name, (0.0, 0.0, at), axis=(0, 1, 0))
    builder.loop("pin", "revolute", "rod", "slider", (0.0, 0.0, 0.5), axis=(0, 1, 0))
    model, angle = builder.build(), np.pi - 0.9
    q = np.array([np.sin(angle), angle, np.pi - 2.0 * angle])  # both links at the same angle to the vertical
    return Passage(model, q, np.zeros(3), lambda q: float(q[1] - np.pi), 0.9)


def _on_both_feet() -> Passage:
    """HOAP-2 with hips, knees and ankles in the sagittal plane; it jumps up from bent knees, with fixed soles."""
    sides = ("right", "left")
    model = reduce(load("hoap2"), ["root_joint", *(f"{side}_{joint}" for side in sides for joint in LEG)])
    q, v, start = model.neutral(), np.zeros(model.nv), start_of("hoap2")
    assert start is not None
    q[:7] = start[:7]
    for side in sides:
        for joint, share in zip(LEG, (-0.5, 1.0, -0.5), strict=True):
            q[model.q_index(f"{side}_{joint}")] = 0.4 * share  # [rad]
            v[model.v_index(f"{side}_{joint}")] = -5.0 * share  # [rad/s]
    poses = link_poses(model, q)
    loops = [fixed_to_world(link, poses[link]) for link in (f"{side}_sole" for side in sides)]
    closed, knee = with_loops(model, loops), model.q_index("right_knee").start
    state = Dynamics(closed, q0=q).project_to_constraints(q, v)
    return Passage(closed, *state, lambda q: float(q[knee]), 0.12)


def _platform(model: Model, q: Array) -> Passage:
    """HEXA whose platform turns about the vertical; singular where locked motors would not hold it."""
    v = np.zeros(model.nv)
    v[model.v_index("platform").start + 5] = 8.0
    motors = np.concatenate([np.arange(model.nv)[model.v_index(name)] for name in model.actuated])
    others = np.setdiff1d(np.arange(model.nv), motors)
    dynamics = Dynamics(model, q0=q)
    size = float(np.linalg.norm(dynamics.constraints.jacobian(q), 2))

    def measure(q: Array) -> float:
        return float(np.linalg.det(dynamics.constraints.jacobian(q)[:, others] / size))

    return Passage(model, *dynamics.project_to_constraints(q, v), measure, 0.31)


# --- methods --------------------------------------------------------------------------------------------------------
def literal(passage: Passage, stabilization: float = 0.0) -> Solver:
    """Eqs. 3.25-3.28: λ = -(J M⁻¹ Jᵀ)⁻¹ (J a_0 + γ + 2 α J v + α² g), with rows that are independent at the start."""
    from scipy.linalg import qr

    other = PinocchioModel(passage.model)
    constraints = other.loop_constraints
    J = constraints.jacobian(passage.q)
    order = qr(J.T, pivoting=True)[2]
    rows = np.sort(order[: np.linalg.matrix_rank(J, tol=INDEPENDENT * np.linalg.norm(J, 2))])

    def accelerations(q: Array, v: Array) -> Array:
        J, M = constraints.jacobian(q)[rows], other.mass_matrix(q)
        free = np.linalg.solve(M, -other.bias(q, v))
        drift = constraints.gamma(q, v)[rows] + 2.0 * stabilization * J @ v
        drift += stabilization**2 * constraints.closing(q)[rows]
        spread = np.linalg.solve(M, J.T)
        return np.asarray(free - spread @ np.linalg.solve(J @ spread, J @ free + drift))

    return accelerations


def proximal(passage: Passage) -> Solver:
    """pinocchio's constraintDynamics with its proximal iterations."""
    other = PinocchioModel(passage.model)
    if None in other.constraints.values():
        raise AdaError("pinocchio has no such constraint")
    pin, settings = other.pin, other.pin.ProximalSettings(1e-12, 1e-10, 20)
    models, datas = other.new_constraints()
    still = np.zeros(other.model.nv)

    def accelerations(q: Array, v: Array) -> Array:
        x, w = other.position(q), other.velocity(v)
        return other.own_velocity(pin.constraintDynamics(other.model, other.data, x, w, still, models, datas, settings))

    return accelerations


SOLVERS: dict[str, Callable[[Passage, float], Solver]] = {
    "literal": lambda passage, step: literal(passage),
    "Baumgarte": lambda passage, step: literal(passage, 0.2 / step),
    "pinocchio, proximal": lambda passage, step: proximal(passage),
}


def integrated(model: Model, q: Array, v: Array, step: float, solver: Solver) -> tuple[Array, Array]:
    """State after STEPS steps with a method's accelerations."""

    def rate(x: Array, t: float) -> Array:
        q, v = x[: model.nq], x[model.nq :]
        return np.concatenate([position_rates(model.tree, q.tolist(), v.tolist()), solver(q, v)])

    x = np.concatenate([q, v])
    for _ in range(STEPS):
        x = explicit_step(METHODS["rk4"], rate, x, 0.0, step)
    return x[: model.nq], x[model.nq :]


def by_mujoco(model: Model, q: Array, v: Array, step: float) -> tuple[Array, Array]:
    """State after STEPS steps of MuJoCo's Runge-Kutta method, with its stiffest constraints for the step."""
    other = MujocoModel(model)
    other.model.opt.integrator, other.model.opt.timestep = other.mujoco.mjtIntegrator.mjINT_RK4, step
    other.model.eq_solref[:, 0] = 2.0 * step
    other.set_state(q, v)
    other.mujoco.mj_step(other.model, other.data, nstep=STEPS)
    return other.state()


def velocity_error(passage: Passage, at: float, method: str, step: float, distance: float) -> float:
    """Relative error of the velocities after the passage; infinite if the method fails.

    Args:
        passage: the motion.
        at: time of the singular configuration [s].
        method: name of the method.
        step: of the integration [s].
        distance: from the singular configuration to the nearest stage before it [s].
    """
    model, begin = passage.model, at - distance - STEPS // 2 * step
    q, v = passage.state(begin)
    try:
        if method == OURS:
            log = Simulation(model, q, v, integrator="rk4", step=step, stops=None).run(STEPS * step)
            found = log.v[-1]
        elif method == "MuJoCo":
            found = by_mujoco(model, q, v, step)[1]
        else:
            found = integrated(model, q, v, step, SOLVERS[method](passage._replace(q=q, v=v), step))[1]
    except (AdaError, np.linalg.LinAlgError):
        return float("inf")
    wanted = passage.state(begin + STEPS * step)[1]
    return float(np.max(np.abs(found - wanted)) / np.max(np.abs(wanted)))


@experiment("singular_jumps")
def singular_jumps(scenario: Scenario, output: Path, progress: Progress) -> Outcome:
    """Lead all mechanisms through by all methods, at several distances and with several steps."""
    part = settings_of(scenario, ("steps", "distances"))
    steps, distances = (part.vector(key, ("s",) * len(part.items(key))) for key in ("steps", "distances"))
    methods, every = (*SOLVERS, "MuJoCo", OURS), passages()
    found: dict[tuple[str, str, float, float], float] = {}
    cases = [(steps[-1], distance) for distance in distances] + [(step, distances[-1]) for step in steps[:-1]]
    for i, (name, passage) in enumerate(every.items()):
        at = passage.singular_time()
        for j, method in enumerate(methods):
            progress((i + j / len(methods)) / len(every), f"{name}, {method}")
            for step, distance in cases:
                found[name, method, step, distance] = velocity_error(passage, at, method, step, distance)
    output.mkdir(parents=True, exist_ok=True)
    columns = ("mechanism", "method", "step [s]", "distance [s]", "relative error of the velocities after it")
    rows = [(*key, error) for key, error in found.items()]
    with (output / "singular_jumps.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([columns, *rows])
    nearest = {(name, method): found[name, method, steps[-1], distances[-1]] for name in every for method in methods}
    own = [found["rhombus", OURS, step, distances[-1]] for step in steps]
    literal_errors = [nearest[name, "literal"] for name in PLANAR]
    quantities = {
        "our_error": Quantity(max(nearest[name, OURS] for name in PLANAR)),
        "our_order": Quantity(exponent(own[:-1], steps[:-1])),
        "literal_error": Quantity(min(error if np.isfinite(error) else np.inf for error in literal_errors)),
        "platform_error": Quantity(max(nearest["6-RUS", method] for method in methods if method != "MuJoCo")),
    }
    panels = []
    for name in every:
        over_distance = {m: [found[name, m, steps[-1], d] for d in distances] for m in methods}
        panels.append(_panel(f"{name}: by distance", np.log10(distances), over_distance, "distance, log10 of [s]"))
        over_step = {m: [found[name, m, step, distances[-1]] for step in steps] for m in methods}
        panels.append(_panel(f"{name}: by step", np.log10(steps), over_step, "step, log10 of [s]"))
    figures = [picture(panels, output / "singular_jumps.png", "Error of the velocities after the passage", 2)]
    return Outcome([], figures, quantities=quantities)


def _panel(title: str, x: Array, curves: dict[str, list[float]], xlabel: str) -> Panel:
    series = [Curve(name, x, np.where(np.isfinite(values), values, np.nan)) for name, values in curves.items()]
    return Panel(title, "relative error", series, xlabel=xlabel, is_logarithmic=True)
