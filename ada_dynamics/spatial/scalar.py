# SPDX-License-Identifier: Apache-2.0
"""The generic scalar: a float, a wider float, an array of states, or a node of an expression graph."""

from __future__ import annotations

from typing import Any, TypeAlias

# The algorithms use + - * / and the functions of `ada_dynamics.expr` on these and nothing else, so a Protocol
# would say no more than Any does; the aliases below carry the meaning.
Scalar: TypeAlias = Any
Vec3: TypeAlias = tuple[Scalar, Scalar, Scalar]
Mat3: TypeAlias = tuple[Vec3, Vec3, Vec3]

ZERO3: Vec3 = (0.0, 0.0, 0.0)
UNIT3: Mat3 = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
