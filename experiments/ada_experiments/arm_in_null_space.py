# SPDX-License-Identifier: Apache-2.0
"""R1: the arm of a free-flying robot moves without moving its base (reaction null space; Takahashi 2012, sec. 6.1)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np

from ada_controllers import JointReference, State, make
from ada_controllers.balance import AnkleHipModel
from ada_controllers.in_simulation import InSimulation
from ada_controllers.reaction_null_space import ReactionNullSpace
from ada_dynamics.arrays import Array
from ada_dynamics.drawing.panels import Panel
from ada_dynamics.model.model import Model
from ada_dynamics.robots.load import load
from ada_dynamics.simulation import Log, Simulation
from ada_experiments.pictures import picture
from ada_experiments.settings import read_settings
from ada_tools.scenario.registry import Outcome, Progress, Quantity, experiment
from ada_tools.scenario.scenario import Scenario

WAYS = ("null space", "null space, sampled", "springs and dampers")


class NullSpaceSettings(NamedTuple):
    """Settings of the scenario."""

    robots: tuple[str, ...]
    start: Annotated[tuple[float, ...], "rad"]  # of the four joints
    goal: Annotated[tuple[float, ...], "rad"]
    stiffness: Annotated[float, "1/s^2"]
    damping: Annotated[float, "1/s"]
    duration: Annotated[float, "s"]
    step: Annotated[float, "s"]


class NullSpaceMotion(NamedTuple):
    """Effect of an arm motion on the base."""

    log: Log  # motion
    base: float  # largest displacement or rotation of the base [m, rad]
    momentum: float  # largest momentum of the base, relative to the largest sum over all links
    arm: float  # largest joint rotation [deg]


@experiment("arm_in_null_space")
def arm_in_null_space(scenario: Scenario, output: Path, progress: Progress) -> Outcome:
    """Move the arms by the reaction null space, continuous and sampled, and by springs only."""
    chosen = read_settings(scenario, NullSpaceSettings)
    found: dict[str, dict[str, NullSpaceMotion]] = {}
    for i, name in enumerate(chosen.robots):
        model = load(name)
        q = np.concatenate([model.neutral()[:7], chosen.start])
        own = found[name] = {}
        for j, way in enumerate(WAYS):
            progress((i + j / len(WAYS)) / len(chosen.robots), f"{name}, {way}")
            own[way] = moved(_simulation(model, q, chosen, way).run(chosen.duration))
    return Outcome([], [_figure(found, output)], quantities=_quantities(found))


def null_vector_off() -> dict[str, Quantity]:
    """Fraction of the momentum along x that n_1 of eq. 6.11, as printed, and eq. 6.12 with it corrected do not cancel.

    1 is that of the ankle, or the hip, alone.
    """
    own = AnkleHipModel(m1=1.4, lg1=0.12, l1=0.2, mh=0.4, m2=4.6, lg2=0.1)  # dimensions of HOAP-2
    worst = ratio = 0.0
    for angles in np.random.default_rng(0).uniform(-0.5, 0.5, (50, 3)).tolist():
        by_ankle, _, by_hip = own.coupling(angles)
        (n11, _, _), _ = own.motions(angles)
        (sa, s1, s2), (ca, _, c2) = np.sin(angles), np.cos(angles)
        printed = (own.m1 * own.lg1 + (own.mh + own.m2) * own.l1) * ca + own.m2 * own.lg2 * ca * c2 - sa * s1 * s2
        worst = max(worst, abs(by_ankle * n11 + by_hip * printed) / abs(by_ankle * n11))
        ratio = max(ratio, abs(by_ankle * own.ankle_per_hip(angles) + by_hip) / abs(by_hip))
    return {"null_vector_off": Quantity(float(worst)), "ratio_off": Quantity(float(ratio))}


def _simulation(model: Model, q: Array, chosen: NullSpaceSettings, way: str) -> Simulation:
    goal, step, stiffness, damping = (
        JointReference(np.array(chosen.goal)),
        chosen.step,
        chosen.stiffness,
        chosen.damping,
    )
    if way == "springs and dampers":
        # similar speed: the inertia of the links is about 10 kg m²
        springs = {"gain": [10.0 * stiffness], "integral_time": [0.0], "derivative_time": [damping / stiffness]}
        return InSimulation(make("pid", model, springs), goal, period=step).simulation(model, q, step=step)
    controller = ReactionNullSpace(model, {"stiffness": [stiffness], "damping": [damping]})
    if way == "null space, sampled":
        return InSimulation(controller, goal, period=step).simulation(model, q, step=step)
    controller.reset(State(q, np.zeros(model.nv)), 0.0)
    return Simulation(model, q, step=step, controller=controller.continuous(goal))


def moved(log: Log) -> NullSpaceMotion:
    """Displacements of the base and the arm."""
    model = log.model
    q, start = log.q, log.q[0]
    turned = 2.0 * np.arcsin(np.clip(np.linalg.norm(q[:, 3:6], axis=1), 0.0, 1.0))  # from the identity
    away = np.linalg.norm(q[:, :3] - start[:3], axis=1)
    sizes = {name: momentum_of(log, name) for name in model.links if model.links[name].mass}
    return NullSpaceMotion(
        log,
        float(max(turned.max(), away.max())),
        float(sizes[model.root].max() / np.sum(list(sizes.values()), axis=0).max()),
        float(np.degrees(np.abs(q[:, 7:] - start[7:]).max())),
    )


def momentum_of(log: Log, name: str) -> Array:
    """Magnitude of the linear momentum of a link over time [kg m/s]."""
    link = log.model.links[name]
    V, R = log.dynamics.velocity(name, log.q, log.v), log.dynamics.pose(name, log.q)[:, :3, :3]
    return np.asarray(link.mass * np.linalg.norm(V[:, :3] + np.cross(V[:, 3:], R @ link.com), axis=1))


def _quantities(found: dict[str, dict[str, NullSpaceMotion]]) -> dict[str, Quantity]:
    exact, sampled, springs = (tuple(own[way] for own in found.values()) for way in WAYS)
    return {
        "base_moved": Quantity(max(x.base for x in exact), "m, rad"),
        **null_vector_off(),
        "arm_motion": Quantity(min(x.arm for x in exact), "deg"),
        "base_momentum": Quantity(max(x.momentum for x in exact)),
        "base_moved_by_samples": Quantity(max(x.base for x in sampled), "m, rad"),
        "base_moved_by_springs": Quantity(min(x.base for x in springs), "m, rad"),
    }


def _figure(found: dict[str, dict[str, NullSpaceMotion]], output: Path) -> Path:
    name, own = next(iter(found.items()))
    log = own[WAYS[0]].log
    curves = {way: np.maximum(np.linalg.norm(x.log.q[:, :3] - x.log.q[0, :3], axis=1), 1e-18) for way, x in own.items()}
    joints = {f"joint {i + 1}": np.degrees(log.q[:, 7 + i]) for i in range(4)}
    panels = [
        Panel.of(f"{name}: joints", "[deg]", log.t, joints),
        Panel.of(f"{name}: base", "displacement [m]", log.t, curves, is_logarithmic=True),
    ]
    return picture(panels, output / "r1_arm_and_base.png", "The arm moves, the base does not", 2)
