# SPDX-License-Identifier: Apache-2.0
"""Standard measures: quantities of a motion used by the claims of scenarios."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.model.model import Model
from ada_tools.scenario.registry import measure

if TYPE_CHECKING:
    from ada_dynamics.simulation import Log
    from ada_tools.scenario.scenario import Scenario


@measure("energy_drift")
def energy_drift(scenario: Scenario, log: Log) -> float:
    """Largest change of the total energy relative to the range of the potential energy."""
    return float(log.energy_drift)


@measure("relative_energy_change")
def relative_energy_change(scenario: Scenario, log: Log) -> float:
    """Largest relative change of the total energy; for motions without gravity."""
    total = log.total_energy
    return _largest(total - total[0]) / abs(float(total[0]))


@measure("loop_gap", unit="m, rad")
def loop_gap(scenario: Scenario, log: Log) -> float:
    """Largest closure error of all loops."""
    return _largest(log.loop_gap)


@measure("centre_of_mass_moved", unit="m")
def centre_of_mass_moved(scenario: Scenario, log: Log) -> float:
    """Largest displacement of the centre of mass."""
    return _largest(np.linalg.norm(log.com - log.com[0], axis=1))


@measure("linear_momentum_change", unit="kg m/s")
def linear_momentum_change(scenario: Scenario, log: Log) -> float:
    """Largest change of a component of the linear momentum."""
    return _largest(log.momentum[:, :3] - log.momentum[0, :3])


@measure("angular_momentum_change", unit="kg m²/s")
def angular_momentum_change(scenario: Scenario, log: Log) -> float:
    """Largest change of a component of the angular momentum about the centre of mass."""
    return _largest(log.momentum[:, 3:] - log.momentum[0, 3:])


@measure("end_positions", unit="rad, m")
def end_positions(scenario: Scenario, log: Log) -> dict[str, float]:
    """Final positions by joint."""
    return _by_joint(log.model, log.model.q_index, "coordinates", log.q[-1])


@measure("end_velocities", unit="rad/s, m/s")
def end_velocities(scenario: Scenario, log: Log) -> dict[str, float]:
    """Final velocities by joint."""
    return _by_joint(log.model, log.model.v_index, "rates", log.v[-1])


def _by_joint(model: Model, index: Callable[[str], slice], kind: str, values: Array) -> dict[str, float]:
    """Coordinates or rates by the joint name, with the name of the coordinate for joints with several."""
    found = {}
    for name in model.joint_names:
        for i, number in enumerate(getattr(model.joints[name].type, kind), index(name).start):
            found[f"{name}.{number.name}" if number.name else name] = float(values[i])
    return found


def _largest(values: Array) -> float:
    return float(np.max(np.abs(values), initial=0.0))
