# SPDX-License-Identifier: Apache-2.0
"""Identification of tool mass, centre of mass and sensor zero from readings in several orientations, by least squares.

    samples = [(reading.raw, motion), ...]      # six or more distinct orientations: gravity along ±x, ±y, ±z
    found = identify_tool(samples)
    found.mass, found.com, found.bias, found.force_residual, found.condition

The samples are taken at rest, or with a known motion of the sensor.
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

LARGEST_CONDITION = 300.0  # with columns scaled to equal norm; about 1 for six orientations along ±x, ±y, ±z
_AXES_POSES = "gravity along +x, -x, +y, -y, +z and -z of the sensor"


class IdentifiedTool(NamedTuple):
    """Result of the identification.

    Attributes:
        mass: mass [kg].
        com: centre of mass in the sensor frame [m].
        inertia: xx, yy, zz, xy, xz, yz about the centre of mass [kg m^2]; zeros if not requested.
        bias: zero of the sensor, in its frame [N, N m].
        force_residual: root mean square of the force residuals [N].
        moment_residual: root mean square of the moment residuals [N m].
        condition: condition number with columns scaled to equal norm, at most LARGEST_CONDITION.
        samples: number of readings used.
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
    """Estimate tool and sensor zero from readings.

    w = tool_wrench(parameters, motion) + bias is linear in mass, m c, inertia about the sensor origin, and bias.

    Args:
        samples: raw wrench of the sensor and motion of the sensor.
        with_inertia: also estimate the inertia; requires fast rotations about all axes.
        moment_weight: weight of moments relative to forces [1/m].

    Raises:
        InputError: fewer than three samples, or an invalid wrench.
        Refused: the orientations are too similar, or the mass is not positive.
    """
    if len(samples) < 3:
        text = f"{len(samples)} samples; required are three or more, best six: {_AXES_POSES}."
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
    """Rows of the unknowns [tool, bias], and the readings; raises InputError."""
    rows = np.zeros((len(samples), 6, unknowns + 6))
    seen = np.zeros((len(samples), 6))
    unit = np.eye(INERTIAL)
    for i, (wrench, motion) in enumerate(samples):
        values = np.asarray(wrench, dtype=np.float64)
        if values.shape != (6,) or not np.all(np.isfinite(values)):
            text = f"wrench {i} of the samples is {values.tolist()!r:.120}; required are six finite numbers."
            raise InputError(text, field=f"wrench {i}", value=values)
        seen[i] = values
        rows[i, :, :unknowns] = np.transpose([tool_wrench(unit[k], motion) for k in range(unknowns)])
        rows[i, :, unknowns:] = np.eye(6)
    return rows.reshape(-1, unknowns + 6), seen.ravel()


def _body(
    found: Array, with_inertia: bool
) -> tuple[float, tuple[float, float, float], tuple[float, float, float, float, float, float]]:
    """Mass, centre of mass, and inertia about it; raises Refused."""
    mass = float(found[0])
    if mass <= 1e-6:
        text = (
            f"the estimated mass is {mass:.3g} kg: no tool on the sensor, or its axes differ from those of the given "
            "motions (z reversed?). Check xyz and rpy of the sensor."
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
    more = "; for the inertia, rotate fast about all three axes" if with_inertia else ""
    return (
        f"the orientations are too similar (condition {condition:.3g}, at most {LARGEST_CONDITION:g}): tool and zero "
        f"cannot be separated. Use {_AXES_POSES}{more}."
    )
