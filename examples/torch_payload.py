# SPDX-License-Identifier: Apache-2.0
"""Mass and centre of mass of a payload by torch, from noisy torques: the robot's regressor is a layer of the model."""

import numpy as np
import torch

import ada_dynamics as ada
from ada_dynamics.model import edit

rng, BOX = np.random.default_rng(0), (0.05, -0.02, 0.12)  # centre of mass from the axes of link 7 [m]
payload = ada.Builder("payload").link("box", 3.0, BOX, (0.01, 0.02, 0.01)).build()
model = ada.load("pa10")
q, v, a = rng.uniform(-1, 1, (300, 7)), rng.normal(size=(300, 7)), 5.0 * rng.normal(size=(300, 7))
with_payload = ada.Dynamics(edit.merge(model, payload, "link_7"))
measured = torch.tensor(with_payload.inverse(q, v, a) + 0.5 * rng.normal(size=(300, 7)))

dynamics = ada.Dynamics(model)
own = [i for i, name in enumerate(dynamics.parameters) if name.startswith("link_7.")]
Y, alone = torch.tensor(dynamics.regressor(q, v, a)[..., own]), torch.tensor(dynamics.inverse(q, v, a))
log_mass, centre, spread = (torch.zeros(n, dtype=torch.float64, requires_grad=True) for n in (1, 3, 3))


def carried():
    """The payload's share of link 7's parameters: mass, first moments, inertia about the link's origin."""
    mass, S = log_mass.exp(), torch.linalg.cross(torch.eye(3, dtype=torch.float64), centre.expand(3, 3))
    inertia = torch.diag(1e-2 * spread.exp()) + mass * S.T @ S
    return torch.cat([mass, mass * centre, inertia[tuple(torch.triu_indices(3, 3))]])


optimiser = torch.optim.LBFGS([log_mass, centre, spread], max_iter=200, line_search_fn="strong_wolfe")


def unexplained():
    """Mean square of what is left of the torques."""
    optimiser.zero_grad()
    loss = (alone + Y @ carried() - measured).square().mean()
    loss.backward()
    return loss


optimiser.step(unexplained)
print(f"mass {log_mass.exp().item():.3f} kg (3), centre {centre.detach().numpy().round(4)} m {BOX}")
