# SPDX-License-Identifier: Apache-2.0
"""Unchecked description of a robot, from a file, a Builder or an edited model, and the model built from it."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from ada_dynamics.errors import ModelError, unknown_name
from ada_dynamics.execution import pause_garbage_collection
from ada_dynamics.model.checked_values import CheckedValues, checked
from ada_dynamics.model.elements import Joint, Link, LoopJoint, Mimic
from ada_dynamics.model.joints import Fixed, Floating, FloatingEuler
from ada_dynamics.model.model import STANDARD_GRAVITY, Model
from ada_dynamics.model.problems import NamedPlace, Problem, roots, structure_problems

Base: TypeAlias = Literal["fixed", "floating", "floating_euler"]
BASES: dict[str, str] = {"fixed": Fixed.kind, "floating": Floating.kind, "floating_euler": FloatingEuler.kind}
ROOT_JOINT = "root_joint"
WORLD_LINK = "world"
ODD_SHAPES = "shapes with"  # start of the note on them


@dataclass(eq=False)
class Description:
    """Links, joints and loop joints in any order; `build` checks names and structure."""

    name: str
    file: str  # path or name of the source, for messages
    root: Any = None  # XML document
    links: list[Link] = field(default_factory=list)
    joints: list[Joint] = field(default_factory=list)
    loops: list[LoopJoint] = field(default_factory=list)
    actuated: list[NamedPlace] | None = None  # joints with a motor; None: all
    gravity: tuple[float, float, float] | None = None  # [m/s²], if the description has one
    holds_itself: bool = False  # the description defines its base, as MJCF does; no other base is possible
    own_base: str | None = None  # base defined by the file, where another one can be chosen
    left_out: list[Problem] = field(default_factory=list)  # elements that affect the motion and are not modelled
    odd_shapes: list[Problem] = field(default_factory=list)  # shapes that cannot be read
    notes: list[str] = field(default_factory=list)  # on what was recognised or left out

    @pause_garbage_collection()
    def build(
        self, base: str = "fixed", gravity: Sequence[float] = STANDARD_GRAVITY, source: str | None = None
    ) -> Model:
        """Check values and structure, and return the model.

        Args:
            base: joint between world and root link: fixed, floating (quaternion) or floating_euler (z-y-x angles).
            gravity: gravity vector in the world's axes [m/s²].
            source: text of the description.

        Raises:
            ModelError: a value is invalid, or the links and joints form no tree; it names file, line and part.
        """
        if base not in BASES:
            raise unknown_name("base", base, BASES)
        g = CheckedValues(self.file).vector(gravity, 3, "gravity")
        links = [checked(link, self.file) for link in self.links]
        joints = [checked(joint, self.file) for joint in self.joints]
        loops = [checked(loop, self.file) for loop in self.loops]
        for problem in structure_problems(self, None if base == "fixed" else ROOT_JOINT):
            raise problem.error(self.file)
        (root,) = (link.name for link in roots(self))
        ordered = _depth_first(root, joints)
        if base != "fixed":
            if any(joint.name == ROOT_JOINT for joint in joints):
                raise ModelError(f"{self.file}: a joint is named {ROOT_JOINT!r}, which the floating base needs.")
            ordered.insert(0, Joint(ROOT_JOINT, BASES[base], WORLD_LINK, root).sealed())
        actuated = None if self.actuated is None else [place.name for place in self.actuated]
        return Model(self.name, root, links, _with_mimics(ordered), g.tolist(), source, loops, actuated)

    def note_odd_shapes(self) -> None:
        """Add one note on shapes that were left out."""
        if self.odd_shapes:
            count, first = len(self.odd_shapes), self.odd_shapes[0].text(self.file)
            self.notes.append(f"{ODD_SHAPES} {count} problem(s) were left out or lost their colour, the first: {first}")

    def free_mimics(self) -> None:
        """Give mimic joints coordinates of their own."""
        for joint in self.joints:
            joint.mimic = None

    def refuse_mimics(self) -> None:
        """Raise a ModelError if the description has mimic joints."""
        mimics = [joint.name for joint in self.joints if joint.mimic is not None]
        if mimics:
            shown = ", ".join(map(repr, mimics[:8])) + (", ..." if len(mimics) > 8 else "")
            raise ModelError(
                f"{self.file}: {len(mimics)} joints mimic others ({shown}), which mimic='refuse' forbids. "
                "Use mimic='keep' to tie them or mimic='free' to give them their own coordinates."
            )


def _depth_first(root: str, joints: Sequence[Joint]) -> list[Joint]:
    if _is_depth_first(root, joints):
        return list(joints)
    children: dict[str, list[Joint]] = {}
    for joint in joints:
        children.setdefault(joint.parent, []).append(joint)
    ordered: list[Joint] = []
    pending = children.get(root, [])[::-1]
    while pending:
        joint = pending.pop()
        ordered.append(joint)
        pending.extend(reversed(children.get(joint.child, [])))
    return ordered


def _is_depth_first(root: str, joints: Sequence[Joint]) -> bool:
    """Return True if the joints are in depth-first order."""
    path = [root]  # possible parent links of the next joint, from the root
    for joint in joints:
        while path and path[-1] != joint.parent:
            path.pop()
        if not path:
            return False
        path.append(joint.child)
    return True


def _with_mimics(ordered: list[Joint]) -> list[Joint]:
    """Resolve chains of mimic joints to the joint that has coordinates."""
    by_name = {joint.name: joint for joint in ordered}
    final: dict[str, Mimic | None] = {}  # by joint
    for joint in ordered:
        chain: list[Joint] = []
        current = joint
        while current.name not in final and current.mimic is not None:
            chain.append(current)
            current = by_name[current.mimic.joint]
        final.setdefault(current.name, None)
        for follower in reversed(chain):
            own = follower.mimic
            inner = final[own.joint] if own else None
            if own and inner:
                factor = own.multiplier
                own = Mimic(inner.joint, factor * inner.multiplier, factor * inner.offset + own.offset)
            final[follower.name] = own
    return [
        joint if joint.mimic == final[joint.name] else replace(joint, mimic=final[joint.name]).sealed()
        for joint in ordered
    ]


def free_name(wanted: str, taken: Container[str]) -> str:
    """Return the name, with a number appended if it is taken."""
    name, count = wanted, 1
    while name in taken:
        count += 1
        name = f"{wanted}_{count}"
    return name
