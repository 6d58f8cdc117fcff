# SPDX-License-Identifier: Apache-2.0
"""Forces in a simulation: contact, joint stops, friction, external wrenches and servos."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ada_dynamics.arrays import Array
from ada_dynamics.contact import stops as joint_stops
from ada_dynamics.contact.contact import Contact, contact_rate
from ada_dynamics.contact.stops import FRICTION_SPEED, JointStops
from ada_dynamics.model.model import Model
from ada_dynamics.model.tree import Tree
from ada_dynamics.simulation.control import CompiledController
from ada_dynamics.simulation.options import Stiffness, as_tuple, invalid, is_positive
from ada_dynamics.simulation.profiles import WrenchProfile
from ada_dynamics.simulation.servos import JointServos, ServoBank
from ada_dynamics.simulation.state_equations import Loads
from ada_dynamics.simulation.system import has_friction


@dataclass(frozen=True)
class Forces:
    """Forces of a simulation in addition to weight and joint torques.

    Attributes:
        contact: contact with the ground and between links.
        stops: joint stops at the position limits.
        friction_speed: velocity below which Coulomb friction in joints is regularized [rad/s, m/s].
        external: external wrenches over time.
        servos: servos of the actuated joints.
        pushable: True if `Simulation.push` is available.
    """

    contact: Contact | None = None
    stops: JointStops | None = None
    friction_speed: float = FRICTION_SPEED
    external: Sequence[WrenchProfile] = ()
    servos: JointServos | None = None
    pushable: bool = False

    def __post_init__(self) -> None:
        """Check the types."""
        object.__setattr__(self, "external", as_tuple("external", self.external))
        wanted: list[tuple[str, object, type, str]] = [
            ("contact", self.contact, Contact, "a Contact, such as Contact.of_soles(model)"),
            ("stops", self.stops, JointStops, "JointStops"),
            ("servos", self.servos, JointServos, "JointServos"),
        ]
        for name, given, kind, requirement in wanted:
            if given is not None and not isinstance(given, kind):
                raise invalid(name, given, requirement)
        for i, profile in enumerate(self.external):
            if not isinstance(profile, WrenchProfile):
                raise invalid(f"external[{i}]", profile, "a profile, such as half_sine(...)")
        if not is_positive(self.friction_speed):
            raise invalid("friction_speed", self.friction_speed, "a positive velocity [rad/s, m/s]")

    def __str__(self) -> str:
        """Names of the forces that are present."""
        parts = {
            "contact": self.contact,
            "stops": self.stops,
            "servos": self.servos,
            "external wrenches": self.external,
        }
        return ", ".join(name for name, part in parts.items() if part)

    def loads(self, model: Model, tree: Tree, bank: ServoBank | None, law: CompiledController | None) -> Loads:
        """Return the loads on a tree as the equations of motion use them, with a control law that acts continuously."""
        return Loads(
            contacts=() if self.contact is None else self.contact.resolve(model, tree),
            applied=tuple(profile.resolve(model, tree) for profile in self.external),
            pushes=self.pushable,
            stops=() if self.stops is None else self.stops.resolve(model, tree),
            friction_speed=self.friction_speed if has_friction(model) else None,
            servos=() if bank is None else bank.resolve(tree),
            law=None if law is None else law.law,
            tag="" if law is None else law.tag(model),
        )

    def stiffest(self, model: Model, q: Array, bank: ServoBank | None = None) -> list[Stiffness]:
        """Return the fastest response of contacts, of joint stops and friction, and of servos in a configuration."""
        contact = 0.0 if self.contact is None else contact_rate(model, self.contact, q)
        joints = joint_stops.stop_rate(model, self.stops, self.friction_speed, q)
        return [
            Stiffness("contacts", contact),
            Stiffness("joint stops and friction", joints),
            Stiffness("servos", 0.0 if bank is None else bank.fastest_rate),
        ]

    def info(self, model: Model) -> dict[str, Any]:
        """Return the settings that an energy balance of the log needs."""
        friction = {"friction_speed": self.friction_speed} if has_friction(model) else {}
        return friction | ({} if self.stops is None else {"stops": asdict(self.stops)})
