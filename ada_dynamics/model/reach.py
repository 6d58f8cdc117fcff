# SPDX-License-Identifier: Apache-2.0
"""How far a robot reaches."""

from __future__ import annotations

import numpy as np

from ada_dynamics.model.model import Model


def reach_of(model: Model) -> float:
    """How far the robot reaches from its root, stretched out; 1 where it has no extent [m]."""
    reach = {model.root: 0.0}
    for joint in model.joints.values():  # parents come first
        reach[joint.child] = reach.get(joint.parent, 0.0) + float(np.linalg.norm(joint.xyz))
    tips = [reach.get(link.name, 0.0) + 2.0 * float(np.linalg.norm(link.com)) for link in model.links.values()]
    return max(tips) or 1.0
