# SPDX-License-Identifier: Apache-2.0
"""Forward kinematics of the PA-10: pose of the hand (Yamada, eqs. 2-12) and its velocity (section 3).

Twists are [linear, angular], as in Yamada: body twists of the hand in its own axes, spatial twists at the origin of the
base in its axes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ada_controllers.pa10.geometry import JOINTS, Geometry, Lengths, geometry
from ada_dynamics import expr
from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_dynamics.jit import Kernel
from ada_dynamics.jit.compiled import compiled_kernel
from ada_dynamics.spatial.rotation import AxisRotation
from ada_dynamics.spatial.vector import UNIT3, Scalar, Vec3, cross

X, Y, Z = 0, 1, 2
AXES = (Z, Y, Z, Y, Z, Y, Z)
"""Rotation axes of S1 S2 S3 E1 E2 W1 W2, eqs. 4-10."""
_UP = Vec3(0.0, 0.0, 1.0)
_INPUTS = {"q": 7, "geometry": 15}


# --- equations ------------------------------------------------------------------------------------------------------
class Chain(NamedTuple):
    """Geometry of one configuration, in base axes."""

    axes: tuple[Vec3, ...]  # joint axes
    centres: tuple[Vec3, ...]  # a point on each axis: shoulder, elbow, or wrist
    columns: tuple[Vec3, ...]  # axes of the hand
    place: Vec3  # origin of the hand


def chain(q: Sequence[Scalar], geometry: Sequence[Scalar]) -> Chain:
    """Compute bTh = bTa aTs1 s1Ts2 ... w1Tw2 w2Th, eqs. 2 and 3."""
    base, upper, fore = geometry[:3]
    turns = [AxisRotation(k, expr.cos(angle), expr.sin(angle)) for k, angle in zip(AXES, q, strict=True)]

    def outwards(vector: Vec3, count: int) -> Vec3:
        """Rotate a vector from the frame after the first `count` joints to the base."""
        for turn in reversed(turns[:count]):
            vector = turn.to_parent(vector)
        return vector

    axes = tuple(outwards(UNIT3[k], i) for i, k in enumerate(AXES))
    shoulder = base * _UP
    elbow = shoulder + upper * axes[2]
    wrist = elbow + fore * axes[4]
    rows = [geometry[3 + 4 * i : 7 + 4 * i] for i in range(3)]
    columns = [outwards(Vec3(rows[0][j], rows[1][j], rows[2][j]), 7) for j in range(4)]
    centres = (shoulder,) * 3 + (elbow,) * 2 + (wrist,) * 2
    return Chain(axes, centres, tuple(columns[:3]), wrist + columns[3])


def pose_law(q: Sequence[Scalar], geometry: Sequence[Scalar]) -> dict[str, Any]:
    """Pose of the hand, 4 x 4."""
    found = chain(q, geometry)
    rows = [[*(column[i] for column in found.columns), found.place[i]] for i in range(3)]
    return {"pose": [*rows, [0.0, 0.0, 0.0, 1.0]]}


def body_law(q: Sequence[Scalar], geometry: Sequence[Scalar]) -> dict[str, Any]:
    """Body Jacobian: column i is hHi times the unit twist about axis i."""
    found = chain(q, geometry)
    columns = []
    for axis, centre in zip(found.axes, found.centres, strict=True):
        linear = cross(axis, found.place - centre)
        columns.append([column @ part for part in (linear, axis) for column in found.columns])
    return {"jacobian": list(map(list, zip(*columns, strict=True)))}


def spatial_law(q: Sequence[Scalar], geometry: Sequence[Scalar]) -> dict[str, Any]:
    """Spatial Jacobian: column i is [r_i x a_i, a_i] for the axis a_i through r_i (appendix, bHh times the body's)."""
    found = chain(q, geometry)
    columns = [(*cross(r, a), *a) for a, r in zip(found.axes, found.centres, strict=True)]
    return {"jacobian": list(map(list, zip(*columns, strict=True)))}


# --- numerical values -----------------------------------------------------------------------------------------------
@lru_cache(maxsize=8)
def _kernel(law: Callable[..., Any]) -> tuple[Kernel, Callable[..., Any]]:
    kernel = compiled_kernel(f"pa10_{law.__name__}", _INPUTS, law)
    return kernel, kernel.python_call(kernel.single)


def _run(law: Callable[..., Any], q: ArrayLike, numbers: Geometry) -> Array:
    """Evaluate a law for one configuration, or a batch of them along the first axis of q."""
    kernel, single = _kernel(law)
    angles = np.asarray(q, dtype=np.float64)
    found: Array
    if angles.shape == (7,):
        found = single(np.ascontiguousarray(angles), numbers.outwards)
    elif angles.ndim == 2 and angles.shape[1] == 7:
        every = np.ascontiguousarray(np.broadcast_to(numbers.outwards, (len(angles), 15)))
        found = kernel.batch(np.ascontiguousarray(angles), every)
    else:
        raise InputError(
            f"PA-10: q has the shape {angles.shape}; give seven angles [rad] ({', '.join(JOINTS)}), or rows of them.",
            field="q",
            value=angles.shape,
            allowed=(7,),
        )
    return found


def forward(q: ArrayLike, lengths: str | Lengths = "CE", hand: ArrayLike | None = None) -> Array:
    """Pose of the hand in the base frame.

    Args:
        q: S1 S2 S3 E1 E2 W1 W2 [rad], (7,) or (N, 7).
        lengths: "CE", "7C", or user-defined lengths.
        hand: (H_x, H_y, H_z) from the flange [m], or a pose (4 x 4) in flange axes; None for the flange itself.

    Returns:
        4 x 4, or (N, 4, 4).

    Raises:
        InputError: if a value is not finite, a shape is wrong, or the lengths are unknown.
    """
    return _run(pose_law, q, geometry(lengths, hand))


def body_jacobian(q: ArrayLike, lengths: str | Lengths = "CE", hand: ArrayLike | None = None) -> Array:
    """6 x 7 matrix from joint velocities to the hand's twist [linear, angular], at its origin in its axes."""
    return _run(body_law, q, geometry(lengths, hand))


def spatial_jacobian(q: ArrayLike, lengths: str | Lengths = "CE", hand: ArrayLike | None = None) -> Array:
    """6 x 7 matrix from joint velocities to the spatial twist, [linear at the base's origin, angular]."""
    return _run(spatial_law, q, geometry(lengths, hand))


def manipulability(q: ArrayLike, lengths: str | Lengths = "CE") -> Any:
    """√det(J Jᵀ) of the 6 x 7 Jacobian, 0 in singular configurations; a number, or one per row of q.

    It is equal for all hands and both Jacobians, which differ by transformations of determinant one.
    """
    jacobian = _run(spatial_law, q, geometry(lengths, None))
    with np.errstate(divide="ignore"):  # for a zero determinant, whose value is correct
        determinant = np.linalg.det(jacobian @ np.swapaxes(jacobian, -1, -2))
    found = np.sqrt(np.maximum(determinant, 0.0))
    return float(found) if jacobian.ndim == 2 else found
