# SPDX-License-Identifier: Apache-2.0
"""T7.7: benefit of a hand on a wall for the standing HOAP-2, with the control of Takahashi 2012, chapter 7.

The document proposes this as future work (sec. 8.2, 4 and 5): floating bases, three dimensions, unilateral contacts.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np

from ada_controllers import StateRefused
from ada_dynamics.drawing.panels import Panel, Series
from ada_dynamics.drawing.snapshots import plot_snapshots
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.simulation import Log
from ada_dynamics.simulation.control import ControllerError
from ada_experiments.leaning_humanoid import CHAINS, HumanoidChain, leaning, pushed
from ada_experiments.pictures import picture
from ada_experiments.push_measures import FALLEN
from ada_experiments.push_sweep import SIDES, largest_survived, search
from ada_experiments.pushed_humanoid import STANDING, Push, on_free_feet
from ada_tools.scenario.registry import Outcome, Progress, Quantity, Table, experiment
from ada_tools.scenario.scenario import Scenario, settings_of

_KNOWN = (
    "upright",
    "leaning",
    "points",
    "largest",
    "spacing",
    "resolution",
    "horizon",
    "stiffness",
    "shown",
    "full_angle",
    "whole",
)
FLOWN_APART = (
    ControllerError,
    StateRefused,
)  # unphysical states of a fallen robot
_PART = 0.25  # [s] interval of simulation checks
_APART = 0.06  # horizontal offset of coinciding points in plots
AT_THE_SHOULDER = "right_shoulder"  # location of the push from behind in the document (fig. 6.8)

Bearable: TypeAlias = dict[tuple[str, str, str, str], float]  # by configuration, chain, side and point [N s]


class WallSettings(NamedTuple):
    """Settings of the scenario."""

    poses: dict[str, float]  # by name: ankle angle [rad]
    points: tuple[str, ...]
    largest: float  # largest tested impulse [N s]
    spacing: float  # spacing of the grid [N s]
    resolution: float  # [N s]
    horizon: float  # [s]
    stiffness: float  # stiffness of each contact point [N/m]
    shown: float  # impulse of the plotted motion [N s]
    full_angle: float  # angle of the strategies of chapter 6 [rad]
    whole: bool = True  # also cases that neither claims nor statements are about


def read_settings(scenario: Scenario) -> WallSettings:
    """Settings of a scenario, with units."""
    part, impulse = settings_of(scenario, _KNOWN), "N s"
    return WallSettings(
        {name: part.positive(name, "rad") for name in ("upright", "leaning")},
        tuple(part.texts("points")),
        part.positive("largest", impulse),
        part.positive("spacing", impulse),
        part.positive("resolution", impulse),
        part.positive("horizon", "s"),
        part.positive("stiffness", "N/m"),
        part.positive("shown", impulse),
        part.positive("full_angle", "rad"),
        part.flag("whole", True),
    )


def stays_up(chosen: WallSettings, lean: float, chain: HumanoidChain, point: str, impulse: float) -> bool:
    """Return True if the centre of mass does not drop within the horizon."""
    simulation = pushed(lean, chain, point, impulse, chosen.stiffness)
    stand = leaning(lean)
    floor = float(Dynamics(stand.model).com(stand.q)[2]) - FALLEN
    for _ in range(round(chosen.horizon / _PART)):
        try:
            log = simulation.run(_PART)
        except FLOWN_APART:
            return False
        if float(np.asarray(log.com)[:, 2].min()) < floor:
            return False
    return True


@experiment("hand_on_wall")
def hand_on_wall(scenario: Scenario, output: Path, progress: Progress) -> Outcome:
    """Push the robot in two configurations, with and without a wall, with the chain over the ground and over both."""
    chosen = read_settings(scenario)
    found: Bearable = {}
    keys = [
        (pose, key, side, point)
        for pose in chosen.poses
        for key in CHAINS
        for side in SIDES
        for point in chosen.points
        if chosen.whole or key != "ground" or (pose, side, point) == ("leaning", "from behind", "body")
    ]
    for i, (pose, key, side, point) in enumerate(keys):
        progress(i / len(keys), f"{pose}, {CHAINS[key].name}, {point}, {side}")
        lean = chosen.poses[pose]
        found[pose, key, side, point] = (
            bearable(chosen, lean, CHAINS[key], point, SIDES[side])
            if stays_up(chosen, lean, CHAINS[key], point, 0.0)
            else 0.0
        )
    progress(1.0, "strategies of chapter 6")
    names = ("upper_body_rotation", "combined") if chosen.whole else ()
    chapter_6 = {name: _by_strategy(chosen, name) for name in names}
    logs = {(pose, key): _shown(chosen, pose, key) for pose in chosen.poses for key in CHAINS}
    outcome = Outcome([], _figures(found, logs, chosen, output), [_table(found, chosen)])
    outcome.quantities = _quantities(found, logs, chosen)
    outcome.notes = [*_NOTES, *([_chapter_6_note(chapter_6, found)] if chapter_6 else [])]
    return outcome


def bearable(chosen: WallSettings, lean: float, chain: HumanoidChain, point: str, side: float) -> float:
    """Largest survived impulse such that all smaller tested ones are survived [N s]."""
    is_survived = partial(_is_survived, chosen, lean, chain, point, side)
    return largest_survived(search(is_survived, chosen.largest, chosen.spacing, chosen.resolution, whole=False))


def _is_survived(
    chosen: WallSettings, lean: float, chain: HumanoidChain, point: str, side: float, impulse: float
) -> bool:
    return stays_up(chosen, lean, chain, point, side * impulse)


def _by_strategy(chosen: WallSettings, strategy: str) -> float:
    """Largest survived impulse of a strategy of chapter 6 at the right shoulder from behind, with free feet."""

    def is_survived(impulse: float) -> bool:
        push = Push("", STANDING, AT_THE_SHOULDER, impulse * np.pi / 0.2, start=0.3)
        settings = {"strategy": strategy, "full_angle": chosen.full_angle}
        log = on_free_feet(push, settings, chosen.horizon, stiffness=chosen.stiffness)
        heights = np.asarray(log.com)[:, 2]
        return bool(heights.min() > heights[0] - FALLEN)

    return largest_survived(search(is_survived, chosen.largest, chosen.spacing, chosen.resolution, whole=False))


def _shown(chosen: WallSettings, pose: str, key: str) -> Log | None:
    """Motion of one configuration; None if the simulation diverges.

    Upright the robot is pushed from behind at the waist; leaning it is not pushed.
    """
    impulse = chosen.shown if pose == "upright" else 0.0
    simulation = pushed(chosen.poses[pose], CHAINS[key], "body", impulse, chosen.stiffness)
    try:
        return simulation.run(chosen.horizon)
    except FLOWN_APART:
        return None


# --- what is claimed --------------------------------------------------------------------------------------------------
def _ratios(found: Bearable, pose: str, side: str, points: tuple[str, ...]) -> list[float]:
    return [found[pose, "wall", side, point] / found[pose, "free", side, point] for point in points]


def _quantities(found: Bearable, logs: dict[tuple[str, str], Log | None], chosen: WallSettings) -> dict[str, Quantity]:
    behind, front = SIDES
    waist, side_of_the_hand = _ratios(found, "upright", behind, ("body", "left_shoulder"))
    pushes = [(side, point) for side in SIDES for point in chosen.points]
    leaning_on, leaning_by = (found["leaning", key, behind, "body"] for key in ("wall", "ground"))
    return {
        "with_wall_by_without": Quantity(waist),
        "hand_side_ratio": Quantity(side_of_the_hand),
        "front_ratio": Quantity(max(_ratios(found, "upright", front, chosen.points))),
        "leaning_without_wall": Quantity(max(found["leaning", "free", side, point] for side, point in pushes), "N s"),
        "leaning_on_wall": Quantity(min(found["leaning", "wall", side, point] for side, point in pushes), "N s"),
        "leaning_motion": Quantity(_moved(logs["leaning", "wall"]), "m"),
        "over_the_wall_less_ground_alone": Quantity(leaning_on - leaning_by, "N s"),
        "back_where_it_was": Quantity(_moved(logs["upright", "free"], at_the_end=True), "m"),
    }


def _moved(log: Log | None, at_the_end: bool = False) -> float:
    """Displacement of the centre of mass, maximum or final [m]."""
    if log is None:
        return float("inf")
    way = np.linalg.norm(np.asarray(log.com) - np.asarray(log.com)[0], axis=1)
    return float(way[-1] if at_the_end else way.max())


def _table(found: Bearable, chosen: WallSettings) -> Table:
    columns = ("pose", "", *(f"{point.replace('_', ' ')}, {side}" for side in SIDES for point in chosen.points))
    pushes = [(side, point) for side in SIDES for point in chosen.points]
    rows = [
        (pose, chain.name, *(f"{found.get((pose, key, *push), np.nan):.2f}" for push in pushes))
        for pose in chosen.poses
        for key, chain in CHAINS.items()
    ]
    return Table("Largest impulse that is borne [N s]", columns, rows, f"to {chosen.resolution:g} N s")


def _figures(
    found: Bearable, logs: dict[tuple[str, str], Log | None], chosen: WallSettings, output: Path
) -> list[Path]:
    places = np.arange(len(chosen.points), dtype=float)
    label = ", ".join(f"{i}: {name.replace('_', ' ')}" for i, name in enumerate(chosen.points))
    panels = []
    for pose in chosen.poses:
        for side in SIDES:
            curves = [
                Series(
                    chain.name,
                    places + _APART * i,
                    np.array([found.get((pose, key, side, p), np.nan) for p in chosen.points]),
                    "o",
                )
                for i, (key, chain) in enumerate(CHAINS.items())
            ]
            panels.append(Panel(f"{pose}, {side}", "impulse [N s]", curves, xlabel=label))
    figures = [picture(panels, output / "t7_7_impulses.png", "Largest impulse that is borne", 2)]
    figures.append(picture(_motions(logs, chosen), output / "t7_7_motion.png", "With and without a wall", 2))
    leant = logs["leaning", "wall"]
    if leant is not None:
        path = output / "t7_7_snapshots.png"
        plot_snapshots(leant, path, count=4, columns=4, plane="xz", title="Leaning on a wall, from the side")
        figures.append(path)
    return figures


def _motions(logs: dict[tuple[str, str], Log | None], chosen: WallSettings) -> list[Panel]:
    said = {"upright": f"upright, {chosen.shown:g} N s at the waist from behind", "leaning": "leaning, not pushed"}
    panels = []
    for pose, text in said.items():
        kept = {key: log for key in CHAINS if (log := logs[pose, key]) is not None}
        heights = [Series(CHAINS[key].name, log.t, np.asarray(log.com)[:, 2]) for key, log in kept.items()]
        presses = [
            Series(CHAINS[key].name, log.t, -log.contact_wrenches["hand"][:, 0])
            for key, log in kept.items()
            if "hand" in log.contact_wrenches
        ]
        panels += [
            Panel(f"{text}: height of the centre of mass", "[m]", heights),
            Panel(f"{text}: the hand on the wall", "normal force [N]", presses),
        ]
    return panels


def _chapter_6_note(chapter_6: dict[str, float], found: Bearable) -> str:
    behind = next(iter(SIDES))
    return (
        "Strategies of chapter 6 with free feet, at the right shoulder from behind: upper-body rotation "
        f"{chapter_6['upper_body_rotation']:.2f}, combined {chapter_6['combined']:.2f} N s; the chain over both feet "
        f"{found['upright', 'free', behind, AT_THE_SHOULDER]:.2f} N s."
    )


_NOTES = [
    "Survived: the centre of mass drops by less than 5 cm. Feet and hand can lift and slide on ground and wall; the "
    "control assumes them fixed, distributes forces so that they only press, and measures none of them.",
    "14 motors (hips, ankles, left arm) with rotors, 9 N m each; springs of 30 N m/rad and dampers of 3 N m s/rad at "
    "all joints of the massless mechanism.",
    "Upright, a chain over the ground alone survives about as much, with the arm as a spring between body and wall. If "
    "the hand must carry load, the chain over the wall is required.",
]
