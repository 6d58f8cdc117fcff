# SPDX-License-Identifier: Apache-2.0
"""Robots with equal limbs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from joint_constants import constants
from random_trees import solid

import ada_dynamics as ada

AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


class Assembly:
    """A model that grows limb by limb."""

    def __init__(self, name: str, seed: int = 0, trunk_axes: str = "") -> None:
        self.builder = ada.Builder(name)
        self.rng = np.random.default_rng(seed)
        self.builder.link("root", *solid(self.rng))
        parent = "root"
        for i, axis in enumerate(trunk_axes):
            parent = self._add(f"trunk_{i}", parent, "revolute", AXES[axis], {})

    def limb(self, name: str, parent: str, kinds: Sequence[str], **loads: float) -> Assembly:
        """A chain of joints, each "x", "y" or "z" for a revolute one, or a joint type; constants are random."""
        for i, kind in enumerate(kinds):
            axis: Any = AXES.get(kind, AXES["z"])
            parent = self._add(f"{name}_{i}", parent, "revolute" if kind in AXES else kind, axis, loads)
        return self

    def _add(self, name: str, parent: str, kind: str, axis: Any, loads: dict[str, float]) -> str:
        self.builder.link(name, *solid(self.rng))
        options: dict[str, Any] = {"axis": axis, "axis2": (0.0, 1.0, 0.0)} if kind == "universal" else {"axis": axis}
        xyz = self.rng.uniform(-0.4, 0.4, 3)
        self.builder.joint(f"to_{name}", kind, parent, name, xyz, **options, **constants(kind), **loads)
        return name

    def build(self, base: str = "floating") -> ada.Model:
        """The model."""
        return self.builder.build(base)


def humanoid() -> ada.Model:
    """A free trunk of two joints, two legs on the pelvis, two arms on the chest, and a neck."""
    made = Assembly("humanoid", trunk_axes="zy")
    made.limb("leg_l", "root", "zxyyyx").limb("arm_l", "trunk_1", "yxzyz")
    made.limb("leg_r", "root", "zxyyyx").limb("arm_r", "trunk_1", "yxzyz")
    return made.limb("neck", "trunk_1", "zy").build()


def walker(legs: int, kinds: Sequence[str] = "xyy", base: str = "floating") -> ada.Model:
    """Equal legs on one body."""
    made = Assembly(f"walker_{legs}")
    for leg in range(legs):
        made.limb(f"leg_{leg}", "root", kinds)
    return made.build(base)
