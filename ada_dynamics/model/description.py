# SPDX-License-Identifier: Apache-2.0
"""Unchecked description of a robot, from a file, a Builder or a model; its checks, and conversion to a model."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from ada_dynamics.errors import ModelError, check_name, unknown_name
from ada_dynamics.execution import pause_garbage_collection
from ada_dynamics.model.checked_values import CheckedValues, checked
from ada_dynamics.model.elements import Joint, Link, LoopJoint, Mimic
from ada_dynamics.model.joints import JOINT_TYPES, Fixed, Floating, FloatingEuler
from ada_dynamics.model.model import STANDARD_GRAVITY, Model

Base: TypeAlias = Literal["fixed", "floating", "floating_euler"]
BASES: dict[str, str] = {"fixed": Fixed.kind, "floating": Floating.kind, "floating_euler": FloatingEuler.kind}
ROOT_JOINT = "root_joint"
WORLD_LINK = "world"
_PART = re.compile(r"(joint|link|loop) (['\"])(.+?)\2")
_SHOWN = 8  # names listed in a message
_SEARCHED = 2000  # names searched for the nearest ones


@dataclass(frozen=True)
class Problem:
    """A defect of a robot description."""

    code: str  # identifier of the kind of problem, such as "duplicate-link"
    line: int | None
    where: str  # link, joint or element
    message: str
    fix: str = ""
    file: str | None = None  # of the defect, if it is not the description itself

    def text(self, file: str) -> str:
        """Message with location, problem and fix."""
        place = self.file or file
        if self.line is not None:
            place += f", line {self.line}"
        return f"{place}: {self.where}: {self.message} {self.fix}".rstrip()

    def error(self, file: str) -> ModelError:
        """Return the problem as an error with the file, the line, and the joint, link or loop."""
        found = _PART.match(self.where)
        parts = {found[1]: found[3]} if found else {}
        return ModelError(self.text(file), file=self.file or file, line=self.line, **parts)


Sink = Callable[[Problem], None]


def raising(file: str) -> Sink:
    """Return a callback that raises a ModelError for the first problem."""

    def sink(problem: Problem) -> None:
        raise problem.error(file)

    return sink


@dataclass(frozen=True)
class LocatedName:
    """A name with its file and line."""

    name: str
    file: str
    line: int | None


@dataclass(eq=False)
class Description:
    """Links, joints and loop joints in any order; `build` checks names and structure."""

    name: str
    file: str  # path or name of the source, for messages
    root: Any = None  # XML document
    links: list[Link] = field(default_factory=list)
    joints: list[Joint] = field(default_factory=list)
    loops: list[LoopJoint] = field(default_factory=list)
    actuated: list[LocatedName] | None = None  # joints with a motor; None: all
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
        check_name("base", base, BASES)
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
        actuated = None if self.actuated is None else [motor.name for motor in self.actuated]
        return Model(self.name, root, links, _with_mimics(ordered), g.tolist(), source, loops, actuated)


def value_problems(robot: Description) -> Iterator[Problem]:
    """Yield the first invalid value of each link, joint and loop."""
    for part in (*robot.links, *robot.joints, *robot.loops):
        try:
            checked(part, robot.file)
        except ModelError as problem:
            message = str(problem).partition(f"line {part.line}: ")[2] or str(problem)
            yield Problem("invalid-value", part.line, part.where, message, file=part.source)


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


# --- structure: one tree, valid mimic joints, loops and motors -------------------------------------------------------
def structure_problems(robot: Description, base_joint: str | None = None) -> Iterator[Problem]:
    """Yield all problems that keep links and joints from forming one tree.

    Args:
        robot: links, joints, loops and motors.
        base_joint: name of the joint added for a floating base.
    """
    if not robot.links:
        line = None if robot.root is None else robot.root.line
        yield Problem("no-links", line, f"robot {robot.name!r}", "it has no links.", "Add one.")
        return
    yield from _repeated(robot.links, "link")
    yield from _repeated(robot.joints, "joint")
    yield from _dangling_ends(robot)
    yield from _several_parents(robot)
    yield from _roots_and_cycles(robot)
    yield from _mimics(robot)
    yield from _loops(robot)
    yield from _actuated(robot, base_joint)


def _repeated(records: Sequence[Link] | Sequence[Joint], what: str) -> Iterator[Problem]:
    if len({record.name for record in records}) == len(records):
        return
    lines: dict[str, list[int | None]] = {}
    for record in records:
        lines.setdefault(record.name, []).append(record.line)
    for name, found in lines.items():
        if len(found) > 1:
            shown = ", ".join(str(line) for line in found[:_SHOWN] if line is not None)
            message = f"{len(found)} {what}s have this name{f' (lines {shown})' if shown else ''}."
            fix = f"{what.capitalize()} names must be unique: rename all but one."
            yield Problem(f"duplicate-{what}", found[1], f"{what} {name!r}", message, fix)


def _of(joint: Joint | LoopJoint, code: str, message: str, fix: str = "") -> Problem:
    file = joint.file if isinstance(joint, LoopJoint) else None
    return Problem(code, joint.line, joint.where, message, fix, file or None)


def _named(part: Link | Joint) -> str:
    return repr(part.name) + (f" (line {part.line})" if part.line is not None else "")


def _dangling_ends(robot: Description) -> Iterator[Problem]:
    names = {link.name: None for link in robot.links}
    nearby = list(names)[:_SEARCHED]
    found = 0
    for joint in robot.joints:
        for end, link in (("parent", joint.parent), ("child", joint.child)):
            if link not in names:
                found += 1
                reason = unknown_name("link", link, nearby) if found <= _SHOWN else f"no link is named {link!r}."
                yield _of(joint, "unknown-link", f"its {end}: {reason}")
        if joint.parent == joint.child:
            yield _of(joint, "self-joint", f"it joins link {joint.parent!r} to itself.", "Name two links.")


def _several_parents(robot: Description) -> Iterator[Problem]:
    if len({joint.child for joint in robot.joints}) == len(robot.joints):
        return
    carriers: dict[str, list[Joint]] = {}
    for joint in robot.joints:
        carriers.setdefault(joint.child, []).append(joint)
    for link, joints in carriers.items():
        if len(joints) > 1:
            message = f"it is the child of {len(joints)} joints: {', '.join(map(_named, joints[:_SHOWN]))}."
            fix = "In a tree each link has one parent; describe a closed loop as a loop joint."
            yield Problem("several-parents", joints[1].line, f"link {link!r}", message, fix)


def roots(robot: Description) -> list[Link]:
    """Links that are not the child of a joint."""
    carried = {joint.child for joint in robot.joints}
    return [link for link in robot.links if link.name not in carried]


def _roots_and_cycles(robot: Description) -> Iterator[Problem]:
    tops = roots(robot)
    if len({link.name for link in tops}) > 1:
        shown = ", ".join(map(_named, tops[:_SHOWN])) + (", ..." if len(tops) > _SHOWN else "")
        fix = "A model has one root: add the missing joints, or remove the unconnected links."
        message = f"{len(tops)} links have no parent: {shown}."
        yield Problem("several-roots", tops[1].line, f"robot {robot.name!r}", message, fix)
    lost = _unreached(robot, [link.name for link in tops])
    if lost:
        shown = " -> ".join(repr(j.name) for j in lost[:_SHOWN]) + (" ..." if len(lost) > _SHOWN else "")
        fix = "Remove one of them, or describe it as a loop joint."
        message = f"the joints {shown} form a cycle that no root reaches."
        yield Problem("cycle", lost[0].line, f"robot {robot.name!r}", message, fix)


def _unreached(robot: Description, tops: list[str]) -> list[Joint]:
    """Joints that cannot be reached from the roots; joints with an unknown parent are reported elsewhere."""
    names = {link.name for link in robot.links}
    seen = {*tops, *(j.parent for j in robot.joints if j.parent not in names)}
    children: dict[str, list[Joint]] = {}  # joints listed before the joint of their parent
    for joint in robot.joints:
        if joint.parent in seen:
            seen.add(joint.child)
        else:
            children.setdefault(joint.parent, []).append(joint)
    pending = [link for link in children if link in seen]
    while pending:
        for joint in children.get(pending.pop(), ()):
            if joint.child not in seen:
                seen.add(joint.child)
                pending.append(joint.child)
    return [j for j in robot.joints if j.parent not in seen] if children else []


def _mimics(robot: Description) -> Iterator[Problem]:
    followers = [(joint, joint.mimic.joint) for joint in robot.joints if joint.mimic is not None]
    by_name = {joint.name: joint for joint in robot.joints} if followers else {}
    nearby = list(by_name)[:_SEARCHED]
    found = 0
    for joint, name in followers:
        source = by_name.get(name)
        if source is None:
            found += 1
            reason = unknown_name("joint", name, nearby) if found <= _SHOWN else f"no joint is named {name!r}."
            yield _of(joint, "mimic-unknown", f"its <mimic>: {reason}")
            continue
        wrong = next((one for one in (joint, source) if JOINT_TYPES[one.kind].nv != 1), None)
        if wrong is not None:
            message = f"it mimics {source.name!r}, but joint {wrong.name!r} is {wrong.kind}."
            yield _of(joint, "mimic-kind", message, "Only joints with one degree of freedom can mimic or be mimicked.")
    yield from _mimic_loops([joint for joint, _ in followers], by_name)


def _mimic_loops(followers: Sequence[Joint], by_name: dict[str, Joint]) -> Iterator[Problem]:
    settled: set[str] = set()  # joints whose chain has been checked
    for joint in followers:
        path: dict[str, None] = {}
        name = joint.name
        while name in by_name and name not in settled and name not in path:
            path[name] = None
            mimic = by_name[name].mimic
            if mimic is None:
                break
            name = mimic.joint
        if name in path and by_name[name].mimic is not None:
            loop = list(path)[list(path).index(name) :]
            chain = " -> ".join(repr(n) for n in [*loop[:_SHOWN], name])
            yield _of(by_name[name], "mimic-loop", f"it mimics itself: {chain}.", "Give one of them no <mimic>.")
        settled.update(path)


# --- loops ------------------------------------------------------------------------------------------------------
def _loops(robot: Description) -> Iterator[Problem]:
    joints = {joint.name: joint for joint in robot.joints}
    links = {link.name: None for link in robot.links}
    seen: dict[str, LoopJoint] = {}
    for loop in robot.loops:
        if loop.name in seen:
            place = seen[loop.name].location
            message = "two loops have this name" + (f"; the first is in {place}." if place else ".")
            yield _of(loop, "duplicate-loop", message, "Names of loops must be unique: rename or remove one.")
        elif loop.name in joints:
            line = joints[loop.name].line
            message = f"a joint{'' if line is None else f' in line {line}'} has this name, too."
            yield _of(loop, "duplicate-loop", message, "Names of joints and loops must be unique: rename one.")
        seen.setdefault(loop.name, loop)
        yield from _loop_ends(loop, links, joints)


def _loop_ends(loop: LoopJoint, links: dict[str, None], joints: dict[str, Joint]) -> Iterator[Problem]:
    for end, link in (("parent", loop.parent), ("child", loop.child)):
        if link in links or link == "world":
            continue
        if link in joints:
            message = f"its {end} {link!r} is a joint."
            yield _of(loop, "unknown-link", message, f"Name a link; that joint carries {joints[link].child!r}.")
        else:
            nearby = list(links)[:_SEARCHED]
            yield _of(loop, "unknown-link", f"its {end}: {unknown_name('link', link, nearby)}", 'Or "world".')
    if loop.parent == loop.child:
        yield _of(loop, "self-loop", f"it joins link {loop.parent!r} to itself.", "Name two links.")


def rigid_loops(robot: Description) -> Iterator[Problem]:
    """Loops between links that are fixed to each other: mistakes in files, but allowed after joints were locked."""
    tops = welded(robot) if robot.loops else {}
    for loop in robot.loops:
        ends = [tops.get(end, end) for end in (loop.parent, loop.child)]
        if ends[0] == ends[1] and loop.parent != loop.child:
            message = f"its links {loop.parent!r} and {loop.child!r} are fixed to each other."
            yield _of(loop, "rigid-loop", message, "Remove it, or name links that move relative to each other.")


def welded(robot: Description) -> dict[str, str]:
    """For each link the ancestor to which it is fixed."""
    carrier = {joint.child: joint.parent for joint in robot.joints if JOINT_TYPES[joint.kind].nv == 0}
    found: dict[str, str] = {}
    for link in robot.links:
        path = [link.name]
        while path[-1] in carrier and path[-1] not in found and carrier[path[-1]] not in path[-_SHOWN:]:
            path.append(carrier[path[-1]])
            if len(path) > len(robot.links):  # a cycle, which is reported elsewhere
                break
        end = found.get(path[-1], path[-1])
        found.update(dict.fromkeys(path, end))
    return found


def _actuated(robot: Description, base_joint: str | None) -> Iterator[Problem]:
    joints = {joint.name: joint for joint in robot.joints}
    moving = [joint.name for joint in robot.joints if joint.kind != "fixed" and joint.mimic is None]
    closing = {loop.name for loop in robot.loops}
    for motor in robot.actuated or ():
        joint = joints.get(motor.name)
        if motor.name == base_joint:
            continue
        if motor.name in closing:
            reason = f"{motor.name!r} closes a loop and has no coordinate."
        elif joint is None:
            reason = str(unknown_name("joint", motor.name, moving))
        elif joint.mimic is not None:
            reason = f"joint {motor.name!r} mimics {joint.mimic.joint!r} and has no coordinate of its own."
        elif joint.kind == "fixed":
            reason = f"joint {motor.name!r} is fixed."
        else:
            continue
        yield Problem("actuated", motor.line, "actuated", reason, "Name joints that move.", motor.file)
