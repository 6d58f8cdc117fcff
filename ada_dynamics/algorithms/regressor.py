# SPDX-License-Identifier: Apache-2.0
"""Regressor of inverse dynamics: efforts are linear in masses, losses, rotors and springs, τ = Y(q, v, a) π.

(Atkeson, An and Hollerbach 1986.) A column is the result of the Newton-Euler algorithm for one parameter: one unit of
it causes a wrench on its body, which the joints towards the base carry.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ada_dynamics.algorithms.kinematics import at_rest, inward_sums, motions, transforms
from ada_dynamics.algorithms.passive import passive_efforts
from ada_dynamics.algorithms.rnea import gather_efforts, needed_force, rotor_efforts
from ada_dynamics.expr import extract
from ada_dynamics.expr.per_lane import per_lane
from ada_dynamics.model.joints import SPRUNG
from ada_dynamics.model.tree import Body, Tree
from ada_dynamics.spatial.inertia import RigidInertia
from ada_dynamics.spatial.motion import NO_FORCE
from ada_dynamics.spatial.vector import Mat3, Scalar, Vec3

# Inertial parameters of a body about the origin and in the axes of the link that its joint carries.
INERTIAL = ("mass", "mx", "my", "mz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
OF_JOINT = ("damping", "friction", "armature")  # and stiffness, where the type of joint has springs
_TOGETHER = (INERTIAL[:8], INERTIAL[8:])  # lanes of one sweep


def parameters(tree: Tree, links: Sequence[str]) -> dict[str, float]:
    """Values of all parameters by name, in the order of the columns: those of a link, then those of its joint.

    Args:
        tree: the mechanism, with numbers.
        links: the link that each body's joint carries; links fixed to it are included.
    """
    found: dict[str, float] = {}
    for body, link in zip(tree.bodies, links, strict=True):
        m, h, about = body.inertia.in_parent(tree.frames[link].pose.inverse())
        values = (m, *h, about[0][0], about[0][1], about[0][2], about[1][1], about[1][2], about[2][2])
        found.update({f"{link}.{name}": float(x) for name, x in zip(INERTIAL, values, strict=True)})
        found.update({f"{body.name}.{name}": float(getattr(body, name)) for name in _of_joint(body)})
    return found


def regressor(
    tree: Tree, links: Sequence[str], q: Sequence[Scalar], v: Sequence[Scalar], a: Sequence[Scalar]
) -> list[list[Scalar]]:
    """Y, one row per velocity."""
    X = transforms(tree, q)
    moving = motions(tree, X, q, v, a, at_rest(-tree.gravity))
    columns: list[list[Scalar]] = []
    for body, link in zip(tree.bodies, links, strict=True):
        for names in _TOGETHER:
            own = [NO_FORCE] * len(tree.bodies)
            own[body.index] = needed_force(_unit(names).in_parent(tree.frames[link].pose), moving[body.index])
            efforts = gather_efforts(tree, q, inward_sums(tree, X, own))
            columns += [[extract(x, lane) for x in efforts] for lane in range(len(names))]
        columns += [_efforts_for_one(tree, body, name, q, v, a) for name in _of_joint(body)]
    return [list(row) for row in zip(*columns, strict=True)]


def _unit(names: Sequence[str]) -> RigidInertia:
    """Inertia in lanes: in lane i the parameter i of `names` is 1 and all others are 0."""

    def lanes(name: str) -> Scalar:
        result: Scalar = per_lane([float(own == name) for own in names])
        return result

    xx, xy, xz, yy, yz, zz = map(lanes, INERTIAL[4:])
    return RigidInertia(
        lanes("mass"), Vec3(*map(lanes, INERTIAL[1:4])), Mat3(Vec3(xx, xy, xz), Vec3(xy, yy, yz), Vec3(xz, yz, zz))
    )


def _of_joint(body: Body) -> tuple[str, ...]:
    return (*OF_JOINT, "stiffness") if body.joint.kind in SPRUNG else OF_JOINT


def _efforts_for_one(
    tree: Tree, body: Body, name: str, q: Sequence[Scalar], v: Sequence[Scalar], a: Sequence[Scalar]
) -> list[Scalar]:
    """Efforts for one unit of damping, friction, armature or stiffness."""
    only = replace(body, damping=0.0, friction=0.0, armature=0.0, stiffness=0.0)
    alone = replace(tree, bodies=(replace(only, **{name: 1.0}),))  # type: ignore[arg-type]
    parts = zip(rotor_efforts(alone, a), passive_efforts(alone, q, v), strict=True)
    return [rotor + passive for rotor, passive in parts]
