# SPDX-License-Identifier: Apache-2.0
"""Replace universal joints by two revolute joints and a massless cross, which URDF 1.0 can represent."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ada_dynamics.model.edit.parts import Parts
from ada_dynamics.model.elements import Joint, Link
from ada_dynamics.model.joints import Continuous, Universal
from ada_dynamics.model.model import Model


def split_universals(model: Model) -> Model:
    """Return the model with joints NAME_1, NAME_2 and a link NAME_cross for each universal joint NAME.

    The order and meaning of q and v are unchanged.

    Args:
        model: the model; it is returned if its tree has no universal joint.
    """
    universals = [joint for joint in model.joints.values() if joint.kind == Universal.kind]
    if not universals:
        return model
    parts = Parts.of(model)
    parts.name_actuated(model.actuated)
    names: dict[str, list[str]] = {}
    joints: dict[str, Joint] = {}
    for name, joint in parts.joints.items():
        if joint.kind != Universal.kind:
            joints[name] = joint
            continue
        cross = parts.unused(f"{name}_cross")
        parts.links[cross] = Link(cross)
        first, second = parts.unused(f"{name}_1"), parts.unused(f"{name}_2")
        names[name] = [first, second]
        assert joint.axis2 is not None  # ensured by checked_values
        own = replace(joint, name=first, kind=Continuous.kind, child=cross, axis2=None)
        joints[first] = own
        joints[second] = replace(
            own,
            name=second,
            parent=cross,
            child=joint.child,
            xyz=np.zeros(3),
            rotation=np.eye(3),
            axis=joint.axis2,
        )
    parts.joints = joints
    parts.actuated = [new for old in parts.actuated or [] for new in names.get(old, [old])]
    return parts.build()
