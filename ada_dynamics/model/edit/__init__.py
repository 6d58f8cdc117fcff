# SPDX-License-Identifier: Apache-2.0
"""Edits of models; each returns a new model."""

from ada_dynamics.model.edit.adjustable import adjustable, geometry
from ada_dynamics.model.edit.joints import lock, reduce, split_universals
from ada_dynamics.model.edit.parts import merge, open_loops, with_gravity, with_parts

__all__ = [
    "adjustable",
    "geometry",
    "lock",
    "merge",
    "open_loops",
    "reduce",
    "split_universals",
    "with_gravity",
    "with_parts",
]
