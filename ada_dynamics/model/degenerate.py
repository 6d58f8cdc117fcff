# SPDX-License-Identifier: Apache-2.0
"""Bodies with a singular inertia (thin rods, massless links): only with them can a mass matrix become singular."""

from __future__ import annotations

import numpy as np

from ada_dynamics.model.stacks import inertia_about_com
from ada_dynamics.model.tree import Body, Tree

# A principal moment under this share of the largest one counts as zero.
THIN = 1e-9


def has_degenerate_bodies(tree: Tree) -> bool:
    """True if some body, with the rotors of its joint, does not resist every motion."""
    return any(_is_degenerate(body) for body in tree.bodies)


def _is_degenerate(body: Body) -> bool:
    inertia = body.inertia
    if not inertia.mass > 0.0:
        return True
    moments = np.linalg.eigvalsh(inertia_about_com(inertia))
    return bool(moments[0] <= THIN * moments[-1])
