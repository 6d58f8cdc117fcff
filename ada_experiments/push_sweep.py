# SPDX-License-Identifier: Apache-2.0
"""T6.4: the largest push that each strategy survives, by where and from which side it comes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ada_controllers.balance import TRUNK, Balance
from ada_controllers.in_simulation import InSimulation
from ada_dynamics.arrays import Array
from ada_dynamics.drawing.panels import Panel, Series
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.model.edit.poses import link_poses
from ada_dynamics.simulation import Simulation
from ada_dynamics.simulation.profiles import half_sine
from ada_experiments.pictures import picture
from ada_experiments.pushed_humanoid import STANDING, robot, survives
from ada_experiments.settings import settings_of
from ada_tools.scenario import units
from ada_tools.scenario.registry import Claim, Outcome, Progress, Table, experiment
from ada_tools.scenario.scenario import Scenario

_KNOWN = ("points", "largest", "resolution", "duration", "horizon")
STRATEGIES = {"springs": "springs alone", "upper_body_rotation": "upper-body rotation", "combined": "combined"}
SIDES = {"from behind": 1.0, "from the front": -1.0}
_START = 0.05  # [s]
_STEP = 2e-3  # [s], of the simulation and of its control
_EARLY = 0.25  # [s]: most pushes that are too hard have failed by then


class Settings(NamedTuple):
    """Settings that the scenario chooses."""

    points: tuple[str, ...]  # links at whose origins it is pushed
    largest: float  # impulse that is tried [N s]
    resolution: float  # [N s]
    duration: float  # of a push [s]
    horizon: float  # [s]


class Pushed:
    """The robot with a strategy, pushed again and again.

    The push acts on the upper body about its origin with the moment that it has at the start, so that one simulation
    serves all points; within the 0.1 s of a push the body turns by a few degrees.
    """

    def __init__(self, strategy: str, chosen: Settings) -> None:
        """Prepare."""
        self.model = robot(STANDING)
        self.chosen = chosen
        self.dynamics = Dynamics(self.model, pose=np.zeros(self.model.nq))  # of all simulations
        self.controller = Balance(self.model, {"strategy": strategy})
        places = link_poses(self.model, np.zeros(self.model.nq))
        self.arms = {name: places[name][1] - places[TRUNK][1] for name in chosen.points}

    def simulation(self, point: str, impulse: float) -> Simulation:
        """One push."""
        force = np.array([impulse * np.pi / (2.0 * self.chosen.duration), 0.0, 0.0])
        wrench = [*force, *np.cross(self.arms[point], force)]
        push = half_sine(TRUNK, wrench, _START, self.chosen.duration, frame="world")
        loop = InSimulation(self.controller, period=_STEP)
        start = np.zeros(self.model.nq)
        return loop.simulation(self.model, start, step=_STEP, external=[push], log_every=2, dynamics=self.dynamics)

    def largest(self, point: str, side: float) -> float:
        """The largest impulse that is survived, with all smaller ones that were tried [N s]."""
        low, high = 0.0, self.chosen.largest
        while high - low > self.chosen.resolution:
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self.is_survived(point, side * middle) else (low, middle)
        return low

    def is_survived(self, point: str, impulse: float) -> bool:
        """True if the robot stays up and its feet need not be held."""
        simulation = self.simulation(point, impulse)
        return survives(simulation.run(_EARLY)) and survives(simulation.run(self.chosen.horizon - _EARLY))


@experiment("push_sweep")
def push_sweep(scenario: Scenario, output: Path, progress: Progress) -> Outcome:
    """Find the largest impulses by halving intervals, for each strategy, point and side."""
    chosen = read_settings(scenario)
    found = np.zeros((len(STRATEGIES), len(SIDES), len(chosen.points)))
    done = 0
    for i, strategy in enumerate(STRATEGIES):
        pushed = Pushed(strategy, chosen)
        for j, side in enumerate(SIDES.values()):
            for k, point in enumerate(chosen.points):
                progress(done / found.size, f"{STRATEGIES[strategy]}, {point}")
                found[i, j, k] = pushed.largest(point, side)
                done += 1
    return Outcome(_claims(found, chosen), [_figure(found, chosen, output)], [_table(found, chosen)], _NOTES)


def read_settings(scenario: Scenario) -> Settings:
    """The settings of a scenario, with units."""
    part = settings_of(scenario, _KNOWN)
    impulse = units.FORCE.times(units.TIME)
    return Settings(
        tuple(part.texts("points")),
        part.positive("largest", impulse),
        part.positive("resolution", impulse),
        part.positive("duration", units.TIME),
        part.positive("horizon", units.TIME),
    )


def _claims(found: Array, chosen: Settings) -> list[Claim]:
    springs, rotation, combined = found
    shoulder = chosen.points.index("right_shoulder")
    behind = tuple(SIDES).index("from behind")
    needed = 2.0 / np.pi * 10.0 * 0.1  # of T6.2
    limit = chosen.largest - chosen.resolution
    return [
        Claim("the sweep reaches the limits of all strategies", float(found.max()), limit, unit="N s"),
        Claim(
            "the combined strategy survives the push of T6.2",
            float(combined[behind, shoulder]),
            needed - chosen.resolution,
            ">=",
            "N s",
        ),
        Claim(
            "upper-body rotation survives more than springs alone, at every point (least ratio)",
            float(np.min(rotation / np.maximum(springs, chosen.resolution))),
            1.0,
            ">=",
        ),
    ]


def _table(found: Array, chosen: Settings) -> Table:
    columns = ("strategy", *(f"{point}, {side}" for side in SIDES for point in chosen.points))
    rows = [
        (STRATEGIES[name], *(f"{x:.2f}" for x in block.ravel())) for name, block in zip(STRATEGIES, found, strict=True)
    ]
    return Table("Largest survived impulse [N s]", columns, rows, f"to {chosen.resolution:g} N s")


def _figure(found: Array, chosen: Settings, output: Path) -> Path:
    places = np.arange(len(chosen.points), dtype=float)
    panels = []
    for j, side in enumerate(SIDES):
        curves = tuple(Series(STRATEGIES[name], places, found[i, j], "o") for i, name in enumerate(STRATEGIES))
        panels.append(Panel(side, "impulse [N s]", curves, xlabel=_points_text(chosen.points)))
    return picture(panels, output / "t6_4_impulses.png", "Largest survived impulse", 2)


def _points_text(points: Sequence[str]) -> str:
    return ", ".join(f"{i}: {name.replace('_', ' ')}" for i, name in enumerate(points))


_NOTES = [
    "Survived: the robot stays up and the zero-moment point of its fixed feet stays in the soles all the time, so that "
    "free feet would stay, too. Half sine waves of one length; the impulse is 2/π peak duration.",
]
