# SPDX-License-Identifier: Apache-2.0
"""A robot as somebody describes it, in a file, in code, or by changing a model; and the model that it makes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from ada_dynamics.errors import ModelError, unknown_name
from ada_dynamics.execution import pause_garbage_collection
from ada_dynamics.model.checked_values import CheckedValues, checked
from ada_dynamics.model.elements import Joint, Link, LoopJoint, Mimic
from ada_dynamics.model.joints import Fixed, Floating, FloatingEuler
from ada_dynamics.model.model import STANDARD_GRAVITY, Model
from ada_dynamics.model.problems import Problem
from ada_dynamics.model.structure import NamedPlace, roots, structure_problems

Base: TypeAlias = Literal["fixed", "floating", "floating_euler"]
BASES: dict[str, str] = {"fixed": Fixed.kind, "floating": Floating.kind, "floating_euler": FloatingEuler.kind}
ROOT_JOINT = "root_joint"
WORLD_LINK = "world"
ODD_SHAPES = "shapes with"  # how the note on them begins


@dataclass(eq=False)
class Description:
    """Links, joints and loops in any order. Names may repeat and ends may dangle; `build` says so."""

    name: str
    file: str  # where it comes from, for messages
    root: Any = None  # the document that it was read from
    links: list[Link] = field(default_factory=list)
    joints: list[Joint] = field(default_factory=list)
    loops: list[LoopJoint] = field(default_factory=list)
    actuated: list[NamedPlace] | None = None  # joints with a motor; all of them where nothing is said
    gravity: tuple[float, float, float] | None = None  # [m/s²], where the description says it
    holds_itself: bool = False  # whether it says itself how it is held, as MJCF does: then there is no other base
    own_base: str | None = None  # how the file itself holds its root link, where it says so and another one can be had
    left_out: list[Problem] = field(default_factory=list)  # what would change the motion and is not read
    odd_shapes: list[Problem] = field(default_factory=list)  # shapes that are left out, for they cannot be read
    notes: list[str] = field(default_factory=list)  # what was recognised or left out

    @pause_garbage_collection()
    def build(
        self, base: str = "fixed", gravity: Sequence[float] = STANDARD_GRAVITY, source: str | None = None
    ) -> Model:
        """Check values and structure, and make the model.

        Args:
            base: how the root link is held: fixed, floating (quaternion) or floating_euler (z-y-x angles).
            gravity: gravity vector in the world's axes [m/s²].
            source: text of the description.

        Raises:
            ModelError: a value is unusable, or the parts are no tree; the message names file, line and part.
        """
        if base not in BASES:
            raise unknown_name("base", base, BASES)
        g = CheckedValues(self.file).vector(gravity, 3, "gravity")
        links = [checked(link, self.file) for link in self.links]
        joints = [checked(joint, self.file) for joint in self.joints]
        loops = [checked(loop, self.file) for loop in self.loops]
        for problem in structure_problems(self, None if base == "fixed" else ROOT_JOINT):
            raise ModelError(problem.text(self.file))
        (root,) = (link.name for link in roots(self))
        ordered = _depth_first(root, joints)
        if base != "fixed":
            if any(joint.name == ROOT_JOINT for joint in joints):
                raise ModelError(f"{self.file}: a joint is named {ROOT_JOINT!r}, which the floating base needs.")
            ordered.insert(0, Joint(ROOT_JOINT, BASES[base], WORLD_LINK, root).sealed())
        actuated = None if self.actuated is None else [place.name for place in self.actuated]
        return Model(self.name, root, links, _with_mimics(ordered), g.tolist(), source, loops, actuated)

    def note_odd_shapes(self) -> None:
        """Say once that shapes were left out."""
        if self.odd_shapes:
            count, first = len(self.odd_shapes), self.odd_shapes[0].text(self.file)
            self.notes.append(f"{ODD_SHAPES} {count} problem(s) were left out or lost their colour, the first: {first}")

    def free_mimics(self) -> None:
        """Give joints that mimic others their own coordinates."""
        for joint in self.joints:
            joint.mimic = None

    def refuse_mimics(self) -> None:
        """Raise a ModelError where joints mimic others."""
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
    """True if the joints of a tree are in order already."""
    path = [root]  # links that can carry the next joint, the innermost first
    for joint in joints:
        while path and path[-1] != joint.parent:
            path.pop()
        if not path:
            return False
        path.append(joint.child)
    return True


def _with_mimics(ordered: list[Joint]) -> list[Joint]:
    """Mimic chains resolved to the joint that has the coordinates."""
    by_name = {joint.name: joint for joint in ordered}
    final: dict[str, Mimic | None] = {}  # by joint; each chain is followed once
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
