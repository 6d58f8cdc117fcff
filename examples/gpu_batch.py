# SPDX-License-Identifier: Apache-2.0
"""A million five-bars on a graphics processor: torch tensors in and out, nothing copied."""

import sys

import numpy as np

import ada_dynamics as ada

model = ada.load("five_bar")
try:
    import torch

    dyn = ada.Dynamics(model, device="cuda")
except (ImportError, ada.DeviceError) as missing:
    sys.exit(print(f"This example needs torch and an NVIDIA graphics processor: {missing}"))

rng, start = np.random.default_rng(0), ada.close_loops(model, model.neutral())
near = start + 0.05 * rng.normal(size=(1000, model.nv))
q, v = dyn.project_to_constraints(near, rng.normal(size=near.shape))  # on the loops
q, v = (torch.tensor(x.T, device="cuda").repeat(1, 1000).T for x in (q, v))  # a million, in columns
tau = torch.randn(model.nv, len(q), dtype=torch.float64, device="cuda").T  # [N m]

a = torch.from_dlpack(dyn.forward(q, v, tau))  # [rad/s²]
print(f"{len(a)} closed loops on {torch.cuda.get_device_name()}: accelerations up to {a.abs().max():.3g} rad/s²")
