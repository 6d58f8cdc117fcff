# SPDX-License-Identifier: Apache-2.0
"""Contacts as a user gives them: from shapes of a model, in frames of bodies, and what is refused."""

import numpy as np
import pytest

import ada_dynamics as ada
from ada_dynamics.algorithms.contact import GroundContact, PairContact
from ada_dynamics.contact.contact import Contact, ContactPair, ContactPoint, ContactSphere, Ground, Material, Plane
from ada_dynamics.model.builder import Builder
from ada_dynamics.model.elements import Shape
from ada_dynamics.spatial.vector import Vec3


def walker():
    """A hip with two feet that have soles, and a ball for a head."""
    sole = Shape("box", (0.2, 0.1, 0.02), xyz=(0.02, 0.0, -0.01))
    builder = Builder("walker").link(
        "hip",
        2.0,
        inertia=(0.1,) * 3,
        collisions=[Shape("box", (0.1, 0.3, 0.1)), Shape("sphere", (0.08,), xyz=(0, 0, 0.2))],
    )
    for side, y in (("left", 0.1), ("right", -0.1)):
        builder.link(
            f"{side}_leg", 0.5, inertia=(0.01,) * 3, visuals=[Shape("capsule", (0.03, 0.2), xyz=(0, 0, -0.15))]
        )
        builder.link(f"{side}_foot", 0.3, inertia=(0.001,) * 3, visuals=[sole])
        builder.joint(f"{side}_hip", "revolute", "hip", f"{side}_leg", xyz=(0, y, 0), axis=(0, 1, 0))
        builder.joint(f"{side}_ankle", "fixed", f"{side}_leg", f"{side}_foot", xyz=(0, 0, -0.3))
    return builder.build(base="floating")


def test_soles_are_the_lower_corners_of_the_lowest_boxes():
    contact = Contact.of_soles(walker())
    assert [p.link for p in contact.points] == ["left_foot"] * 4 + ["right_foot"] * 4
    assert contact.names[:4] == [f"left_foot_{i}" for i in (1, 2, 3, 4)]
    found = {tuple(np.round(p.xyz, 12)) for p in contact.points[:4]}
    assert found == {(x, y, -0.02) for x in (-0.08, 0.12) for y in (-0.05, 0.05)}
    assert contact.material == Material.for_weight(walker().total_mass)


def test_contacts_of_links_that_are_fixed_to_others_are_resolved_in_the_frame_of_their_body():
    model = walker()
    contact = Contact([ContactPoint("heel", "left_foot", (0.1, 0, 0))], ground=Ground(0.5, (0, 0, 2.0)))
    (found,) = contact.resolve(model)
    assert isinstance(found, GroundContact)
    assert model.tree.bodies[found.body].name == "left_hip"
    frame = model.tree.frames["left_foot"]
    assert found.point == pytest.approx(frame.pose.point(Vec3(0.1, 0.0, 0.0)))
    assert (found.height, found.normal) == (0.5, (0.0, 0.0, 1.0))


def test_a_contact_keeps_its_own_material_and_pairs_theirs():
    rubber, steel = Material(friction=1.2), Material(stiffness=1e5)
    sphere = ContactSphere("ball", "hip", (0, 0, 0), 0.1, rubber)
    pair = ContactPair("knock", ContactPoint("tip", "left_leg", (0, 0, 0)), Plane("world"), steel)
    found = Contact(spheres=[sphere], pairs=[pair]).resolve(walker())
    assert found[0].law == rubber.law() and found[1].law == steel.law()
    assert isinstance(found[1], PairContact) and found[1].other.body == -1


def test_a_material_for_a_weight_is_as_stiff_as_the_step_allows():
    slow, fast = Material.for_weight(1.0, step=5e-3), Material.for_weight(1.0, step=1e-4)
    assert slow.stiffness < fast.stiffness == pytest.approx(9.81 / 4 / 5e-4)
    assert Material.for_weight(20.0, 8).stiffness == pytest.approx(20.0 * 9.81 / 8 / 5e-4)
    assert slow.slip_speed > fast.slip_speed
    default = Material()
    assert Material.for_weight(1.0).stiffness == pytest.approx(default.stiffness, rel=0.02)


def test_links_that_are_unknown_or_cannot_move_and_shapes_that_do_not_fit_are_refused():
    model = walker()
    toe, pair = ContactPoint("a", "left_leg", (0, 0, 0)), Plane("left_foot")
    bare = Builder("bare").link("body", 1.0, inertia=(1, 1, 1)).build(base="floating")
    for refused in (
        lambda: Contact([ContactPoint("a", "left_fot", (0, 0, 0))]).resolve(model),
        lambda: Contact.of_soles(model, ["fot"]),
        lambda: Contact.of_soles(model, ["left_leg"]),
        lambda: Contact([ContactPoint("a", "world", (0, 0, 0))]).resolve(model),
        lambda: Contact(pairs=[ContactPair("p", toe, pair)]).resolve(model),
        lambda: Contact.of_soles(bare),
    ):
        with pytest.raises(ada.InputError):
            refused()
