# SPDX-License-Identifier: Apache-2.0
"""Y2: closed-form inverse kinematics of the PA-10 over a grid of poses, all branches (Yamada, sec. 2).

The solutions are checked with the forward kinematics of the robot description (`Dynamics.pose`), and reachability with
eq. 24 on the wrist positions.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ada_controllers.pa10_kinematics import LENGTHS, Solutions, inverse_batch
from ada_dynamics.arrays import Array
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.robots.load import load
from ada_dynamics.spatial.rotation import from_quaternion
from ada_experiments.settings import read_settings
from ada_tools.scenario.registry import Outcome, Progress, Quantity, experiment
from ada_tools.scenario.scenario import Scenario

ROBOTS = {"CE": "pa10", "7C": "pa10_7c"}
HAND = "flange"
REACH_ERROR = 1e-12  # of the returned distance of unreachable poses [m]
DISTINCT = 1e-3  # [rad]: closer solutions are counted once


class GridSettings(NamedTuple):
    """Settings of the scenario."""

    lengths: tuple[str, ...]  # names of link lengths
    corner: Annotated[tuple[float, ...], "m"]  # of the grid, smallest coordinates
    opposite: Annotated[tuple[float, ...], "m"]
    places: Annotated[tuple[float, ...], "1"]  # numbers of positions along x, y, z
    directions: int
    offset: Annotated[float, "rad"]  # of S1 from the vertical plane of the wrist
    angle: Annotated[float, "rad"]  # of S3


class InverseCase(NamedTuple):
    """One choice of the redundant joint, for all poses of the grid."""

    must: bool  # whether reachable poses must have a solution
    solved: int  # poses with solutions
    wrong: int  # poses whose reachability is reported wrongly; poses without solution count only where one must exist
    error: float  # largest error of the solutions' poses
    distance: float  # largest error of the distance returned for unreachable poses [m]
    eight: int  # number of poses with eight solutions that differ by `DISTINCT`


@experiment("inverse_kinematics_grid")
def inverse_kinematics_grid(scenario: Scenario, output: Path, progress: Progress) -> Outcome:
    """Compute all solutions for all poses of a grid, with S1 and with S3 given."""
    chosen = read_settings(scenario, GridSettings)
    grid = grid_of(chosen.corner, chosen.opposite, [round(x) for x in chosen.places], chosen.directions)
    cases = []
    for i, lengths in enumerate(chosen.lengths):
        progress(i / len(chosen.lengths), f"{len(grid)} poses of the PA-10, lengths {lengths}")
        cases += cases_of(lengths, grid, chosen.offset, chosen.angle)
    other = [case for case in cases if not case.must]
    quantities = {
        "poses": Quantity(len(grid)),
        "pose_error": Quantity(max(case.error for case in cases)),
        "distance_error": Quantity(max(case.distance for case in cases), "m"),
        "wrong_reach": Quantity(sum(case.wrong for case in cases)),
        "share_with_eight": Quantity(min(case.eight / case.solved for case in other)),
    }
    return Outcome(quantities=quantities)


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
    q = np.random.default_rng(0).normal(size=(directions, 4))  # quaternions of uniformly distributed rotations
    rotations: Array = np.moveaxis(np.array(from_quaternion(*q.T)), -1, 0)
    turns = np.concatenate([[np.eye(3), np.diag([1.0, -1.0, -1.0])], rotations])[:directions]
    poses = np.zeros((len(points), len(turns), 4, 4))
    poses[..., :3, :3] = turns
    poses[..., :3, 3] = points[:, np.newaxis]
    poses[..., 3, 3] = 1.0
    return poses.reshape(-1, 4, 4)


# --- one run --------------------------------------------------------------------------------------------------------
def cases_of(lengths: str, grid: Array, offset: float, angle: float) -> list[InverseCase]:
    """Solve with S1 and S3 given, for values that guarantee a solution of reachable poses and for others."""
    arm = LENGTHS[lengths]
    wrist = grid[:, :3, 3] - arm.hand * grid[:, :3, 2] - [0.0, 0.0, arm.base]
    reach = np.linalg.norm(wrist, axis=1)
    far = np.maximum(reach - (arm.upper + arm.fore), abs(arm.upper - arm.fore) - reach)  # eq. 24
    towards = np.arctan2(wrist[:, 1], wrist[:, 0])
    zero = np.zeros(len(grid))
    runs: list[tuple[Literal["s1", "s3"], Array, bool]] = [
        ("s1", towards, True),
        ("s3", zero, True),
        ("s1", towards + offset, False),
        ("s3", zero + angle, False),
    ]
    return [_case(lengths, grid, far, *run) for run in runs]


def _case(lengths: str, grid: Array, far: Array, joint: Literal["s1", "s3"], value: Array, must: bool) -> InverseCase:
    found = inverse_batch(grid, value, lengths, joint)
    within = far <= 0.0
    # Poses at the limit of reach are excluded.
    clear = np.abs(far) > REACH_ERROR
    wrong = (
        np.count_nonzero((found.valid != within)[clear]) if must else np.count_nonzero(found.valid & ~within & clear)
    )
    q = found.q[found.valid]
    return InverseCase(
        must,
        len(q),
        int(wrong),
        _pose_error(lengths, found, grid),
        float(np.abs(found.distance - far)[~within].max(initial=0.0)),
        int(np.count_nonzero(_different(q) == 8)),
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
