# SPDX-License-Identifier: Apache-2.0
"""Bodies with a singular inertia (thin rods, massless links): only with them can a mass matrix become singular."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.model.tree import Body, Tree
from ada_dynamics.spatial.inertia import RigidInertia

# A principal moment under this share of the largest one counts as zero.
THIN = 1e-9


def has_degenerate_bodies(tree: Tree) -> bool:
    """True if some body, with the rotors of its joint, does not resist every motion."""
    return any(_is_degenerate(body) for body in tree.bodies)


def _is_degenerate(body: Body) -> bool:
    inertia = body.inertia
    if not inertia.mass > 0.0:
        return True
    moments = np.linalg.eigvalsh(_about_centre(inertia))
    return bool(moments[0] <= THIN * moments[-1])


def _about_centre(inertia: RigidInertia) -> NDArray[np.float64]:
    c = np.array(inertia.first_moment) / inertia.mass
    shift: NDArray[np.float64] = inertia.mass * (float(c @ c) * np.eye(3) - np.outer(c, c))
    return np.array(inertia.about_origin) - shift
