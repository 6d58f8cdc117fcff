# SPDX-License-Identifier: Apache-2.0
"""Simulated robots as dynamics_node has them, without a node."""

from __future__ import annotations

from typing import Any

from ada_robot.settings import checked
from ada_robot.simulated.plant import Plant
from ada_robot.simulated.settings import DynamicsSettings
from ada_robot.simulated.source import load_robot, simulation_of


def settings(**values: Any) -> DynamicsSettings:
    """Parameters of the node; of a PA-10 where nothing else is said."""
    return checked(DynamicsSettings, {"robot": "pa10", **values})


def plant(*, timeout: float = 0.5, **values: Any) -> Plant:
    chosen = settings(**values)
    return Plant(simulation_of(load_robot(chosen), chosen), idle=chosen.idle, timeout=timeout)
