# SPDX-License-Identifier: Apache-2.0
"""What tests of the browser view share: a pendulum, a four-bar of any lengths, a simulation that keeps its pushes."""

import numpy as np

import ada_dynamics as ada
from ada_dynamics.model import Builder


def pendulum():
    b = Builder("pendulum")
    b.link("base")
    b.link("bob", mass=2.0, com=(0, 0, -1.0), inertia=np.diag([0.1, 0.1, 0.01]))
    b.joint("swing", "continuous", "base", "bob", axis=(0, 1, 0))
    return b.build()


def rocker(crank, rod, rocker_length, base):
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


def pushable(model, step=2e-3):
    """A simulation that can be pushed, and the list in which it keeps each push: link, wrench, duration."""
    simulation = ada.Simulation(model, step=step, pushable=True)
    pushed, push = [], simulation.push

    def noted(link, wrench, duration, **options):
        pushed.append((link, np.asarray(wrench), duration))
        push(link, wrench, duration, **options)

    simulation.push = noted
    return simulation, pushed
