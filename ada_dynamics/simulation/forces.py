# SPDX-License-Identifier: Apache-2.0
"""Forces on a robot in a simulation, beside its weight and the efforts that its motors are given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ada_dynamics.arrays import Array
from ada_dynamics.contact import stops as joint_stops
from ada_dynamics.contact.contact import Contact, contact_rate
from ada_dynamics.contact.stops import FRICTION_SPEED, JointStops
from ada_dynamics.errors import InputError
from ada_dynamics.model.model import Model
from ada_dynamics.model.tree import Tree
from ada_dynamics.simulation.control import CompiledController
from ada_dynamics.simulation.options import Stiffness, as_tuple, is_positive
from ada_dynamics.simulation.profiles import WrenchProfile
from ada_dynamics.simulation.servos import JointServos, ServoBank
from ada_dynamics.simulation.state_equations import Loads
from ada_dynamics.simulation.system import has_friction


@dataclass(frozen=True)
class Forces:
    """The parts that a user gives, checked.

    Attributes:
        contact: with the ground and between links.
        stops: soft ones, at position limits.
        friction_speed: speed under which Coulomb friction in joints is as good as viscous [rad/s, m/s].
        external: wrenches on links over time.
        servos: of the motors.
        pushable: whether links can be pushed.
    """

    contact: Contact | None = None
    stops: JointStops | None = None
    friction_speed: float = FRICTION_SPEED
    external: Sequence[WrenchProfile] = ()
    servos: JointServos | None = None
    pushable: bool = False

    def __post_init__(self) -> None:
        """Refuse parts of the wrong kind by name."""
        object.__setattr__(self, "external", as_tuple("external", self.external))
        wanted: list[tuple[str, object, type, str]] = [
            ("contact", self.contact, Contact, "a Contact, such as Contact.of_soles(model) gives"),
            ("stops", self.stops, JointStops, "JointStops"),
            ("servos", self.servos, JointServos, "JointServos"),
        ]
        wanted = [one for one in wanted if one[1] is not None]
        for i, profile in enumerate(self.external):
            wanted.append((f"external[{i}]", profile, WrenchProfile, "made by half_sine, table, ..."))
        for name, given, kind, words in wanted:
            if not isinstance(given, kind):
                raise InputError(f"{name} is {given!r:.80}; it must be {words}.")
        if not is_positive(self.friction_speed):
            raise InputError(f"friction_speed is {self.friction_speed!r}; it must be a positive speed [rad/s, m/s].")

    def __str__(self) -> str:
        """The parts there are, in words."""
        parts = {
            "contact": self.contact,
            "stops": self.stops,
            "servos": self.servos,
            "external wrenches": self.external,
        }
        return ", ".join(name for name, part in parts.items() if part)

    def loads(self, model: Model, tree: Tree, bank: ServoBank | None, law: CompiledController | None) -> Loads:
        """As the equations of motion take them: on a tree, with a law within the equations."""
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
        """Contacts, joint stops with damping and friction, and servos: each by what reacts fastest in a pose."""
        contact = 0.0 if self.contact is None else contact_rate(model, self.contact, q)
        joints = joint_stops.stop_rate(model, self.stops, self.friction_speed, q)
        return [
            Stiffness("contacts", contact),
            Stiffness("joint stops and friction", joints),
            Stiffness("servos", 0.0 if bank is None else bank.fastest_rate),
        ]

    def info(self, model: Model) -> dict[str, Any]:
        """Quantities from which a log accounts for all energy."""
        friction = {"friction_speed": self.friction_speed} if has_friction(model) else {}
        return friction | ({} if self.stops is None else {"stops": asdict(self.stops)})
