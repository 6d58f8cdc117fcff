# SPDX-License-Identifier: Apache-2.0
"""The equations of contact and stops under the plainest integrators, for tests: independent of the simulator."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

import ada_dynamics as ada
from ada_dynamics.algorithms import aba
from ada_dynamics.algorithms.contact import contact_loads, gather
from ada_dynamics.algorithms.joint_loads import joint_loads, without_friction
from ada_dynamics.dynamics.quantities.base import position_rates
from ada_dynamics.expr import python_source, trace
from ada_dynamics.jit import Kernel, Signature
from ada_dynamics.model.builder import Builder


@dataclass
class Motion:
    """Rows of a motion."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    world: np.ndarray  # (N, contacts, 6), the law's wrenches


class Mechanism:
    """A model with contacts and stops."""

    def __init__(self, model, contact=None, stops=None, friction_speed=None):
        self.model, tree = model, model.tree
        contacts = contact.resolve(model) if contact else ()
        limits = stops.resolve(model) if stops else ()
        moving = without_friction(tree)
        count = len(contacts)
        self._quaternions = [slice(b.q.stop - 4, b.q.stop) for b in tree.bodies if b.joint.kind == "floating"]

        def loads(q, v, step):
            external, added = gather(contact_loads(tree, contacts, q, v, step))
            tau, armature = joint_loads(tree, limits, friction_speed or 1.0, q, v, step)
            return external, added, tau, armature

        def rate(q, v):
            external, _, tau, _ = loads(q, v, None)
            world = [load.world for load in contact_loads(tree, contacts, q, v)[:count]]
            a = aba.forward_dynamics(moving, q, v, tau, external)
            return {"rate": position_rates(tree, q, v), "a": a, **({"world": world} if count else {})}

        def implicit(q, v, h):
            external, added, tau, armature = loads(q, v, h[0])
            return {"a": aba.forward_dynamics(moving, q, v, tau, external, added, armature)}

        self.rate = _kernel("rate", {"q": tree.nq, "v": tree.nv}, rate)
        self.implicit = _kernel("implicit", {"q": tree.nq, "v": tree.nv, "h": 1}, implicit)

    def rk4(self, q, v, h, steps):
        """Runge and Kutta's method on q and v; quaternions are brought to unit length after each step."""

        def slope(q, v):
            found = self.rate.single(q, v)
            return found[0], found[1]

        def step(q, v):
            a, b = slope(q, v)
            c, d = slope(q + h / 2 * a, v + h / 2 * b)
            e, f = slope(q + h / 2 * c, v + h / 2 * d)
            g, i = slope(q + h * e, v + h * f)
            return q + h / 6 * (a + 2 * c + 2 * e + g), v + h / 6 * (b + 2 * d + 2 * f + i)

        return self._march(q, v, h, steps, step)

    def linearly_implicit(self, q, v, h, steps):
        """v⁺ = v + h a, q⁺ = q + h q̇(q, v⁺)."""

        def step(q, v):
            v = v + h * self.implicit.single(q, v, np.array([h]))
            return self.model.integrate(q, v, h), v

        return self._march(q, v, h, steps, step)

    def _march(self, q, v, h, steps, step):
        q, v = np.array(q, dtype=float), np.array(v, dtype=float)
        rows_q, rows_v = [q], [v]
        for _ in range(steps):
            q, v = step(q, v)
            for own in self._quaternions:
                q[own] /= np.linalg.norm(q[own])
            rows_q.append(q)
            rows_v.append(v)
        Q, V = np.array(rows_q), np.array(rows_v)
        found = self.rate.batch(Q, V)
        world = found[2] if len(found) > 2 else np.zeros((len(Q), 0, 6))
        return Motion(h * np.arange(steps + 1), Q, V, world)


def _kernel(name, inputs, body):
    function = trace(name, inputs, body)
    key = hashlib.blake2b(python_source(function).encode()).hexdigest()
    return Kernel(Signature.of(function), lambda: function, f"contact_motion {name} {key}")


def body(mass=1.0, size=(0.2, 0.2, 0.1), *, shape="box", gravity=(0.0, 0.0, -9.81)):
    """A free cuboid, or a ball of radius size[0] / 2."""
    x, y, z = size
    inertia = mass / 12 * np.array([y * y + z * z, x * x + z * z, x * x + y * y])
    if shape == "ball":
        inertia = np.full(3, 0.4 * mass * (x / 2) ** 2)
    return Builder(f"free_{shape}").link("body", mass, inertia=inertia).build(base="floating", gravity=gravity)


def energy(model, motion):
    """Kinetic and potential energy of all rows."""
    found = ada.Dynamics(model).energy(motion.q, motion.v)
    return found.kinetic + found.potential
