# SPDX-License-Identifier: Apache-2.0
"""Quantities of a model, by name."""

from ada_dynamics.dynamics.quantities.base import Quantity, body_wrenches
from ada_dynamics.dynamics.quantities.derivative_products import (
    Solution,
    forward_along,
    forward_gradient,
    forward_gradient_along,
    gradient_changes,
    inverse_change,
    inverse_gradient,
    inverse_gradient_along,
)
from ada_dynamics.dynamics.quantities.derivatives import (
    Equations,
    along,
    closed_equations,
    forward_derivatives,
    inverse_along,
    inverse_derivatives,
    moving_pairs,
    open_equations,
    pulled,
    rate_of,
    regressor,
    residual_derivatives,
)
from ada_dynamics.dynamics.quantities.equations import forward, inverse
from ada_dynamics.dynamics.quantities.table import FRAMES, MASS_MATRIX_METHODS, TABLE, of_tree

__all__ = [
    "FRAMES",
    "MASS_MATRIX_METHODS",
    "TABLE",
    "Equations",
    "Quantity",
    "Solution",
    "along",
    "body_wrenches",
    "closed_equations",
    "forward",
    "forward_along",
    "forward_derivatives",
    "forward_gradient",
    "forward_gradient_along",
    "gradient_changes",
    "inverse",
    "inverse_along",
    "inverse_change",
    "inverse_derivatives",
    "inverse_gradient",
    "inverse_gradient_along",
    "moving_pairs",
    "of_tree",
    "open_equations",
    "pulled",
    "rate_of",
    "regressor",
    "residual_derivatives",
]
