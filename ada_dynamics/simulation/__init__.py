# SPDX-License-Identifier: Apache-2.0
"""Simulation: integrators, contact, joint stops, servos, external wrenches, logs and recordings."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ada_dynamics.contact.contact import Contact, ContactPair, ContactPoint, ContactSphere, Ground
    from ada_dynamics.contact.geometry import Material
    from ada_dynamics.contact.stops import JointStops
    from ada_dynamics.simulation.control import CompiledController, ControllerError
    from ada_dynamics.simulation.events import Event, at_limits
    from ada_dynamics.simulation.executors import IntegrationError
    from ada_dynamics.simulation.log import EventRecord, Log
    from ada_dynamics.simulation.profiles import WrenchProfile, constant, half_sine, rectangle, table
    from ada_dynamics.simulation.scene import Scene, scene_for
    from ada_dynamics.simulation.servos import JointServos
    from ada_dynamics.simulation.simulation import Simulation

# Modules are imported on first use, which shortens the start of nodes that need a part of them.
_HOMES = {
    "CompiledController": "ada_dynamics.simulation.control",
    "Contact": "ada_dynamics.contact.contact",
    "ContactPair": "ada_dynamics.contact.contact",
    "ContactPoint": "ada_dynamics.contact.contact",
    "ContactSphere": "ada_dynamics.contact.contact",
    "ControllerError": "ada_dynamics.simulation.control",
    "Event": "ada_dynamics.simulation.events",
    "EventRecord": "ada_dynamics.simulation.log",
    "Ground": "ada_dynamics.contact.contact",
    "JointServos": "ada_dynamics.simulation.servos",
    "JointStops": "ada_dynamics.contact.stops",
    "Log": "ada_dynamics.simulation.log",
    "Material": "ada_dynamics.contact.geometry",
    "IntegrationError": "ada_dynamics.simulation.executors",
    "Scene": "ada_dynamics.simulation.scene",
    "Simulation": "ada_dynamics.simulation.simulation",
    "WrenchProfile": "ada_dynamics.simulation.profiles",
    "at_limits": "ada_dynamics.simulation.events",
    "constant": "ada_dynamics.simulation.profiles",
    "half_sine": "ada_dynamics.simulation.profiles",
    "rectangle": "ada_dynamics.simulation.profiles",
    "scene_for": "ada_dynamics.simulation.scene",
    "table": "ada_dynamics.simulation.profiles",
}

__all__ = [
    "CompiledController",
    "Contact",
    "ContactPair",
    "ContactPoint",
    "ContactSphere",
    "ControllerError",
    "Event",
    "EventRecord",
    "Ground",
    "IntegrationError",
    "JointServos",
    "JointStops",
    "Log",
    "Material",
    "Scene",
    "Simulation",
    "WrenchProfile",
    "at_limits",
    "constant",
    "half_sine",
    "rectangle",
    "scene_for",
    "table",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'ada_dynamics.simulation' has no attribute {name!r}; it has {', '.join(__all__)}")
    from importlib import import_module

    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
