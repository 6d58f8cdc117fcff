# SPDX-License-Identifier: Apache-2.0
"""Mass, centre of mass and zero of what hangs on a sensor, from readings in several poses, by least squares.

samples = [(reading.raw, motion), ...]      # 6 poses or more, far from each other: gravity along ±x, ±y, ±z
found = identify_tool(samples)
found.mass, found.com, found.bias, found.force_residual, found.condition
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_hardware.force_torque.tool_load import INERTIAL, tool_wrench
from ada_hardware.force_torque.tool_motion import ToolMotion
from ada_robot.errors import Refused

LARGEST_CONDITION = 300.0  # of columns scaled to one length; six poses along ±x, ±y, ±z have about 1
_AXES_POSES = "gravity along +x, -x, +y, -y, +z and -z of the sensor"


class IdentifiedTool(NamedTuple):
    """Result of the identification.

    Attributes:
        mass: [kg].
        com: centre of mass from the sensor, in its axes [m].
        inertia: xx, yy, zz, xy, xz, yz about that centre [kg m^2]; zeros where it was not asked for.
        bias: zero of the sensor, in its axes [N, N m].
        force_residual: root mean square of what is left of the forces [N].
        moment_residual: of the moments [N m].
        condition: of the equations with columns scaled to one length; small is good, at most LARGEST_CONDITION.
        samples: number of readings that it was made of.
    """

    mass: float
    com: tuple[float, float, float]
    inertia: tuple[float, float, float, float, float, float]
    bias: Array
    force_residual: float
    moment_residual: float
    condition: float
    samples: int


def identify_tool(
    samples: Sequence[tuple[Array, ToolMotion]], *, with_inertia: bool = False, moment_weight: float = 10.0
) -> IdentifiedTool:
    """Find the tool and the zero that explain the readings best.

    w = tool_wrench(parameters, motion) + bias is linear in mass, m c, inertia about the sensor's origin, and bias.

    Args:
        samples: raw wrench of the sensor, and how the sensor moved.
        with_inertia: also find the inertia; the samples must then turn fast about all axes.
        moment_weight: newtons that count as much as a newton metre [1/m].

    Raises:
        InputError: fewer than three samples, or one that is no wrench.
        Refused: the poses are too alike, or the result is no physical body.
    """
    if len(samples) < 3:
        text = f"there are {len(samples)} samples; give three or more, best six: {_AXES_POSES}."
        raise InputError(text, field="samples", value=len(samples), allowed="3 or more")
    rows, seen = _equations(samples, INERTIAL if with_inertia else 4)
    weights = np.tile([1.0, 1.0, 1.0, moment_weight, moment_weight, moment_weight], len(samples))
    weighted = rows * weights[:, None]
    sizes = np.linalg.norm(weighted, axis=0)
    if np.min(sizes) <= 1e-9 * np.max(sizes):
        raise Refused(
            _too_alike(np.inf, with_inertia),
            field="inertia" if with_inertia else "condition",
            value=np.inf,
            allowed=LARGEST_CONDITION,
        )
    condition = float(np.linalg.cond(weighted / sizes))
    if condition > LARGEST_CONDITION:
        raise Refused(
            _too_alike(condition, with_inertia),
            field="inertia" if with_inertia else "condition",
            value=condition,
            allowed=LARGEST_CONDITION,
        )
    found = np.linalg.lstsq(weighted / sizes, seen * weights, rcond=None)[0] / sizes
    left = (seen - rows @ found).reshape(-1, 6)
    mass, com, inertia = _body(found[:-6], with_inertia)
    force, moment = (float(np.sqrt(np.mean(part**2))) for part in (left[:, :3], left[:, 3:]))
    return IdentifiedTool(mass, com, inertia, found[-6:], force, moment, condition, len(samples))


def _equations(samples: Sequence[tuple[Array, ToolMotion]], unknowns: int) -> tuple[Array, Array]:
    """Rows of [tool, bias], and the readings.

    Raises:
        InputError: one that is no wrench.
    """
    rows = np.zeros((len(samples), 6, unknowns + 6))
    seen = np.zeros((len(samples), 6))
    unit = np.eye(INERTIAL)
    for i, (wrench, motion) in enumerate(samples):
        values = np.asarray(wrench, dtype=np.float64)
        if values.shape != (6,) or not np.all(np.isfinite(values)):
            text = f"wrench {i} of the samples is {values.tolist()!r:.120}; it must be six finite numbers."
            raise InputError(text, field=f"wrench {i}", value=values)
        seen[i] = values
        rows[i, :, :unknowns] = np.transpose([tool_wrench(unit[k], motion) for k in range(unknowns)])
        rows[i, :, unknowns:] = np.eye(6)
    return rows.reshape(-1, unknowns + 6), seen.ravel()


def _body(
    found: Array, with_inertia: bool
) -> tuple[float, tuple[float, float, float], tuple[float, float, float, float, float, float]]:
    """Mass, centre of mass, inertia about it.

    Raises:
        Refused: no positive mass.
    """
    mass = float(found[0])
    if mass <= 1e-6:
        text = (
            f"the readings tell a mass of {mass:.3g} kg: nothing hangs on the sensor, or its axes are not those of the "
            "given motions (z reversed?). Look at the sensor's xyz and rpy."
        )
        raise Refused(text, field="mass", value=mass, allowed="positive")
    c = found[1:4] / mass
    inertia = np.zeros(6)
    if with_inertia:
        xx, yy, zz = mass * (c @ c - c * c)
        inertia = found[4:] - [xx, yy, zz, -mass * c[0] * c[1], -mass * c[0] * c[2], -mass * c[1] * c[2]]
    i = inertia.tolist()
    return mass, (float(c[0]), float(c[1]), float(c[2])), (i[0], i[1], i[2], i[3], i[4], i[5])


def _too_alike(condition: float, with_inertia: bool) -> str:
    more = "; for the inertia, turn fast about all three axes" if with_inertia else ""
    return (
        f"the poses are too alike (condition {condition:.3g}, at most {LARGEST_CONDITION:g}): tool and zero cannot be "
        f"separated. Take {_AXES_POSES}{more}."
    )
