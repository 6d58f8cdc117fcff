# SPDX-License-Identifier: Apache-2.0
"""Unusable values are refused by the names that users know them by."""

import numpy as np
import pytest

import ada_dynamics as ada
from ada_dynamics.contact.contact import (
    Ball,
    Box,
    Capsule,
    Contact,
    ContactPair,
    ContactPoint,
    ContactSphere,
    Ground,
    Material,
    Plane,
)
from ada_dynamics.model.builder import chain_3d
from ada_dynamics.model.elements import Limits
from ada_dynamics.simulation import Event, JointStops
from ada_dynamics.simulation.forces import constant, half_sine, rectangle

W = [1.0, -2.0, 3.0, 0.1, 0.2, -0.3]


def arm(kind="revolute"):
    limits = Limits() if kind == "continuous" else Limits(-0.1, 0.2)
    builder = ada.Builder("arm").link("base").link("bob", 2.0, (0, 0, -1.0), (1.0, 1.0, 1.0))
    return builder.joint("joint", kind, "base", "bob", axis=(0, 1, 0), limits=limits).build()


def sim(**options):
    return ada.Simulation(arm(), **options)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Material(stiffness=0), "stiffness is 0; it must be a finite number, positive"),
        (lambda: Material(exponent=2), "exponent is 2; it must be 1"),
        (lambda: ContactPoint("toe", "foot", (0, 0)), "contact 'toe' of link 'foot': xyz is"),
        (lambda: Ball("foot", (0, 0, 0), np.inf), "ball of link 'foot': radius is inf"),
        (lambda: Capsule("leg", (0, 0, 1), (0, 0, 1), 0.1), "capsule of link 'leg': end is .* another point"),
        (lambda: Plane("leg", normal=(0, 0, 0)), "plane of link 'leg': normal is .* a direction"),
        (lambda: Box("leg", (1, 0, 1)), "box of link 'leg': size is"),
        (lambda: Ground(normal="up"), "ground: normal is 'up'; it must be 3 finite numbers"),
        (lambda: Contact(material=5.0), "contact: material is 5.0; it must be a Material"),
        (lambda: Contact(points=[ContactSphere("a", "foot", (0, 0, 0), 0.1)]), "points is .* a list of ContactPoint"),
        (lambda: Contact([ContactPoint("a", "x", (0, 0, 0))] * 2), "two contacts are named 'a'"),
        (lambda: ContactPair("p", "tip", Plane("leg")), "contact 'p': one is 'tip'"),
        (lambda: ContactPair("p", ContactPoint("a", "x", (0, 0, 0)), "leg"), "contact 'p': other is 'leg'"),
        (lambda: ContactPair("p", ContactPoint("a", "x", (0, 0, 0)), Plane("x")), "of link 'x' with itself"),
        (lambda: half_sine("hand", [1, 2, 3], 0, 1), r"'hand': wrench has shape \(3,\); .*6 finite numbers"),
        (lambda: half_sine("hand", [*W[:5], np.nan], 0, 1), r"link 'hand': wrench\[5\] is nan"),
        (lambda: rectangle("hand", W, 0, 0), "link 'hand': duration is 0; it must be positive"),
        (lambda: rectangle("hand", W, 0, 1, frame="body"), "frame is 'body'; it must be one of link, world"),
        (lambda: constant("hand", W, at=(0, 0)), r"link 'hand': at has shape \(2,\)"),
        (lambda: constant("hnad", W).resolve(chain_3d(2)), "no link is named 'hnad'"),
        (lambda: JointStops(0.0), "stops: stiffness is 0.0"),
        (lambda: JointStops(joints=[1]), r"stops: joints is \[1\]"),
        (lambda: JointStops(joints={"joint": 3.0}), "stops: joint 'joint' is 3.0; it must be"),
        (lambda: JointStops(joints={"elbow": (3.0, 1.0)}).resolve(arm()), "no joint is named 'elbow'"),
        (
            lambda: JointStops(joints={"joint": (3.0, 1.0)}).resolve(arm("continuous")),
            "joint 'joint' is continuous and has no finite position limits",
        ),
        (lambda: sim(**{"step": 0.0}), "step is 0.0; it must be a positive number"),
        (lambda: sim(**{"integrator": "euler"}), "integrator is 'euler'; it must be one of rkf45, rk4"),
        (lambda: sim(**{"log_every": 0}), "log_every is 0"),
        (lambda: sim(**{"control_period": 0.0}), "control_period is 0.0"),
        (lambda: sim(**{"tolerance": 0.0}), "tolerance is 0.0"),
        (lambda: sim(**{"q": [1.0, 2.0]}), r"q has shape \(2,\); model 'arm' needs \(1,\)"),
        (lambda: sim(**{"tau": [np.nan]}), r"tau\[0\] is nan; it must be 1 finite numbers"),
        (lambda: sim(**{"tau": [0.0], "controller": lambda t, q, v: [0.0]}), "tau and controller are both given"),
        (lambda: sim(**{"friction_speed": 0.0}), "friction_speed is 0.0; it must be a positive velocity"),
        (lambda: sim(**{"controller": 3.0}), "controller is 3.0; it must be a function of t, q and v"),
        (lambda: sim(**{"contact": "floor"}), "contact is 'floor'; it must be a Contact"),
        (lambda: sim(**{"stops": 100.0}), "stops is 100.0; it must be JointStops"),
        (lambda: sim(**{"events": [None]}), r"events\[0\] is .*an Event"),
        (lambda: sim(**{"external": [(1, 2)]}), r"external\[0\] is .*such as half_sine"),
        (lambda: sim(**{"external": constant("bob", (1,) * 6)}), r"external is .*it must be a list: external=\[...\]"),
        (lambda: sim(**{"events": Event("e", lambda t, q, v: t)}), r"events is Event\(.*must be a list"),
        (lambda: sim(**{"external": [half_sine("bib", (1,) * 6, 0, 1)]}), "no link is named 'bib'. Did you mean 'bob'"),
    ],
)
def test_unusable_values_are_refused_by_name(make, message):
    with pytest.raises(ada.InputError, match=message):
        make()
