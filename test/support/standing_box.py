# SPDX-License-Identifier: Apache-2.0
"""A floating box with a lid on a hinge, and states in which it stands on contacts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pytest

import ada_dynamics as ada
from ada_dynamics.contact.contact import ContactFrame

CORNERS = {"a": (-0.2, -0.1, 0.0), "b": (0.2, -0.1, 0.0), "c": (0.2, 0.1, 0.0), "d": (-0.2, 0.1, 0.0)}
FRAMES = {**{n: ContactFrame("box", p) for n, p in CORNERS.items()}, "hand": ContactFrame("box", (0, 0, 1), "lid")}
WEIGHT = 10.0 * 9.81  # of box and lid


class Row(NamedTuple):
    t: float
    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray
    external: Mapping[str, np.ndarray] = {}
    contact: Mapping[str, np.ndarray] = {}


@pytest.fixture(scope="module")
def box():
    """A box afloat with a lid on a joint, its centre of mass above its middle."""
    builder = ada.Builder("box")
    builder.link("box", mass=8.0, com=(0.05, 0.0, 0.3), inertia=(0.1, 0.1, 0.1))
    builder.link("lid", mass=2.0, com=(0.05, 0.0, 0.0), inertia=(0.1, 0.1, 0.1))
    builder.joint("hinge", "revolute", "box", "lid", xyz=(0, 0, 0.5), axis=(1, 0, 0))
    model = builder.build("floating")
    return model, ada.Dynamics(model)


def standing(model, forces, height=1.5):
    """The box at some height on contacts that push up."""
    q = model.neutral()
    q[2] = height
    contact = {name: np.array([0, 0, forces.get(name, 0.0), 0, 0, 0]) for name in FRAMES}
    return Row(0.0, q, np.zeros(model.nv), np.zeros(model.nv), {}, contact)


EACH = {"a": 0.125 * WEIGHT, "b": 0.375 * WEIGHT, "c": 0.375 * WEIGHT, "d": 0.125 * WEIGHT}
