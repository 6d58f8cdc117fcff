# SPDX-License-Identifier: Apache-2.0
"""URDF+ (Chignoli et al. 2024, arXiv 2411.19753): `<loop>` and `<coupling>` inside a URDF.

    <loop name="closing" type="revolute">
      <predecessor link="a"> <origin xyz="..." rpy="..."/> </predecessor>
      <successor link="b"> <origin xyz="..." rpy="..."/> </successor>
      <axis xyz="0 0 1"/>
    </loop>
    <coupling name="gear"> <predecessor link="a"/> <successor link="b"/> <ratio value="6"/> </coupling>

A coupling ties the joints from the nearest common ancestor to both links: ratio times the sum of those to the
predecessor is the sum of those to the successor. With one joint on either side that is a mimicking joint; other
couplings are refused. Its parser's first version wrote <constraint> for both, with the types position and rolling.
The attribute `independent` of joints is a choice of coordinates, which this library makes itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from ada_dynamics.model.description import Description
from ada_dynamics.model.elements import Joint, LoopJoint, Mimic
from ada_dynamics.model.joints import JOINT_TYPES
from ada_dynamics.model.problems import Problem, Sink
from ada_dynamics.robots.readers.loops.loop_joint import read_axes
from ada_dynamics.robots.readers.loops.xml_parts import check_known, read_kind, read_link, read_name
from ada_dynamics.robots.readers.values import Attributes, read_pose, the_child
from ada_dynamics.robots.readers.xml import Element

KINDS = ("revolute", "prismatic", "planar", "fixed")  # that its own parser knows

_OTHER_WORDS = {"continuous": "revolute", "position": "spherical"}
_SMALLEST_RATIO = 1e-12


def read_loop(element: Element, file: str, sink: Sink) -> LoopJoint | None:
    """The loop, or None after reporting why there is none."""
    name = read_name(element, sink)
    if name is None:
        return None
    where = f"loop {name!r}"
    check_known(element, where, sink, ("predecessor", "successor", "axis", "axis2"), ("name", "type"))
    kind = read_kind(element, where, sink, _OTHER_WORDS)
    ends = [read_link(element, tag, where, sink) for tag in ("predecessor", "successor")]
    if kind is None or ends[0] is None or ends[1] is None:
        return None
    (parent, first), (child, second) = ends[0], ends[1]
    for end in (first, second):
        check_known(end, where, sink, ("origin",), ("link",))
    loop = LoopJoint(name, kind, parent, child, file=file, line=element.line)
    loop.parent_rotation, loop.parent_xyz = read_pose(first, where, sink)
    loop.child_rotation, loop.child_xyz = read_pose(second, where, sink)
    return loop if read_axes(loop, element, sink) else None


def is_coupling(element: Element) -> bool:
    """True if a <constraint> of the parser's first version is a coupling."""
    return element.attributes.get("type", "").strip() == "rolling"


@dataclass
class _Coupling:
    element: Element
    where: str
    sink: Sink

    def refuse(self, code: str, message: str, fix: str) -> None:
        self.sink(Problem(code, self.element.line, self.where, message, fix))


def apply_coupling(element: Element, robot: Description, sink: Sink) -> None:
    """Make the coupled joint mimic the other one, where that says the same."""
    name = read_name(element, sink)
    if name is None:
        return
    coupling = _Coupling(element, f"coupling {name!r}", sink)
    check_known(element, coupling.where, sink, ("predecessor", "successor", "ratio"), ("name", "type"))
    ends = [read_link(element, tag, coupling.where, sink) for tag in ("predecessor", "successor")]
    ratio = _ratio(coupling)
    if ends[0] is None or ends[1] is None or ratio is None:
        return
    sides = _sides(coupling, robot, ends[0][0], ends[1][0])
    if sides is None:
        return
    leader, follower = sides
    if _is_dependent(leader) and not _is_dependent(follower):
        leader, follower, ratio = follower, leader, 1.0 / ratio
    if follower.mimic is not None:
        coupling.refuse("coupling", f"joint {follower.name!r} mimics {follower.mimic.joint!r} already.", "Keep one.")
        return
    follower.mimic = Mimic(leader.name, ratio, 0.0)


def _is_dependent(joint: Joint) -> bool:
    return bool(joint.element.attributes.get("independent", "true").strip().lower() == "false")


def _ratio(coupling: _Coupling) -> float | None:
    element = the_child(coupling.element, "ratio", coupling.where, coupling.sink)
    ratio = 1.0 if element is None else Attributes(element, coupling.where, coupling.sink).number("value")
    if abs(ratio) < _SMALLEST_RATIO:
        coupling.refuse("coupling", f"its ratio is {ratio:g}.", "Give a ratio that is not zero.")
        return None
    return ratio


def _sides(coupling: _Coupling, robot: Description, predecessor: str, successor: str) -> tuple[Joint, Joint] | None:
    """The one moving joint on either side of the nearest common ancestor."""
    carriers = {joint.child: joint for joint in robot.joints}
    known = {link.name for link in robot.links}
    paths = []
    for link in (predecessor, successor):
        if link not in known:
            coupling.refuse("unknown-link", f"no link is named {link!r}.", "Name a link of this robot.")
            return None
        paths.append(_path(link, carriers))
    shared = {joint.name for joint in paths[0]} & {joint.name for joint in paths[1]}
    moving = [[j for j in path if j.name not in shared and JOINT_TYPES[j.kind].nv] for path in paths]
    for link, joints in zip((predecessor, successor), moving, strict=True):
        if len(joints) != 1 or JOINT_TYPES[joints[0].kind].nv != 1:
            names = ", ".join(repr(j.name) for j in joints[:8]) or "no joint"
            coupling.refuse(
                "coupling",
                f"it ties the sum of {names} up to link {link!r}, which is more than one joint that mimics another.",
                "Tie single joints by <mimic>, or model the belt's links and close them by loops.",
            )
            return None
    return moving[0][0], moving[1][0]


def _path(link: str, carriers: dict[str, Joint]) -> list[Joint]:
    path: list[Joint] = []
    seen = {link}
    while link in carriers:
        path.append(carriers[link])
        link = carriers[link].parent
        if link in seen:  # the joints form a cycle, which is reported elsewhere
            break
        seen.add(link)
    return path
