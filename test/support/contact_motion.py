# SPDX-License-Identifier: Apache-2.0
"""Motions of bodies in contact and of joints in stops, for tests against closed forms."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

import ada_dynamics as ada
from ada_dynamics.model.builder import Builder
from ada_dynamics.simulation.methods import StiffStepWarning


class Motion(NamedTuple):
    """Rows of a motion."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    world: np.ndarray  # (N, contacts, 6), wrenches of the contacts


def moved(model, q, v, h, steps, integrator="rk4", **options):
    """A row for each step; what an explicit step cannot follow is not warned of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StiffStepWarning)
        warnings.simplefilter("ignore", ada.IntegrationAccuracyWarning)
        log = ada.Simulation(model, q, v, integrator=integrator, step=h, **options).run(h * steps)
    world = [*log.contact_wrenches.values()] or [np.zeros((0, 6))]
    return Motion(log.t, log.q, log.v, np.stack(world, axis=1))


def body(mass=1.0, size=(0.2, 0.2, 0.1), *, shape="box", gravity=(0.0, 0.0, -9.81)):
    """A free cuboid, or a ball of radius size[0] / 2."""
    x, y, z = size
    inertia = mass / 12 * np.array([y * y + z * z, x * x + z * z, x * x + y * y])
    if shape == "ball":
        inertia = np.full(3, 0.4 * mass * (x / 2) ** 2)
    return Builder(f"free_{shape}").link("body", mass, inertia=inertia).build(base="floating", gravity=gravity)
