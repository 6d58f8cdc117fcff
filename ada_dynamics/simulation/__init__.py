# SPDX-License-Identifier: Apache-2.0
"""Simulation: integrators, contact, stops, disturbances, logs and recordings."""

from ada_dynamics.simulation.contact import Contact, ContactPair, ContactPoint, ContactSphere, Ground
from ada_dynamics.simulation.control import CompiledController, ControllerError
from ada_dynamics.simulation.events import Event, at_limits
from ada_dynamics.simulation.log import EventRecord, Log
from ada_dynamics.simulation.material import Material
from ada_dynamics.simulation.profiles import WrenchProfile, constant, half_sine, rectangle, table
from ada_dynamics.simulation.servos import JointServos
from ada_dynamics.simulation.simulation import Simulation
from ada_dynamics.simulation.stepper import MotionError
from ada_dynamics.simulation.stops import JointStops

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
    "JointServos",
    "JointStops",
    "Log",
    "Material",
    "MotionError",
    "Simulation",
    "WrenchProfile",
    "at_limits",
    "constant",
    "half_sine",
    "rectangle",
    "table",
]
