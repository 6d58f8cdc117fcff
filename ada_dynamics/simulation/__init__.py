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
_LAZY = {
    "ada_dynamics.contact.contact": ("Contact", "ContactPair", "ContactPoint", "ContactSphere", "Ground"),
    "ada_dynamics.contact.geometry": ("Material",),
    "ada_dynamics.contact.stops": ("JointStops",),
    "ada_dynamics.simulation.control": ("CompiledController", "ControllerError"),
    "ada_dynamics.simulation.events": ("Event", "at_limits"),
    "ada_dynamics.simulation.executors": ("IntegrationError",),
    "ada_dynamics.simulation.log": ("EventRecord", "Log"),
    "ada_dynamics.simulation.profiles": ("WrenchProfile", "constant", "half_sine", "rectangle", "table"),
    "ada_dynamics.simulation.scene": ("Scene", "scene_for"),
    "ada_dynamics.simulation.servos": ("JointServos",),
    "ada_dynamics.simulation.simulation": ("Simulation",),
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
    from importlib import import_module

    module = next((module for module, names in _LAZY.items() if name in names), None)
    if module is None:
        raise AttributeError(f"module 'ada_dynamics.simulation' has no attribute {name!r}; it has {', '.join(__all__)}")
    value = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
