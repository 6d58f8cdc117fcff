# SPDX-License-Identifier: Apache-2.0
"""T6.4: pushes that each strategy survives, by impulse, point and side.

A grid of impulses, refined by bisection between the largest survived impulse and the next. The time horizon includes
the swing back: with springs only the robot leans forward slowly (slowest mode 5.4 s), and its zero-moment point leaves
the soles behind the heels 3 to 4 s after the push.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np

from ada_controllers.balance import TRUNK, Balance
from ada_controllers.in_simulation import InSimulation
from ada_dynamics.arrays import Array
from ada_dynamics.drawing.panels import Panel, Series
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.model.model import link_poses
from ada_dynamics.simulation import Simulation
from ada_dynamics.simulation.profiles import half_sine
from ada_experiments.pictures import picture
from ada_experiments.pushed_humanoid import AT_THE_SHOULDER, STANDING, robot, survives
from ada_tools.scenario.fields import Part
from ada_tools.scenario.registry import Outcome, Progress, Quantity, Table, experiment
from ada_tools.scenario.scenario import Scenario, settings_of
from ada_tools.scenario.units import value_in

KNOWN = ("points", "largest", "spacing", "resolution", "duration", "horizon", "full_angle", "full_angles")
FULL_ANGLE = "full_angle"
STRATEGIES = {"springs": "springs alone", "upper_body_rotation": "upper-body rotation", "combined": "combined"}
SIDES = {"from behind": 1.0, "from the front": -1.0}
RATIOS = ("combined_by_rotation_from_behind", "rotation_by_combined_from_the_front")
POINTS = ("right_shoulder", "left_shoulder")  # of the document, by side
_START = 0.05  # [s]
_STEP = 2e-3  # [s], simulation step and control period
_PARTS = (
    0.25,
    1.0,
    2.0,
)  # [s] parts of the horizon, checked first: most falls occur in them


Tried: TypeAlias = dict[float, bool]  # by impulse [N s]: True if it is survived
Map: TypeAlias = dict[tuple[str, str, str], Tried]


class PushSettings(NamedTuple):
    """Settings of the scenario."""

    points: tuple[str, ...]  # links whose origins are pushed
    largest: float  # tested impulse [N s]
    spacing: float  # of the grid [N s]
    resolution: float  # of the largest survived impulse [N s]
    duration: float  # of a push [s]
    horizon: float  # [s]
    full_angle: float  # upper-body angle at which variable gains reach their end value [rad]
    full_angles: dict[str, float]  # its swept values by their text, the own one first [rad]


class PushedRobot:
    """A robot under one strategy, for repeated pushes.

    The push acts at the origin of the upper body, with the moment of the pushed point in the initial posture, so that
    one simulation serves all points. During the 0.1 s of a push the body rotates by a few degrees only.
    """

    def __init__(self, strategy: str, chosen: PushSettings) -> None:
        """Create the robot, its dynamics and controller."""
        self.model = robot(STANDING)
        self.chosen = chosen
        self.dynamics = Dynamics(self.model, q0=np.zeros(self.model.nq))  # of all simulations
        self.controller = Balance(self.model, {"strategy": strategy, "full_angle": chosen.full_angle})
        places = link_poses(self.model, np.zeros(self.model.nq))
        self.arms = {name: places[name][1] - places[TRUNK][1] for name in chosen.points}

    def simulation(self, point: str, impulse: float) -> Simulation:
        """The simulation of one push."""
        force = np.array([impulse * np.pi / (2.0 * self.chosen.duration), 0.0, 0.0])
        wrench = [*force, *np.cross(self.arms[point], force)]
        push = half_sine(TRUNK, wrench, _START, self.chosen.duration, frame="world")
        loop = InSimulation(self.controller, period=_STEP)
        start = np.zeros(self.model.nq)
        return loop.simulation(self.model, start, step=_STEP, external=[push], log_every=2, dynamics=self.dynamics)

    def tried(self, point: str, side: float, *, whole: bool = True) -> Tried:
        """Test the impulses of one point and side."""
        own = self.chosen
        return search(
            lambda x: self.is_survived(point, side * x), own.largest, own.spacing, own.resolution, whole=whole
        )

    def is_survived(self, point: str, impulse: float) -> bool:
        """True if the robot does not fall and its feet do not lift."""
        simulation = self.simulation(point, impulse)
        return all(survives(simulation.run(part)) for part in (*_PARTS, self.chosen.horizon - sum(_PARTS)))


def search(
    is_survived: Callable[[float], bool], largest: float, spacing: float, resolution: float, *, whole: bool = True
) -> Tried:
    """Test the impulses of a grid, then bisect between the last survived and the next one.

    Args:
        is_survived: tests one impulse [N s].
        largest: of the grid [N s].
        spacing: of the grid [N s].
        resolution: of the largest survived impulse [N s].
        whole: whether to test the whole grid; otherwise stop at the first failure.
    """
    found: Tried = {}
    for impulse in (spacing * (i + 1) for i in range(round(largest / spacing))):
        found[impulse] = is_survived(impulse)
        if not (found[impulse] or whole):
            break
    low = largest_survived(found)
    high = min((impulse for impulse in found if impulse > low), default=low)
    while high - low > resolution:
        middle = 0.5 * (low + high)
        found[middle] = is_survived(middle)
        low, high = (middle, high) if found[middle] else (low, middle)
    return found


def largest_survived(found: Tried) -> float:
    """Largest impulse below which all tested impulses are survived [N s]; 0 if there is none."""
    largest = 0.0
    for impulse in sorted(found):
        if not found[impulse]:
            break
        largest = impulse
    return largest


@experiment("push_sweep")
def push_sweep(scenario: Scenario, output: Path, progress: Progress) -> Outcome:
    """Test impulses for each strategy, side and point."""
    chosen = read_settings(scenario)
    found: Map = {}
    count = len(STRATEGIES) * len(SIDES) * len(chosen.points)
    for strategy, strategy_text in STRATEGIES.items():
        pushed = PushedRobot(strategy, chosen)
        for side, sign in SIDES.items():
            for point in chosen.points:
                progress(len(found) / count, f"{strategy_text}, {point}, {side}")
                found[strategy, side, point] = pushed.tried(point, sign)
    orders = {}
    for label, angle in chosen.full_angles.items():
        progress(1.0, label)
        is_own = angle == chosen.full_angle
        orders[label] = order_of(found if is_own else _at_the_points(chosen._replace(full_angle=angle)))
    table = table_of(found, chosen.points, "Largest survived impulse [N s]", chosen.resolution)
    figures = _figures(found, chosen, output)
    quantities = {name: swept({label: order[name] for label, order in orders.items()}) for name in RATIOS}
    return Outcome([], figures, [table], quantities=quantities | _impulses(found, chosen))


def read_settings(scenario: Scenario) -> PushSettings:
    """The settings of a scenario."""
    return sweep_of(settings_of(scenario, KNOWN))


def sweep_of(part: Part) -> PushSettings:
    """Read the sweep settings, with units."""
    impulse = "N s"
    return PushSettings(
        tuple(part.texts("points")),
        part.positive("largest", impulse),
        part.positive("spacing", impulse),
        part.positive("resolution", impulse),
        part.positive("duration", "s"),
        part.positive("horizon", "s"),
        part.positive("full_angle", "rad"),
        angles_of(part),
    )


def angles_of(part: Part) -> dict[str, float]:
    """Swept values of `full_angle`, which the document does not print, by their text [rad]."""
    return {f"{FULL_ANGLE} {text}": value_in(text, "rad") for text in part.texts("full_angles")}


def swept(values: Mapping[str, float], unit: str = "") -> Quantity:
    """Quantity with its values for other full angles; the first one is its own."""
    return Quantity(next(iter(values.values())), unit, sweep=values)


def _largest(found: Map, strategy: str, side: str, chosen: PushSettings) -> Array:
    """Largest survived impulse of each point [N s]."""
    return np.array([largest_survived(found[strategy, side, point]) for point in chosen.points])


def _impulses(found: Map, chosen: PushSettings) -> dict[str, Quantity]:
    """Largest impulses, and their least ratios over all points."""
    behind, front = SIDES
    of = {(name, side): _largest(found, name, side, chosen) for name in STRATEGIES for side in SIDES}
    shoulder = chosen.points.index("right_shoulder")
    by_springs = [of["upper_body_rotation", side] / of["springs", side] for side in SIDES]
    return {
        "largest_impulse": Quantity(max(float(impulses.max()) for impulses in of.values()), "N s"),
        "combined_at_the_shoulder": Quantity(float(of["combined", behind][shoulder]), "N s"),
        "rotation_at_the_shoulder": Quantity(float(of["upper_body_rotation", behind][shoulder]), "N s"),
        "least_from_behind": Quantity(float((of["combined", behind] / of["upper_body_rotation", behind]).min())),
        "least_from_the_front": Quantity(float((of["upper_body_rotation", front] / of["combined", front]).min())),
        "least_by_springs": Quantity(float(np.concatenate(by_springs).min())),
    }


def _at_the_points(chosen: PushSettings) -> Map:
    """Pushes of the strategies at the document's points only."""
    found: Map = {}
    for strategy in list(STRATEGIES)[1:]:
        pushed = PushedRobot(strategy, chosen)
        for (side, sign), point in zip(SIDES.items(), POINTS, strict=True):
            found[strategy, side, point] = pushed.tried(point, sign, whole=False)
    return found


def order_of(found: Map) -> dict[str, float]:
    """Ratios of the strategies at the document's points: right shoulder from behind, left from the front."""
    behind, front = (
        {name: largest_survived(found[name, side, point]) for name in list(STRATEGIES)[1:]}
        for side, point in zip(SIDES, POINTS, strict=True)
    )
    ratios = behind["combined"] / behind["upper_body_rotation"], front["upper_body_rotation"] / front["combined"]
    return dict(zip(RATIOS, ratios, strict=True))


def table_of(found: Map, points: Sequence[str], title: str, resolution: float) -> Table:
    """Largest impulses by strategy, side and point, as far as they are tested."""
    tested = [(side, point) for side in SIDES for point in points if ("springs", side, point) in found]
    columns = ("strategy", *(f"{point}, {side}" for side, point in tested))
    rows = [
        (text, *(f"{largest_survived(found[name, side, point]):.2f}" for side, point in tested))
        for name, text in STRATEGIES.items()
    ]
    return Table(title, columns, rows, f"to {resolution:g} N s")


def _figures(found: Map, chosen: PushSettings, output: Path) -> list[Path]:
    places = np.arange(len(chosen.points), dtype=float)
    panels = []
    for side in SIDES:
        curves = [Series(text, places, _largest(found, name, side, chosen), "o") for name, text in STRATEGIES.items()]
        panels.append(Panel(side, "impulse [N s]", tuple(curves), xlabel=_points_text(chosen.points)))
    largest = picture(panels, output / "t6_4_impulses.png", "Largest survived impulse", 2)
    return [largest, picture(map_of(found, chosen.points), output / "t6_4_map.png", "Survived and not survived", 2)]


def map_of(found: Map, points: Sequence[str], labels: tuple[str, str] = ("survived", "not survived")) -> list[Panel]:
    """Survived and failed pushes over impulse and point, with the push of the document at the right shoulder."""
    panels = []
    for strategy, text in STRATEGIES.items():
        for side in SIDES:
            tried = [
                (float(i), impulse, survived)
                for i, point in enumerate(points)
                for impulse, survived in found.get((strategy, side, point), {}).items()
            ]
            curves = []
            for label, wanted, style in ((labels[0], True, "o"), (labels[1], False, "x")):
                x, y = (np.array([one[k] for one in tried if one[2] == wanted]) for k in (0, 1))
                curves.append(Series(label, x, y, style))
            if side == "from behind" and "right_shoulder" in points:
                at = float(points.index("right_shoulder"))
                curves.append(Series("T6.2", np.array([at]), np.array([AT_THE_SHOULDER.impulse]), "s"))
            title = f"{text}, {side}"
            panels.append(Panel(title, "impulse [N s]", tuple(curves), xlabel=_points_text(points)))
    return panels


def _points_text(points: Sequence[str]) -> str:
    return ", ".join(f"{i}: {name.replace('_', ' ')}" for i, name in enumerate(points))
