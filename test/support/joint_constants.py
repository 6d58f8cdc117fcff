# SPDX-License-Identifier: Apache-2.0
"""Numbers of a joint type's own, for tests over all types."""

from ada_dynamics.model.joints import JOINT_TYPES

VALUES = {"pitch": 0.07}  # [m/rad]


def constants(kind):
    return {name: VALUES[name] for name in JOINT_TYPES[kind].constants}
