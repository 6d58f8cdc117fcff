# SPDX-License-Identifier: Apache-2.0
"""Loads of a scenario: wrenches over time, and ground contact."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ada_dynamics.errors import unknown_name
from ada_dynamics.model.model import Model
from ada_tools.scenario import units
from ada_tools.scenario.fields import Part, refusal
from ada_tools.scenario.scenario import Scenario

if TYPE_CHECKING:
    from ada_dynamics.contact.contact import Contact
    from ada_dynamics.simulation.profiles import WrenchProfile

_MATERIAL = ("stiffness", "dissipation", "friction", "slip_speed")
_PLACE = (units.LENGTH,) * 3


def wrenches_on(scenario: Scenario, model: Model) -> tuple[WrenchProfile, ...]:
    """Disturbances of a scenario; raises ScenarioError for unknown links."""
    for i, one in enumerate(scenario.disturbances):
        if one.link not in model.links:
            problem = unknown_name("link", one.link, model.links)
            raise refusal(scenario.file, f"disturbances.{i}", problem)
    return scenario.disturbances


def contact_of(part: Part, model: Model) -> Contact:
    """Contact described by a scenario."""
    from ada_dynamics.contact.contact import Contact, ContactPoint, ContactSphere, Ground

    more: dict[str, Any] = {}
    if part.has("material"):
        more["material"] = _material(part.part("material", _MATERIAL))
    if part.has("ground"):
        ground = part.part("ground", ("height", "normal"))
        normal = ground.vector("normal", (units.NUMBER,) * 3) if ground.has("normal") else (0.0, 0.0, 1.0)
        more["ground"] = Ground(height=ground.quantity("height", units.LENGTH, 0.0), normal=normal)
    if part.has("soles"):
        if part.has("points") or part.has("spheres"):
            raise part.problem("soles", "give either soles, or points and spheres.")
        return Contact.of_soles(model, list(part.texts("soles")), **more)
    points = [
        ContactPoint(p.text("name"), p.text("link"), p.vector("xyz", _PLACE))
        for p in part.parts("points", ("name", "link", "xyz"))
    ]
    spheres = [
        ContactSphere(s.text("name"), s.text("link"), s.vector("xyz", _PLACE), s.positive("radius", units.LENGTH))
        for s in part.parts("spheres", ("name", "link", "xyz", "radius"))
    ]
    return Contact(points=points, spheres=spheres, **more)


def _material(part: Part) -> Any:
    from ada_dynamics.contact.contact import Material

    wanted = dict(zip(_MATERIAL, (units.STIFFNESS, units.Dimension(s=1, m=-1), units.NUMBER, units.SPEED), strict=True))
    return Material(**{key: part.quantity(key, wanted[key]) for key in part.keys()})  # noqa: SIM118
