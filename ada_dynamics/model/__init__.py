# SPDX-License-Identifier: Apache-2.0
"""Models of mechanisms: joint types, links, joints, the tree, the builder and edits."""

from ada_dynamics.model.builder import Builder, chain_3d, planar_chain
from ada_dynamics.model.elements import Joint, Limits, Link, Mimic, Shape
from ada_dynamics.model.model import Model

__all__ = ["Builder", "Joint", "Limits", "Link", "Mimic", "Model", "Shape", "chain_3d", "planar_chain"]
