# SPDX-License-Identifier: Apache-2.0
"""A PA-10 with a payload and damping along an excitation trajectory, as a recording."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import ada_dynamics as ada
from ada_dynamics.identification import excitation
from ada_dynamics.model.edit import with_parts

PAYLOAD = 4.0  # [kg] more than the catalogue's last link
ASKED = ("--parameters", "link_7.*", "*.damping")


def recorded_arm() -> ada.Log:
    """8 s at 500 Hz; efforts by the dynamics of the changed arm."""
    model = ada.load("pa10")
    way = excitation(model, parameters="link_7.*", evaluations=1, period=4.0)
    t = 0.002 * np.arange(4001)
    q, v, a = way.states(t)
    link = model.links["link_7"]
    lossy = [replace(model.joints[name], damping=1.5) for name in model.joint_names]
    heavy = with_parts(model, replace(link, mass=link.mass + PAYLOAD), *lossy)
    return ada.Log(model, t, q, v, a, ada.Dynamics(heavy).inverse(q, v, a))
