# SPDX-License-Identifier: Apache-2.0
"""MJCF's springdamper: a joint's spring and damper by time constant and damping ratio of what it moves.

The inertia behind a joint is that of MuJoCo: one over the mean of its entries on the diagonal of M⁻¹, with all joints
at their references, every joint free, and no loops.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ada_dynamics.algorithms.crba import mass_matrix
from ada_dynamics.arrays import Array
from ada_dynamics.model.description import Description
from ada_dynamics.robots.readers.mjcf.joints import MjcfJoint

_LEAST = 1e-15  # MuJoCo's, for what it divides by


def set_springs_and_dampers(robot: Description, joints: Mapping[str, MjcfJoint]) -> None:
    """Stiffness and damping of all joints that have a springdamper; masses must be final, and mimics not yet set."""
    wanted = {name: joint.spring_damper for name, joint in joints.items() if joint.spring_damper is not None}
    if not wanted:
        return
    behind = _inertias(robot, joints)
    for record in robot.joints:
        if record.name in wanted:
            constant, ratio = wanted[record.name]
            inertia = behind[record.name]
            record.stiffness = inertia / max(_LEAST, (constant * ratio) ** 2)
            record.rest = joints[record.name].rest
            # instead of the joint's own; an actuator's stays
            record.damping += 2.0 * inertia / max(_LEAST, constant) - joints[record.name].damping


def _inertias(robot: Description, joints: Mapping[str, MjcfJoint]) -> dict[str, float]:
    model = Description(robot.name, robot.file, links=robot.links, joints=robot.joints).build()
    M: Array = np.array(mass_matrix(model.tree, model.home().tolist()).dense(), dtype=float)
    ease = np.diag(np.linalg.inv(M))
    return {name: float(1.0 / max(_LEAST, float(np.mean(ease[model.v_index(name)])))) for name in model.joint_names}
