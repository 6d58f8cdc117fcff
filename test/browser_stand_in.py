# SPDX-License-Identifier: Apache-2.0
"""What tests of the browser view share: a four-bar of any lengths, and a simulation as small as the view allows."""

import numpy as np

import ada_dynamics as ada
from ada_dynamics.model import Builder


def rocker(crank, rod, rocker_length, base):
    """A four-bar whose links have any lengths."""
    b = Builder("rocker")
    b.link("base")
    for i, length in enumerate((crank, rod, rocker_length), start=1):
        b.link(f"link_{i}", mass=1.0, com=(0, 0, 0.5 * length), inertia=np.diag([0.1, 0.1, 0.01]))
    b.joint("joint_1", "revolute", "base", "link_1", axis=(0, 1, 0))
    b.joint("joint_2", "revolute", "link_1", "link_2", axis=(0, 1, 0), xyz=(0, 0, crank))
    b.joint("joint_3", "revolute", "link_2", "link_3", axis=(0, 1, 0), xyz=(0, 0, rod))
    b.loop(
        "closing",
        "revolute",
        "link_3",
        "base",
        axis=(0, 1, 0),
        parent_xyz=(0, 0, rocker_length),
        child_xyz=(base, 0, 0),
    )
    return b.build()


class StandIn:
    """Runge-Kutta steps on the front door, without effort in the joints; pushes that end."""

    def __init__(self, model, q=None, step=2e-3):
        self.model, self.step_length = model, step
        self.dynamics = ada.Dynamics(model)
        self.start = model.neutral() if q is None else np.array(q, dtype=float)
        self.pushes = []  # link, wrench, end
        self.pushed = []
        self.reset()

    def reset(self, q=None, v=None):
        self.t, self.q = 0.0, (self.start if q is None else q).copy()
        self.v = np.zeros(self.model.nv) if v is None else v.copy()

    def push(self, link, wrench, duration):
        self.pushes.append((link, np.asarray(wrench), self.t + duration))
        self.pushed.append((link, np.asarray(wrench), duration))

    def step(self, n=1):
        for _ in range(n):
            self._step(self.step_length)

    def _step(self, h):
        self.pushes = [p for p in self.pushes if p[2] > self.t + 1e-12]
        external = {}
        for link, wrench, _ in self.pushes:  # in the world's axes, as those of ada.Simulation
            turn = np.kron(np.eye(2), self.dynamics.pose(link, self.q)[:3, :3].T)
            external[link] = external.get(link, 0.0) + turn @ wrench

        def rate(q, v):
            return self.dynamics.forward(q, v, np.zeros(self.model.nv), external or None)

        q, v, move = self.q, self.v, self.model.integrate
        a1 = rate(q, v)
        v2 = v + 0.5 * h * a1
        a2 = rate(move(q, v, 0.5 * h), v2)
        v3 = v + 0.5 * h * a2
        a3 = rate(move(q, v2, 0.5 * h), v3)
        v4 = v + h * a3
        a4 = rate(move(q, v3, h), v4)
        self.q, self.v = move(q, (v + 2 * v2 + 2 * v3 + v4) / 6, h), v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
        if self.model.loops:
            self.q, self.v = self.dynamics.project(self.q, self.v)
        self.t += h
