# SPDX-License-Identifier: Apache-2.0
"""Y2: closed-form inverse kinematics of the PA-10 over a grid of poses, all branches (Yamada, sec. 2).

The solutions are checked with the forward kinematics of the robot description (`Dynamics.pose`), and reachability with
eq. 24 on the wrist positions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.drawing.plots import figure_context, save
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.robots.load import load
from ada_dynamics.spatial.rotation import from_quaternion
from ada_tools.scenario.registry import Outcome, Progress, Quantity, Table, experiment
from ada_tools.scenario.scenario import Scenario, settings_of

if TYPE_CHECKING:
    from ada_controllers.pa10_kinematics import Solutions


ROBOTS = {"CE": "pa10", "7C": "pa10_7c"}
HAND = "flange"
_KNOWN = ("lengths", "corner", "opposite", "places", "directions", "offset", "angle", "section")

REACH_ERROR = 1e-12  # of the returned distance of unreachable poses [m]
DISTINCT = 1e-3  # [rad]: closer solutions are counted once


@dataclass(frozen=True)
class InverseCase:
    """One choice of the redundant joint, for all poses of the grid."""

    lengths: str  # name of the link lengths
    text: str  # the given joint
    poses: int  # number of poses
    within: int  # poses with a reachable wrist by eq. 24
    solved: int  # poses with solutions
    wrong: int  # poses whose reachability is reported wrongly; poses without solution count only where one must exist
    error: float  # largest error of the solutions' poses
    distance: float  # largest error of the distance returned for unreachable poses [m]
    counts: tuple[int, ...]  # number of poses with 1, 2, ..., 8 solutions that differ by `DISTINCT`
    in_limits: int  # poses with a solution within the joint limits


@experiment("inverse_kinematics_grid")
def inverse_kinematics_grid(scenario: Scenario, output: Path, progress: Progress) -> Outcome:
    """Compute all solutions for all poses of a grid, with S1 and with S3 given."""
    part = settings_of(scenario, _KNOWN)
    names = part.texts("lengths")
    corner, opposite = (part.vector(key, ("m",) * 3) for key in ("corner", "opposite"))
    shape = [round(x) for x in part.vector("places", ("1",) * 3)]
    grid = grid_of(corner, opposite, shape, part.whole("directions", 21))
    offset, angle = (part.quantity(key, "rad") for key in ("offset", "angle"))
    cases = []
    for i, lengths in enumerate(names):
        progress(0.8 * i / len(names), f"{len(grid)} poses of the PA-10, lengths {lengths}")
        cases += cases_of(lengths, grid, offset, angle)
    progress(0.8, "section through the workspace")
    picture = _section(names[0], output / "y2_workspace.png", part.whole("section", 61))
    return Outcome([], [picture], [_table(cases)], quantities=quantities_of(cases))


def grid_of(corner: Sequence[float], opposite: Sequence[float], places: Sequence[int], directions: int) -> Array:
    """Return poses (N, 4, 4): a grid of positions with the same set of orientations at each.

    Args:
        corner: smallest coordinates [m].
        opposite: largest coordinates [m].
        places: number of positions along x, y, z.
        directions: number of orientations: identity, flange pointing down, then random rotations.
    """
    axes = [np.linspace(a, b, n) for a, b, n in zip(corner, opposite, places, strict=True)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    turns = np.concatenate([[np.eye(3), np.diag([1.0, -1.0, -1.0])], _random_turns(directions)])[:directions]
    poses = np.zeros((len(points), len(turns), 4, 4))
    poses[..., :3, :3] = turns
    poses[..., :3, 3] = points[:, np.newaxis]
    poses[..., 3, 3] = 1.0
    return poses.reshape(-1, 4, 4)


def _random_turns(count: int) -> Array:
    """Uniformly distributed rotations from unit quaternions."""
    q = np.random.default_rng(0).normal(size=(count, 4))
    return np.moveaxis(np.array(from_quaternion(*q.T)), -1, 0)


# --- one run --------------------------------------------------------------------------------------------------------
def cases_of(lengths: str, grid: Array, offset: float, angle: float) -> list[InverseCase]:
    """Solve with S1 and S3 given, for values that guarantee a solution of reachable poses and for others."""
    from ada_controllers.pa10_kinematics import LENGTHS

    arm = LENGTHS[lengths]
    wrist = grid[:, :3, 3] - arm.hand * grid[:, :3, 2] - [0.0, 0.0, arm.base]
    reach = np.linalg.norm(wrist, axis=1)
    far = np.maximum(reach - (arm.upper + arm.fore), abs(arm.upper - arm.fore) - reach)  # eq. 24
    towards = np.arctan2(wrist[:, 1], wrist[:, 0])
    zero = np.zeros(len(grid))
    runs: list[tuple[Literal["s1", "s3"], str, Array, bool]] = [
        ("s1", "S1 towards the wrist", towards, True),
        ("s3", "S3 = 0", zero, True),
        ("s1", f"S1 {np.rad2deg(offset):g}° beside", towards + offset, False),
        ("s3", f"S3 = {np.rad2deg(angle):g}°", zero + angle, False),
    ]
    return [_case(lengths, text, grid, far, joint, value, must) for joint, text, value, must in runs]


def _case(
    lengths: str, text: str, grid: Array, far: Array, joint: Literal["s1", "s3"], value: Array, must: bool
) -> InverseCase:
    from ada_controllers.pa10_kinematics import inverse_batch, joint_limits

    found = inverse_batch(grid, value, lengths, joint)
    within = far <= 0.0
    # Poses at the limit of reach are excluded.
    clear = np.abs(far) > REACH_ERROR
    wrong = (
        np.count_nonzero((found.valid != within)[clear]) if must else np.count_nonzero(found.valid & ~within & clear)
    )
    lower, upper = joint_limits(lengths)
    q = found.q[found.valid]
    inside = np.any(np.all((q >= lower) & (q <= upper), axis=2), axis=1)
    return InverseCase(
        lengths,
        text,
        len(grid),
        int(np.count_nonzero(within)),
        len(q),
        int(wrong),
        _pose_error(lengths, found, grid),
        float(np.abs(found.distance - far)[~within].max(initial=0.0)),
        tuple(np.bincount(_different(q), minlength=9)[1:].tolist()),
        int(np.count_nonzero(inside)),
    )


def _pose_error(lengths: str, found: Solutions, grid: Array) -> float:
    """Largest difference between the forward kinematics of all solutions and the given poses."""
    dynamics = Dynamics(load(ROBOTS[lengths]))
    largest = 0.0
    for branch in range(8):
        back = dynamics.pose(HAND, np.ascontiguousarray(found.q[found.valid, branch]))
        largest = max(largest, float(np.abs(back - grid[found.valid]).max()))
    return largest


def _different(q: Array) -> NDArray[np.intp]:
    """Number of different solutions of each pose among its eight (N, 8, 7)."""
    new = np.ones((len(q), 8), dtype=bool)
    for i in range(1, 8):
        for j in range(i):
            apart = np.abs(np.remainder(q[:, i] - q[:, j] + np.pi, 2.0 * np.pi) - np.pi).max(axis=1)
            new[:, i] &= apart > DISTINCT
    counts: NDArray[np.intp] = new.sum(axis=1, dtype=np.intp)
    return counts


# --- results --------------------------------------------------------------------------------------------------------
def quantities_of(cases: Sequence[InverseCase]) -> dict[str, Quantity]:
    """Errors, and the smallest share of poses with eight solutions for the other given angles."""
    other = [case for case in cases if case.text not in ("S1 towards the wrist", "S3 = 0")]
    return {
        "poses": Quantity(min(case.poses for case in cases)),
        "pose_error": Quantity(max(case.error for case in cases)),
        "distance_error": Quantity(max(case.distance for case in cases), "m"),
        "wrong_reach": Quantity(sum(case.wrong for case in cases)),
        "share_with_eight": Quantity(min(case.counts[7] / case.solved for case in other)),
    }


def _table(cases: Sequence[InverseCase]) -> Table:
    rows = [
        (
            case.lengths,
            case.text,
            case.poses,
            case.within,
            case.solved,
            case.counts[7],
            sum(case.counts[:7]),
            case.in_limits,
            f"{case.error:.1e}",
        )
        for case in cases
    ]
    columns = (
        "lengths",
        "given",
        "poses",
        "wrist reachable",
        "solved",
        "with 8 solutions",
        "with fewer",
        "within the limits",
        "largest error",
    )
    return Table("Solutions over the grid", columns, rows)


def _section(lengths: str, path: Path, points: int) -> Path:
    """Plot the half plane y = 0, flange down: number of solutions and share of S1 angles, within the joint limits."""
    from ada_controllers.pa10_kinematics import inverse_batch

    x, z = np.linspace(0.0, 1.1, points), np.linspace(-0.4, 1.3, 2 * points)
    places = np.stack(np.meshgrid(x, [0.0], z, indexing="ij"), axis=-1).reshape(-1, 3)
    poses = np.tile(np.diag([1.0, -1.0, -1.0, 1.0]), (len(places), 1, 1))
    poses[:, :3, 3] = places
    angles = np.deg2rad(np.arange(-175.0, 180.0, 5.0))
    found = inverse_batch(
        np.repeat(poses, len(angles), axis=0), np.tile(angles, len(poses)), lengths, within_limits=True
    )
    allowed = found.valid.reshape(points, 2 * points, len(angles), 8)
    counts = (allowed.sum(axis=3).max(axis=2), 100.0 * allowed.any(axis=3).mean(axis=2))
    path.parent.mkdir(parents=True, exist_ok=True)
    with figure_context() as new_figure:
        figure = new_figure(8.6, 5.0)
        panels: Any = figure.subplots(1, 2, sharey=True)
        titles = ("(a) Most solutions with one S1", "(b) Angles of S1 with a solution [%]")
        for axes, title, values in zip(panels, titles, counts, strict=True):
            shown = np.where(values > 0.0, values, np.nan).T
            image = axes.imshow(shown, origin="lower", extent=(x[0], x[-1], z[0], z[-1]), aspect="equal")
            figure.colorbar(image, ax=axes)
            axes.set_title(title, loc="left")
            axes.set_xlabel("x [m]")
            axes.grid(False)
        panels[0].set_ylabel("z [m]")
        return save(figure, path)
