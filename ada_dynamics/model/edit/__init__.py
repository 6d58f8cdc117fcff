# SPDX-License-Identifier: Apache-2.0
"""Edits of models; each returns a new model."""

from ada_dynamics.model.edit.adjustable import adjustable, geometry
from ada_dynamics.model.edit.merge import merge, with_prefix
from ada_dynamics.model.edit.parts import open_loops, remove_loop, with_gravity, with_parts
from ada_dynamics.model.edit.recut import loop_path, recut
from ada_dynamics.model.edit.replace_joints import lock, merge_turns, reduce, split_universals

__all__ = [
    "adjustable",
    "geometry",
    "lock",
    "loop_path",
    "merge",
    "merge_turns",
    "open_loops",
    "recut",
    "reduce",
    "remove_loop",
    "split_universals",
    "with_gravity",
    "with_parts",
    "with_prefix",
]
