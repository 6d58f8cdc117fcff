# SPDX-License-Identifier: Apache-2.0
"""T6.4: pushes that each strategy survives, by impulse, point and side.

A grid of impulses, refined by bisection between the largest survived impulse and the next. The time horizon includes
the swing back: with springs only the robot leans forward slowly (slowest mode 5.4 s), and its zero-moment point leaves
the soles behind the heels 3 to 4 s after the push.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, NamedTuple, TypeAlias

import numpy as np

from ada_controllers.balance import TRUNK, Balance
from ada_controllers.in_simulation import InSimulation
from ada_dynamics.drawing.panels import Curve, Panel
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.model.model import link_poses
from ada_dynamics.simulation.forces import half_sine
from ada_experiments.pictures import picture
from ada_experiments.pushed_humanoid import AT_THE_SHOULDER, STANDING, robot, survives
from ada_experiments.settings import read_settings
from ada_tools.scenario.registry import Outcome, Progress, Quantity, Table, experiment
from ada_tools.scenario.scenario import Scenario
from ada_tools.scenario.units import value_in

STRATEGIES = {"springs": "springs alone", "upper_body_rotation": "upper-body rotation", "combined": "combined"}
SIDES = {"from behind": 1.0, "from the front": -1.0}
RATIOS = ("combined_by_rotation_from_behind", "rotation_by_combined_from_the_front")
POINTS = ("right_shoulder", "left_shoulder")  # of the document, by side
_START = 0.05  # [s]
_STEP = 2e-3  # [s], simulation step and control period
_PARTS = (0.25, 1.0, 2.0)  # [s] parts of the horizon, checked first: most falls occur in them

Tried: TypeAlias = dict[float, bool]  # by impulse [N s]: True if it is survived
Map: TypeAlias = dict[tuple[str, str, str], Tried]  # by strategy, side and point
Survives: TypeAlias = Callable[[str, float], bool]  # whether a push at a link is survived, impulse along x [N s]


class PushSettings(NamedTuple):
    """Settings of T6.4 and T6.8."""

    points: tuple[str, ...]  # links whose origins are pushed
    largest: Annotated[float, "N s"]  # tested impulse
    spacing: Annotated[float, "N s"]  # of the grid
    resolution: Annotated[float, "N s"]  # of the largest survived impulse
    duration: Annotated[float, "s"]  # of a push
    horizon: Annotated[float, "s"]
    # of the upper body, at which variable gains end: not printed; the first one is that of the claims
    full_angles: tuple[str, ...]
    friction: Annotated[tuple[float, ...], "N m"] = ()  # T6.8: of each joint; the first is that of the claims
    rate: Annotated[float, "1/s"] = 0.0  # T6.8: of the safety cycle and of the physics
    cases: tuple[str, ...] = ()  # T6.8: "POINT SIDE" to test; all points from both sides if empty


def on_fixed_feet(strategy: str, full_angle: float, chosen: PushSettings) -> Survives:
    """Test of pushes of the robot on fixed feet under a strategy.

    The push acts at the origin of the upper body, with the moment of the pushed point in the initial posture, so that
    one simulation serves all points. During the 0.1 s of a push the body rotates by a few degrees only.
    """
    model = robot(STANDING)
    start = np.zeros(model.nq)
    dynamics = Dynamics(model, q0=start)  # of all simulations
    controller = Balance(model, {"strategy": strategy, "full_angle": full_angle})
    places = link_poses(model, start)

    def is_survived(point: str, impulse: float) -> bool:
        force = np.array([impulse * np.pi / (2.0 * chosen.duration), 0.0, 0.0])
        wrench = [*force, *np.cross(places[point][1] - places[TRUNK][1], force)]
        push = half_sine(TRUNK, wrench, _START, chosen.duration, frame="world")
        loop = InSimulation(controller, period=_STEP)
        simulation = loop.simulation(model, start, step=_STEP, external=[push], log_every=2, dynamics=dynamics)
        return all(survives(simulation.run(part)) for part in (*_PARTS, chosen.horizon - sum(_PARTS)))

    return is_survived


def search(
    is_survived: Callable[[float], bool], largest: float, spacing: float, resolution: float, *, whole: bool = False
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


def tried(is_survived: Survives, point: str, side: str, chosen: PushSettings, *, whole: bool = False) -> Tried:
    """Test the impulses at one point from one side."""
    grid = chosen.largest, chosen.spacing, chosen.resolution
    return search(lambda impulse: is_survived(point, SIDES[side] * impulse), *grid, whole=whole)


def at_the_points(test_of: Callable[[str], Survives], chosen: PushSettings) -> Map:
    """Pushes of both strategies at the document's points only; `test_of` returns the test of a strategy."""
    found: Map = {}
    for strategy in list(STRATEGIES)[1:]:
        is_survived = test_of(strategy)
        for side, point in zip(SIDES, POINTS, strict=True):
            found[strategy, side, point] = tried(is_survived, point, side, chosen)
    return found


@experiment("push_sweep")
def push_sweep(scenario: Scenario, output: Path, progress: Progress) -> Outcome:
    """Test impulses for each strategy, side and point."""
    chosen = read_settings(scenario, PushSettings)
    found: Map = {}
    count, angles = len(STRATEGIES) * len(SIDES) * len(chosen.points), angles_of(chosen.full_angles)
    own = next(iter(angles))
    for strategy, strategy_text in STRATEGIES.items():
        is_survived = on_fixed_feet(strategy, angles[own], chosen)
        for side in SIDES:
            for point in chosen.points:
                progress(len(found) / count, f"{strategy_text}, {point}, {side}")
                found[strategy, side, point] = tried(is_survived, point, side, chosen, whole=True)
    orders = {own: order_of(found)}
    for label in [*angles][1:]:
        progress(1.0, label)
        test_of = partial(on_fixed_feet, full_angle=angles[label], chosen=chosen)
        orders[label] = order_of(at_the_points(test_of, chosen))
    table = table_of(found, chosen, "Largest survived impulse [N s]")
    figures = [picture(map_of(found, chosen.points), output / "t6_4_map.png", "Survived and not survived", 2)]
    quantities = {name: swept({label: order[name] for label, order in orders.items()}) for name in RATIOS}
    return Outcome([], figures, [table], quantities=quantities | _impulses(found, chosen))


def angles_of(texts: Sequence[str]) -> dict[str, float]:
    """Swept values of `full_angle`, which the document does not print, by their labels [rad]."""
    return {f"full_angle {text}": value_in(text, "rad") for text in texts}


def swept(values: Mapping[str, float], unit: str = "") -> Quantity:
    """Quantity with its values for other full angles; the first one is its own."""
    return Quantity(next(iter(values.values())), unit, sweep=values)


def _impulses(found: Map, chosen: PushSettings) -> dict[str, Quantity]:
    """Largest impulses, and their least ratios over all points."""
    behind, front = SIDES
    of = {
        (name, side): np.array([largest_survived(found[name, side, point]) for point in chosen.points])
        for name in STRATEGIES
        for side in SIDES
    }
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


def order_of(found: Map) -> dict[str, float]:
    """Ratios of the strategies at the document's points: right shoulder from behind, left from the front."""
    behind, front = (
        {name: largest_survived(found[name, side, point]) for name in list(STRATEGIES)[1:]}
        for side, point in zip(SIDES, POINTS, strict=True)
    )
    ratios = behind["combined"] / behind["upper_body_rotation"], front["upper_body_rotation"] / front["combined"]
    return dict(zip(RATIOS, ratios, strict=True))


def table_of(found: Map, chosen: PushSettings, title: str) -> Table:
    """Largest impulses by strategy, side and point, as far as they are tested."""
    tested = [(side, point) for side in SIDES for point in chosen.points if ("springs", side, point) in found]
    columns = ("strategy", *(f"{point}, {side}" for side, point in tested))
    rows = [
        (text, *(f"{largest_survived(found[name, side, point]):.2f}" for side, point in tested))
        for name, text in STRATEGIES.items()
    ]
    return Table(title, columns, rows, f"to {chosen.resolution:g} N s")


def map_of(found: Map, points: Sequence[str], labels: tuple[str, str] = ("survived", "not survived")) -> list[Panel]:
    """Survived and failed pushes over impulse and point, with the push of the document at the right shoulder."""
    panels = []
    xlabel = ", ".join(f"{i}: {name.replace('_', ' ')}" for i, name in enumerate(points))
    for strategy, text in STRATEGIES.items():
        for side in SIDES:
            pushes = [
                (float(i), impulse, survived)
                for i, point in enumerate(points)
                for impulse, survived in found.get((strategy, side, point), {}).items()
            ]
            curves = []
            for label, wanted, style in ((labels[0], True, "o"), (labels[1], False, "x")):
                x, y = (np.array([one[k] for one in pushes if one[2] == wanted]) for k in (0, 1))
                curves.append(Curve(label, x, y, style))
            if side == "from behind" and "right_shoulder" in points:
                at = float(points.index("right_shoulder"))
                curves.append(Curve("T6.2", np.array([at]), np.array([AT_THE_SHOULDER.impulse]), "s"))
            panels.append(Panel(f"{text}, {side}", "impulse [N s]", tuple(curves), xlabel=xlabel))
    return panels
