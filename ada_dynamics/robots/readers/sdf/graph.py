# SPDX-License-Identifier: Apache-2.0
"""From a graph of joints to a tree and the joints that close its loops."""

from __future__ import annotations

from collections.abc import Sequence

from ada_dynamics.robots.readers.sdf.joint import SdfJoint


def split(joints: Sequence[SdfJoint], links: Sequence[str], root: str) -> tuple[list[SdfJoint], list[SdfJoint]]:
    """Joints of a tree and those that close its loops.

    The first joint in the file that has a link as its child carries it; later ones close loops, as do those that ask
    for it. Where that leaves links out, the tree is searched from the root, along the joints in the order of the file.

    Args:
        joints: all joints, in the order of the file.
        links: all links.
        root: link that the tree starts from.
    """
    free = [joint for joint in joints if not joint.must_close]
    tree = _first_carriers(free, root)
    if len(_reached(tree, root)) < len(_reached(free, root)):
        tree = _searched(free, root)
    chosen = {id(joint) for joint in tree}
    return [j for j in joints if id(j) in chosen], [j for j in joints if id(j) not in chosen]


def root_of(joints: Sequence[SdfJoint], links: Sequence[str], canonical: str | None) -> str:
    """The link that the tree starts from: one that no joint carries, else the world where something hangs on it."""
    carried = {joint.child for joint in joints if not joint.must_close}
    free = [link for link in links if link not in carried]
    if free:
        return free[0]
    if any(joint.parent == "world" for joint in joints):
        return "world"
    return canonical if canonical is not None and canonical in links else links[0]


def _first_carriers(joints: Sequence[SdfJoint], root: str) -> list[SdfJoint]:
    carriers: dict[str, SdfJoint] = {}
    tops: dict[str, str] = {}  # for each carried link one above it, on the way to the one that nothing carries
    for joint in joints:
        if joint.child != root and joint.child not in carriers and _top(joint.parent, tops) != joint.child:
            carriers[joint.child] = joint
            tops[joint.child] = joint.parent
    return list(carriers.values())


def _top(link: str, tops: dict[str, str]) -> str:
    """The link at the top of a partial tree; the way there is made shorter for the next one."""
    path = []
    while link in tops:
        path.append(link)
        link = tops[link]
    for passed in path:
        tops[passed] = link
    return link


def _children(joints: Sequence[SdfJoint]) -> dict[str, list[SdfJoint]]:
    children: dict[str, list[SdfJoint]] = {}
    for joint in joints:
        children.setdefault(joint.parent, []).append(joint)
    return children


def _reached(joints: Sequence[SdfJoint], root: str) -> set[str]:
    children, reached, pending = _children(joints), {root}, [root]
    while pending:
        for joint in children.get(pending.pop(), ()):
            if joint.child not in reached:
                reached.add(joint.child)
                pending.append(joint.child)
    return reached


def _searched(joints: Sequence[SdfJoint], root: str) -> list[SdfJoint]:
    """Depth first, so that a loop is cut at the joint that is written last."""
    children, reached = _children(joints), {root}
    tree: list[SdfJoint] = []
    pending = list(reversed(children.get(root, [])))
    while pending:
        joint = pending.pop()
        if joint.child not in reached:
            reached.add(joint.child)
            tree.append(joint)
            pending.extend(reversed(children.get(joint.child, [])))
    return tree
