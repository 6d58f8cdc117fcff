# SPDX-License-Identifier: Apache-2.0
"""Edits of models; each returns a new model."""

from ada_dynamics.model.edit.adjustable import adjustable, geometry
from ada_dynamics.model.edit.joints import lock, loop_path, recut, reduce, split_universals
from ada_dynamics.model.edit.parts import merge, open_loops, remove_loop, with_gravity, with_parts, with_prefix

__all__ = [
    "adjustable",
    "geometry",
    "lock",
    "loop_path",
    "merge",
    "open_loops",
    "recut",
    "reduce",
    "remove_loop",
    "split_universals",
    "with_gravity",
    "with_parts",
    "with_prefix",
]
