# SPDX-License-Identifier: Apache-2.0
"""Simulation: integrators, contact, joint stops, servos, external wrenches, logs and recordings."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ada_dynamics.contact.contact import Contact as Contact
    from ada_dynamics.contact.contact import ContactPair as ContactPair
    from ada_dynamics.contact.contact import ContactPoint as ContactPoint
    from ada_dynamics.contact.contact import ContactSphere as ContactSphere
    from ada_dynamics.contact.contact import Ground as Ground
    from ada_dynamics.contact.geometry import Material as Material
    from ada_dynamics.contact.stops import JointStops as JointStops
    from ada_dynamics.simulation.control import CompiledController as CompiledController
    from ada_dynamics.simulation.control import ControllerError as ControllerError
    from ada_dynamics.simulation.events import Event as Event
    from ada_dynamics.simulation.forces import WrenchProfile as WrenchProfile
    from ada_dynamics.simulation.forces import constant as constant
    from ada_dynamics.simulation.forces import half_sine as half_sine
    from ada_dynamics.simulation.forces import rectangle as rectangle
    from ada_dynamics.simulation.integrator import IntegrationError as IntegrationError
    from ada_dynamics.simulation.log import EventRecord as EventRecord
    from ada_dynamics.simulation.log import Log as Log
    from ada_dynamics.simulation.scene import Scene as Scene
    from ada_dynamics.simulation.scene import scene_for as scene_for
    from ada_dynamics.simulation.servos import JointServos as JointServos
    from ada_dynamics.simulation.simulation import Simulation as Simulation

# Modules are imported on first use, which shortens the start of nodes that need a part of them.
_LAZY = {
    "ada_dynamics.contact.contact": ("Contact", "ContactPair", "ContactPoint", "ContactSphere", "Ground"),
    "ada_dynamics.contact.geometry": ("Material",),
    "ada_dynamics.contact.stops": ("JointStops",),
    "ada_dynamics.simulation.control": ("CompiledController", "ControllerError"),
    "ada_dynamics.simulation.events": ("Event",),
    "ada_dynamics.simulation.integrator": ("IntegrationError",),
    "ada_dynamics.simulation.log": ("EventRecord", "Log"),
    "ada_dynamics.simulation.forces": ("WrenchProfile", "constant", "half_sine", "rectangle"),
    "ada_dynamics.simulation.scene": ("Scene", "scene_for"),
    "ada_dynamics.simulation.servos": ("JointServos",),
    "ada_dynamics.simulation.simulation": ("Simulation",),
}

__all__ = sorted(name for names in _LAZY.values() for name in names)


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
