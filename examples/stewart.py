# SPDX-License-Identifier: Apache-2.0
"""Forces in the legs of a Gough-Stewart platform that holds a payload, against the closed form for equal legs."""

import numpy as np

import ada_dynamics as ada
from ada_dynamics.robots.mechanisms import stewart

G, PAYLOAD, HEIGHT = 9.81, 20.0, 0.7  # [m/s²], [kg], [m]


def leg_forces(model: ada.Model, q: np.ndarray, offset: float = 0.0) -> np.ndarray:
    """Motor forces [N] that hold the platform at rest, with the payload off its middle along x [m]."""
    dyn, rest = ada.Dynamics(model, q0=q), np.zeros(model.nv)
    down = dyn.pose("platform", q)[:3, :3].T @ (0, 0, -PAYLOAD * G)  # its weight, in the platform's axes
    payload = [*down, *np.cross((offset, 0, 0), down)]
    efforts = dyn.inverse(q, rest, rest, external={"platform": payload})
    return efforts[[model.v_index(leg).start for leg in model.actuated]]


# Level and centred, all six legs are alike, and virtual work along the vertical gives the force of each.
model, q = stewart(position=(0, 0, HEIGHT), rpy=(0, 0, 0))
L = 0.4 + q[model.q_index("leg_1_slide")][0]  # length of a leg [m]
steep = (HEIGHT / L) ** 2
sleeve, piston = 1.5 * 0.175, 0.6 * (L - 0.25)  # mass times distance of the CoM from the hip [kg m]
lifted = (
    10 + PAYLOAD + 6 * ((sleeve + piston) / L * (1 - steep) + 0.6 * steep)
)  # [kg], as if all rose like the platform
print("centred payload of 20 kg [N]:", leg_forces(model, q).round(6))
print("closed form             [N]:", round(float(G * lifted * L / (6 * HEIGHT)), 6))

# Tilted, with the payload 0.1 m off the middle, each leg carries something else.
tilted, at = stewart()
print("tilted, payload off the middle [N]:", leg_forces(tilted, at, 0.1).round(3))
