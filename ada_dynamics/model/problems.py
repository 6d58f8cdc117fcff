# SPDX-License-Identifier: Apache-2.0
"""Problems of a robot description, and callbacks that raise the first or collect all."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ada_dynamics.errors import ModelError, unknown_name
from ada_dynamics.model.elements import Joint, Link, LoopJoint
from ada_dynamics.model.joints import JOINT_TYPES

_PART = re.compile(r"(joint|link|loop) (['\"])(.+?)\2")


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


_SHOWN = 8  # names listed in a message
_SEARCHED = 2000  # names searched for the nearest ones


@dataclass(frozen=True)
class NamedPlace:
    """A name with its file and line."""

    name: str
    file: str
    line: int | None


class Parts(Protocol):
    """Fields of a description that are checked."""

    name: str
    root: Any  # XML document, if any
    links: list[Link]
    joints: list[Joint]
    loops: list[LoopJoint]
    actuated: list[NamedPlace] | None


def structure_problems(robot: Parts, base_joint: str | None = None) -> Iterator[Problem]:
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


def _dangling_ends(robot: Parts) -> Iterator[Problem]:
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


def _several_parents(robot: Parts) -> Iterator[Problem]:
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


def roots(robot: Parts) -> list[Link]:
    """Links that are not the child of a joint."""
    carried = {joint.child for joint in robot.joints}
    return [link for link in robot.links if link.name not in carried]


def _roots_and_cycles(robot: Parts) -> Iterator[Problem]:
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


def _unreached(robot: Parts, tops: list[str]) -> list[Joint]:
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


def _mimics(robot: Parts) -> Iterator[Problem]:
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
def _loops(robot: Parts) -> Iterator[Problem]:
    joints = {joint.name: joint for joint in robot.joints}
    links = {link.name: None for link in robot.links}
    seen: dict[str, LoopJoint] = {}
    for loop in robot.loops:
        if loop.name in seen:
            place = seen[loop.name].place
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


def rigid_loops(robot: Parts) -> Iterator[Problem]:
    """Loops between links that are fixed to each other: mistakes in files, but allowed after joints were locked."""
    welded = _welded(robot) if robot.loops else {}
    for loop in robot.loops:
        ends = [welded.get(end, end) for end in (loop.parent, loop.child)]
        if ends[0] == ends[1] and loop.parent != loop.child:
            message = f"its links {loop.parent!r} and {loop.child!r} are fixed to each other."
            yield _of(loop, "rigid-loop", message, "Remove it, or name links that move relative to each other.")


def _welded(robot: Parts) -> dict[str, str]:
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


def _actuated(robot: Parts, base_joint: str | None) -> Iterator[Problem]:
    joints = {joint.name: joint for joint in robot.joints}
    moving = [joint.name for joint in robot.joints if joint.kind != "fixed" and joint.mimic is None]
    closing = {loop.name for loop in robot.loops}
    for place in robot.actuated or ():
        joint = joints.get(place.name)
        if place.name == base_joint:
            continue
        if place.name in closing:
            reason = f"{place.name!r} closes a loop and has no coordinate."
        elif joint is None:
            reason = str(unknown_name("joint", place.name, moving))
        elif joint.mimic is not None:
            reason = f"joint {place.name!r} mimics {joint.mimic.joint!r} and has no coordinate of its own."
        elif joint.kind == "fixed":
            reason = f"joint {place.name!r} is fixed."
        else:
            continue
        yield Problem("actuated", place.line, "actuated", reason, "Name joints that move.", place.file)
