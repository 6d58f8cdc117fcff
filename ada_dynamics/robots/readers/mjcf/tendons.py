# SPDX-License-Identifier: Apache-2.0
"""MJCF's <tendon>: those without forces of their own are left out; an equality of one over two joints ties these."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from ada_dynamics.model.problems import Sink
from ada_dynamics.robots.readers.mjcf.values import MAIN, Settings, Values
from ada_dynamics.robots.readers.xml import Element

_FORCES = ("stiffness", "damping", "frictionloss", "armature")


@dataclass(frozen=True)
class FixedTendon:
    """Its length is the sum of coefficients times joints."""

    name: str
    terms: tuple[tuple[str, float], ...]  # joint and coefficient


class Tendons:
    """The tendons of a document."""

    def __init__(self, root: Element, settings: Settings, sink: Sink) -> None:
        """Args: the document with all its includes, its settings, and where problems go."""
        self.kinds: Counter[str] = Counter()
        self._fixed: dict[str, FixedTendon] = {}
        for element in (child for section in root.all("tendon") for child in section.children):
            name = element.attributes.get("name", "").strip()
            values = Values(element, f"tendon {name!r}", sink, settings, MAIN, "tendon")
            for attribute in _FORCES:
                values.refuse(attribute, "Forces of tendons are not modelled: set it to zero and give them as tau.")
            self.kinds[element.tag] += 1
            if element.tag == "fixed":
                terms = [Values(joint, values.where, sink, settings, MAIN) for joint in element.all("joint")]
                self._fixed[name] = FixedTendon(
                    name, tuple((term.text("joint"), term.number("coef", 1.0)) for term in terms)
                )

    def fixed(self, name: str) -> FixedTendon | None:
        """A tendon that is a sum over joints."""
        return self._fixed.get(name)
