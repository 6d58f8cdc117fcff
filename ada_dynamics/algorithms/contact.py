# SPDX-License-Identifier: Apache-2.0
"""Compliant contact of points and spheres with the ground, and with simple shapes on other bodies.

Normal force of Hunt and Crossley (1975): f = k δ^p (1 + 3/2 e δ̇), not less than zero, with depth δ, p = 1 or 3/2, and
e, the loss of restitution per impact speed: 1 - e v for small e v. It is continuous at both ends of a contact and has
no adhesion. Coulomb friction with a slip speed v_s: f = -μ f_n v_t / √(|v_t|² + v_s²).

With a time step h the law is linearly implicit. To first order in h, the force at the end of a step with the
acceleration a is f + h K δ̇ - A a with A = h D + h² K along the normal (K = ∂f/∂δ, D = ∂f/∂δ̇) and A = h c in
tangential directions, where c is the secant μ f_n / √(|v_t|² + v_s²). A is symmetric and positive semidefinite, so (M +
Σ JᵀAJ) a = τ - h + Jᵀ(f + h K δ̇) can be solved for any stiffness.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from ada_dynamics import expr
from ada_dynamics.algorithms.kinematics import poses, transforms, velocities
from ada_dynamics.model.tree import WORLD, Tree
from ada_dynamics.spatial.inertia import ArticulatedInertia
from ada_dynamics.spatial.motion import NO_MOTION, Force, Motion
from ada_dynamics.spatial.rotation import IDENTITY
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vector import ZERO, ZERO33, Mat3, Scalar, Vec3, cross, symmetric

# --- shapes on bodies -----------------------------------------------------------------------------------------------
# Their constants are numbers in body axes, so that they are folded; the only branches are `expr.select`.
TINY = 1e-24  # [m²], squared distance below which a direction is undetermined


class Nearest(NamedTuple):
    """Signed distance of a point from a surface (negative inside), and the outward direction."""

    distance: Scalar
    outward: Vec3  # unit vector; zero if undetermined, as in the centre of a sphere


class BodyBall(NamedTuple):
    """A sphere; with radius zero a point."""

    body: int
    centre: Vec3
    radius: Scalar

    def nearest(self, x: Vec3) -> Nearest:
        """Signed distance of a point in body axes."""
        return _from_centre(x - self.centre, self.radius)


class BodyCapsule(NamedTuple):
    """All points within a radius of a line segment."""

    body: int
    start: Vec3
    end: Vec3
    radius: Scalar

    def nearest(self, x: Vec3) -> Nearest:
        """Signed distance of a point in body axes."""
        line, arm = self.end - self.start, x - self.start
        share = arm @ line * (1.0 / (line @ line))
        kept = expr.minimum(expr.maximum(share, 0.0), 1.0)
        return _from_centre(arm - kept * line, self.radius)


class BodyHalfSpace(NamedTuple):
    """All points behind a plane."""

    body: int
    point: Vec3
    normal: Vec3  # outward, unit length

    def nearest(self, x: Vec3) -> Nearest:
        """Signed distance of a point in body axes."""
        return Nearest(self.normal @ (x - self.point), self.normal)


class BodyBox(NamedTuple):
    """A cuboid."""

    body: int
    centre: Vec3
    axes: Mat3  # its orientation in the body
    half: Vec3  # half of its edges

    def nearest(self, x: Vec3) -> Nearest:
        """Signed distance of a point in body axes; inside, that from the nearest face."""
        own = self.axes.T @ (x - self.centre)
        side = [expr.select(c, 0.0, -1.0, 1.0) for c in own]
        over = [s * c - h for s, c, h in zip(side, own, self.half, strict=True)]
        beyond = [expr.maximum(o, 0.0) for o in over]
        square = sum((b * b for b in beyond), ZERO)
        length = expr.sqrt(expr.maximum(square, TINY))
        deepest = expr.maximum(expr.maximum(over[0], over[1]), over[2])
        # the face that is the least deep: 1 for one axis, 0 for the others
        on_x = expr.select(over[0], deepest, 0.0, 1.0)
        on_y = expr.select(over[1], deepest, 0.0, 1.0 - on_x)
        faces = (on_x, on_y, 1.0 - on_x - on_y)
        scale = 1.0 / length
        way = [expr.select(TINY, square, b * scale, face) * s for b, face, s in zip(beyond, faces, side, strict=True)]
        distance = expr.select(TINY, square, length, deepest)
        return Nearest(distance, self.axes @ Vec3(*way))


BodyObstacle: TypeAlias = BodyBall | BodyCapsule | BodyHalfSpace | BodyBox


def _from_centre(arm: Vec3, radius: Scalar) -> Nearest:
    length = expr.sqrt(expr.maximum(arm @ arm, TINY))
    return Nearest(length - radius, arm / length)


# --- contacts ---------------------------------------------------------------------------------------------------------
EXPONENTS = (1.0, 1.5)  # of the depth: a bed of springs, two balls (Hertz)


class Law(NamedTuple):
    """Constants of a contact."""

    stiffness: Scalar  # k [N/m^p]
    exponent: float  # p, one of EXPONENTS
    dissipation: Scalar  # e [s/m]
    friction: Scalar  # μ
    slip_speed: Scalar  # v_s [m/s]


class GroundContact(NamedTuple):
    """Contact of a sphere (or a point, with radius zero) on a moving body with the ground."""

    body: int
    point: Vec3  # its centre in the body's frame
    radius: Scalar
    law: Law
    normal: Vec3 = Vec3(0.0, 0.0, 1.0)  # of the ground, upward, unit length, in the world's axes
    height: Scalar = 0.0  # of the ground along its normal


class PairContact(NamedTuple):
    """Contact of a sphere (or a point, with radius zero) with a shape on another body; either body may be the world."""

    body: int
    point: Vec3
    radius: Scalar
    law: Law
    other: BodyObstacle


ContactData: TypeAlias = GroundContact | PairContact


class Load(NamedTuple):
    """Load of a contact on a body."""

    contact: int  # its number in the sequence given
    body: int
    force: Force  # on the body, about its origin, in its axes; with the part h K δ̇ where a step is given
    world: tuple[Scalar, ...]  # the law's own [force; moment] in this state, world's axes, about the contact's origin
    added: ArticulatedInertia | None  # the implicit part A at the body's origin, where a step is given


class NormalForce(NamedTuple):
    """f(δ, δ̇) and its partial derivatives."""

    force: Scalar
    by_depth: Scalar  # K = ∂f/∂δ
    by_rate: Scalar  # D = ∂f/∂δ̇


def normal_force(law: Law, depth: Scalar, rate: Scalar) -> NormalForce:
    """Hunt-Crossley force; the depth and the velocity factor are clipped at zero."""
    inside = expr.maximum(depth, 0.0)
    power = expr.sqrt(inside) if law.exponent == 1.5 else 1.0
    loss = 1.5 * law.dissipation
    grip = expr.maximum(1.0 + loss * rate, 0.0)
    spring = law.stiffness * (power * inside)
    slope = law.exponent * (law.stiffness * (power * grip))
    return NormalForce(spring * grip, expr.select(0.0, depth, slope, 0.0), expr.select(0.0, grip, loss * spring, 0.0))


def slip_resistance(law: Law, normal: Scalar, slip: Vec3) -> Scalar:
    """c = μ f_n / √(|v_t|² + v_s²); the friction force is -c v_t."""
    square = slip @ slip + law.slip_speed * law.slip_speed
    return law.friction * normal * (1.0 / expr.sqrt(square))


def _push(law: Law, depth: Scalar, n: Vec3, velocity: Vec3, step: Scalar | None) -> tuple[Vec3, Vec3, Mat3]:
    """Forces on a point: that of the law, the applied one, and the implicit part.

    Args:
        law: the contact law.
        depth: penetration depth [m].
        n: normal of the touched surface, towards the point.
        velocity: of the point relative to the surface [m/s].
        step: h of the linearly implicit law [s]; None for the law itself.
    """
    leaving = n @ velocity
    slip = velocity - leaving * n
    normal = normal_force(law, depth, -leaving)
    resistance = slip_resistance(law, normal.force, slip)
    friction = resistance * slip
    of_law = normal.force * n - friction
    if step is None:
        return of_law, of_law, ZERO33
    # a contact that ends within the step has neither stiffness nor adhesion
    coming = normal.force - step * (normal.by_depth * leaving)
    along = step * (normal.by_rate + step * normal.by_depth)
    along = expr.select(0.0, coming, along, 0.0)
    across = step * resistance
    applied = expr.maximum(coming, 0.0) * n - friction
    more = along - across
    # across (1 - n nᵀ) + along n nᵀ
    added = symmetric(lambda i, j: more * (n[i] * n[j]) + (across if i == j else 0.0))
    return of_law, applied, added


def contact_loads(
    tree: Tree, contacts: Sequence[ContactData], q: Sequence[Scalar], v: Sequence[Scalar], step: Scalar | None = None
) -> list[Load]:
    """Loads of all contacts: one per contact with the ground, one or two per pair of bodies.

    Args:
        tree: the mechanism for which the contacts were resolved.
        contacts: the contacts.
        q: positions.
        v: velocities.
        step: h of the linearly implicit law [s]; None for the law itself. Pairs are never implicit.
    """
    X = transforms(tree, q)
    world = poses(tree, X)
    moving = velocities(tree, X, q, v)
    loads: list[Load] = []
    for index, contact in enumerate(contacts):
        if isinstance(contact, GroundContact):
            pose = world[contact.body]
            x, arm, law, applied, added = _touch(contact, pose, moving[contact.body], step)
            inertia = ArticulatedInertia(ZERO33, ZERO33, added)
            implicit = None if step is None else Transform(IDENTITY, x).to_parent(inertia)
            force = Force(cross(x, applied), applied)
            loads.append(Load(index, contact.body, force, _in_world(pose, law, arm), implicit))
        else:
            loads += _pair_loads(index, contact, world, moving)
    return loads


def step_wrenches(
    tree: Tree,
    contacts: Sequence[ContactData],
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    after: Sequence[Scalar],
    step: Scalar,
) -> list[tuple[Scalar, ...]]:
    """Loads of the contacts during a linearly implicit step, as `Load.world`: applied - added · (ẋ⁺ - ẋ) / h.

    Arguments as of `contact_loads`, before the step, and the velocities after it.
    """
    X = transforms(tree, q)
    world = poses(tree, X)
    before, faster = velocities(tree, X, q, v), velocities(tree, X, q, after)
    found: list[tuple[Scalar, ...]] = []
    for index, contact in enumerate(contacts):
        if not isinstance(contact, GroundContact):
            found.append(_pair_loads(index, contact, world, before)[0].world)
            continue
        body = contact.body
        x, arm, _, applied, added = _touch(contact, world[body], before[body], step)
        change = 1.0 / step * (faster[body].at(x).linear - before[body].at(x).linear)
        found.append(_in_world(world[body], applied - added @ change, arm))
    return found


def _touch(
    contact: GroundContact, pose: Transform, moving: Motion, step: Scalar | None
) -> tuple[Vec3, Vec3, Vec3, Vec3, Mat3]:
    """Point of contact, arm from the sphere's centre to it, its lowest point, and the forces, in the body's axes."""
    n = pose.rotation.to_child(contact.normal)
    arm = -contact.radius * n
    x = contact.point + arm
    depth = contact.height - (contact.normal @ pose.position + n @ x)
    return x, arm, *_push(contact.law, depth, n, moving.at(x).linear, step)


def _in_world(pose: Transform, force: Vec3, arm: Vec3) -> tuple[Scalar, ...]:
    return (*pose.rotation.to_parent(force), *pose.rotation.to_parent(cross(arm, force)))


def _pair_loads(index: int, contact: PairContact, world: Sequence[Transform], moving: Sequence[Motion]) -> list[Load]:
    """Loads in world axes; both bodies have opposite forces at one point, so momentum is conserved."""
    other = contact.other
    mine, theirs = (Transform() if body == WORLD else world[body] for body in (contact.body, other.body))
    centre = mine.point(contact.point)
    near = other.nearest(theirs.rotation.to_child(centre - theirs.position))
    near = near._replace(outward=theirs.rotation.to_parent(near.outward))
    x = centre - (0.5 * (near.distance + contact.radius)) * near.outward  # midway between both surfaces
    relative = _velocity_at(contact.body, x, world, moving) - _velocity_at(other.body, x, world, moving)
    law, _, _ = _push(contact.law, contact.radius - near.distance, near.outward, relative, None)
    loads: list[Load] = []
    for body, frame, force, origin in ((contact.body, mine, law, centre), (other.body, theirs, -law, x)):
        if body != WORLD or not loads:  # the first load reports the force of the contact, also on the world
            local = frame.to_child(Force(cross(x, force), force))
            loads.append(Load(index, body, local, (*force, *cross(x - origin, force)), None))
    return loads


def _velocity_at(body: int, x: Vec3, world: Sequence[Transform], moving: Sequence[Motion]) -> Vec3:
    """Velocity of a body at a point in the world, in world axes."""
    if body == WORLD:
        return NO_MOTION.linear
    pose = world[body]
    local = pose.rotation.to_child(x - pose.position)
    return pose.rotation.to_parent(moving[body].at(local).linear)


def gather(loads: Sequence[Load]) -> tuple[dict[int, Force], dict[int, ArticulatedInertia]]:
    """Sums by body, as `external` and `added` of `aba.forward_dynamics`; loads on the world are omitted."""
    external: dict[int, Force] = {}
    added: dict[int, ArticulatedInertia] = {}
    for load in loads:
        i = load.body
        if i == WORLD:
            continue
        external[i] = external[i] + load.force if i in external else load.force
        if load.added is not None:
            added[i] = added[i] + load.added if i in added else load.added
    return external, added
