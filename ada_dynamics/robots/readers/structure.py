# SPDX-License-Identifier: Apache-2.0
"""Whether links and joints make one tree, and mimicking joints, loops and motors make sense."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ada_dynamics.errors import unknown_name
from ada_dynamics.model.joints import JOINT_TYPES
from ada_dynamics.robots.readers.description import Description, JointRecord, LinkRecord, LoopRecord
from ada_dynamics.robots.readers.problems import Problem

_SHOWN = 8  # names listed in a message
_SEARCHED = 2000  # names searched for the nearest ones


def structure_problems(robot: Description) -> Iterator[Problem]:
    """All that keeps the links and joints from being one tree."""
    if not robot.links:
        yield Problem("no-links", robot.root.line, f"robot {robot.name!r}", "it has no links.", "Add <link name=...>.")
        return
    yield from _repeated(robot.links, "link")
    yield from _repeated(robot.joints, "joint")
    yield from _dangling_ends(robot)
    yield from _several_parents(robot)
    yield from _roots_and_cycles(robot)
    yield from _mimics(robot)
    yield from _loops(robot)
    yield from _actuated(robot)


def _repeated(records: Sequence[LinkRecord] | Sequence[JointRecord], what: str) -> Iterator[Problem]:
    lines: dict[str, list[int]] = {}
    for record in records:
        lines.setdefault(record.name, []).append(record.line)
    for name, found in lines.items():
        if len(found) > 1:
            yield Problem(
                f"duplicate-{what}",
                found[1],
                f"{what} {name!r}",
                f"{len(found)} {what}s have this name (lines {', '.join(map(str, found[:_SHOWN]))}).",
                f"{what.capitalize()} names must be unique: rename all but one.",
            )


def _dangling_ends(robot: Description) -> Iterator[Problem]:
    names = {link.name: None for link in robot.links}
    nearby = list(names)[:_SEARCHED]
    found = 0
    for joint in robot.joints:
        for end, link in (("parent", joint.parent), ("child", joint.child)):
            if link not in names:
                found += 1
                reason = unknown_name("link", link, nearby) if found <= _SHOWN else f"no link is named {link!r}."
                yield Problem("unknown-link", joint.line, joint.where, f"its {end}: {reason}")
        if joint.parent == joint.child:
            yield Problem(
                "self-joint", joint.line, joint.where, f"it joins link {joint.parent!r} to itself.", "Name two links."
            )


def _several_parents(robot: Description) -> Iterator[Problem]:
    carriers: dict[str, list[JointRecord]] = {}
    for joint in robot.joints:
        carriers.setdefault(joint.child, []).append(joint)
    for link, joints in carriers.items():
        if len(joints) > 1:
            shown = ", ".join(f"{j.name!r} (line {j.line})" for j in joints[:_SHOWN])
            yield Problem(
                "several-parents",
                joints[1].line,
                f"link {link!r}",
                f"it is the child of {len(joints)} joints: {shown}.",
                "In a tree each link has one parent; describe a closed loop as a loop joint.",
            )


def roots(robot: Description) -> list[LinkRecord]:
    """Links that no joint carries."""
    carried = {joint.child for joint in robot.joints}
    return [link for link in robot.links if link.name not in carried]


def _roots_and_cycles(robot: Description) -> Iterator[Problem]:
    tops = roots(robot)
    if len({link.name for link in tops}) > 1:
        shown = ", ".join(f"{r.name!r} (line {r.line})" for r in tops[:_SHOWN])
        more = ", ..." if len(tops) > _SHOWN else ""
        yield Problem(
            "several-roots",
            tops[1].line,
            f"robot {robot.name!r}",
            f"{len(tops)} links have no parent: {shown}{more}.",
            "A model has one root: add the missing joints, or remove the links that belong to nothing.",
        )
    lost = _unreached(robot, [link.name for link in tops])
    if lost:
        shown = " -> ".join(repr(j.name) for j in lost[:_SHOWN])
        yield Problem(
            "cycle",
            lost[0].line,
            f"robot {robot.name!r}",
            f"the joints {shown}{' ...' if len(lost) > _SHOWN else ''} form a cycle that no root reaches.",
            "Remove one of them, or describe it as a loop joint.",
        )


def _unreached(robot: Description, tops: list[str]) -> list[JointRecord]:
    """Joints that cannot be reached from the roots (those with a dangling parent are reported elsewhere)."""
    children: dict[str, list[JointRecord]] = {}
    for joint in robot.joints:
        children.setdefault(joint.parent, []).append(joint)
    names = {link.name for link in robot.links}
    pending = tops + [j.parent for j in robot.joints if j.parent not in names]
    seen = set(pending)
    while pending:
        for joint in children.get(pending.pop(), ()):
            if joint.child not in seen:
                seen.add(joint.child)
                pending.append(joint.child)
    return [j for j in robot.joints if j.parent not in seen]


def _mimics(robot: Description) -> Iterator[Problem]:
    by_name = {joint.name: joint for joint in robot.joints}
    nearby = list(by_name)[:_SEARCHED]
    found = 0
    for joint in robot.joints:
        if joint.mimic is None:
            continue
        source = by_name.get(joint.mimic.joint)
        if source is None:
            found += 1
            name = joint.mimic.joint
            reason = unknown_name("joint", name, nearby) if found <= _SHOWN else f"no joint is named {name!r}."
            yield Problem("mimic-unknown", joint.line, joint.where, f"its <mimic>: {reason}")
            continue
        wrong = next((one for one in (joint, source) if JOINT_TYPES[one.kind].nv != 1), None)
        if wrong is not None:
            yield Problem(
                "mimic-kind",
                joint.line,
                joint.where,
                f"it mimics {source.name!r}, but joint {wrong.name!r} is {wrong.kind}.",
                "Only joints with one degree of freedom can mimic or be mimicked.",
            )
    yield from _mimic_loops(robot, by_name)


def _mimic_loops(robot: Description, by_name: dict[str, JointRecord]) -> Iterator[Problem]:
    settled: set[str] = set()  # joints whose chain has been followed to its end
    for joint in robot.joints:
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
            first = by_name[name]
            yield Problem(
                "mimic-loop", first.line, first.where, f"it mimics itself: {chain}.", "Give one of them no <mimic>."
            )
        settled.update(path)


# --- loops ------------------------------------------------------------------------------------------------------
def _loops(robot: Description) -> Iterator[Problem]:
    joints = {joint.name: joint for joint in robot.joints}
    welded = _welded(robot) if robot.loops else {}
    seen: dict[str, LoopRecord] = {}
    for loop in robot.loops:
        if loop.name in seen:
            message = f"two loops have this name; the first is in {seen[loop.name].place}."
            yield _of(loop, "duplicate-loop", message, "Names of loops must be unique: rename or remove one.")
        elif loop.name in joints:
            message = f"a joint in line {joints[loop.name].line} has this name, too."
            yield _of(loop, "duplicate-loop", message, "Names of joints and loops must be unique: rename one.")
        seen.setdefault(loop.name, loop)
        yield from _loop_ends(loop, welded, joints)


def _of(loop: LoopRecord, code: str, message: str, fix: str = "") -> Problem:
    return Problem(code, loop.line, loop.where, message, fix, loop.file)


def _loop_ends(loop: LoopRecord, welded: dict[str, str], joints: dict[str, JointRecord]) -> Iterator[Problem]:
    known = True
    for end, link in (("parent", loop.parent), ("child", loop.child)):
        if link in welded or link == "world":
            continue
        known = False
        if link in joints:
            message = f"its {end} {link!r} is a joint."
            yield _of(loop, "unknown-link", message, f"Name a link; that joint carries {joints[link].child!r}.")
        else:
            nearby = list(welded)[:_SEARCHED]
            yield _of(loop, "unknown-link", f"its {end}: {unknown_name('link', link, nearby)}", 'Or "world".')
    if loop.parent == loop.child:
        yield _of(loop, "self-loop", f"it joins link {loop.parent!r} to itself.", "Name two links.")
    elif known and welded.get(loop.parent, loop.parent) == welded.get(loop.child, loop.child):
        message = f"its links {loop.parent!r} and {loop.child!r} are fixed to each other already."
        yield _of(loop, "rigid-loop", message, "Remove it, or name links that move against each other.")


def _welded(robot: Description) -> dict[str, str]:
    """For each link the one that carries it, through fixed joints only."""
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


def _actuated(robot: Description) -> Iterator[Problem]:
    joints = {joint.name: joint for joint in robot.joints}
    moving = [joint.name for joint in robot.joints if joint.kind != "fixed" and joint.mimic is None]
    closing = {loop.name for loop in robot.loops}
    for place in robot.actuated or ():
        joint = joints.get(place.name)
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
