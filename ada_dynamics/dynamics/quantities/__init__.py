# SPDX-License-Identifier: Apache-2.0
"""Quantities of a model, by name."""

from ada_dynamics.dynamics.quantities.along_loops import velocity_map, velocity_map_rate
from ada_dynamics.dynamics.quantities.base import Quantity, body_wrenches
from ada_dynamics.dynamics.quantities.derivative_products import forward_along, forward_gradient
from ada_dynamics.dynamics.quantities.derivatives import (
    Equations,
    along,
    closed_equations,
    forward_derivatives,
    inverse_along,
    inverse_derivatives,
    moving_pairs,
    open_equations,
    rate_of,
    regressor,
    residual_derivatives,
)
from ada_dynamics.dynamics.quantities.equations import (
    FORWARD,
    MASS_MATRIX,
    bias,
    forward,
    gravity,
    inverse,
    mass_matrix,
)
from ada_dynamics.dynamics.quantities.motion import (
    FRAMES,
    acceleration,
    all_poses,
    centroidal_matrix,
    centroidal_momentum,
    com,
    com_jacobian,
    energies,
    link_jacobian,
    pose,
    velocity,
)

__all__ = [
    "FORWARD",
    "FRAMES",
    "MASS_MATRIX",
    "Equations",
    "Quantity",
    "acceleration",
    "all_poses",
    "along",
    "bias",
    "body_wrenches",
    "centroidal_matrix",
    "centroidal_momentum",
    "closed_equations",
    "com",
    "com_jacobian",
    "energies",
    "forward",
    "forward_along",
    "forward_derivatives",
    "forward_gradient",
    "gravity",
    "inverse",
    "inverse_along",
    "inverse_derivatives",
    "link_jacobian",
    "mass_matrix",
    "moving_pairs",
    "open_equations",
    "pose",
    "rate_of",
    "regressor",
    "residual_derivatives",
    "velocity",
    "velocity_map",
    "velocity_map_rate",
]
