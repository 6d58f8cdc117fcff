# SPDX-License-Identifier: Apache-2.0
"""`<gazebo><joint>` inside a URDF: an SDFormat joint that Gazebo adds to the tree, which so becomes a graph.

    <gazebo>
      <joint name="closing" type="revolute">
        <parent>a</parent> <child>b</child>
        <pose>0 0 1  0 0 0</pose>                       <!-- in the child's frame -->
        <axis> <xyz>0 1 0</xyz> </axis>
      </joint>
    </gazebo>

SDFormat gives the joint's frame once; where it is in the parent follows from the robot at zero, where the loop is
closed by definition.
"""

from __future__ import annotations

from ada_dynamics.errors import unknown_name
from ada_dynamics.model.description import Description
from ada_dynamics.model.elements import LoopJoint
from ada_dynamics.model.problems import Problem, Sink
from ada_dynamics.model.rotations import NO_MOVE
from ada_dynamics.robots.readers.anchored import zero_pose
from ada_dynamics.robots.readers.sdf import loop_of
from ada_dynamics.robots.readers.sdf.frames import WORLD, Frames
from ada_dynamics.robots.readers.sdf.joint import SdfJoint, place, read_joint
from ada_dynamics.robots.readers.xml import Element


def read_gazebo(element: Element, robot: Description, sink: Sink) -> list[LoopJoint]:
    """The loops of one <gazebo> element without reference."""
    joints = [read_joint(one, sink) for one in element.all("joint")]
    return [loop for joint in joints if joint is not None and (loop := _loop(joint, robot, sink)) is not None]


def _loop(joint: SdfJoint, robot: Description, sink: Sink) -> LoopJoint | None:
    links = {link.name for link in robot.links}
    for end in (joint.parent_frame, joint.child_frame):
        if end not in links and end != WORLD:
            sink(Problem("unknown-link", joint.element.line, joint.where, str(unknown_name("link", end, links))))
            return None
    frames = Frames(f"robot {robot.name!r}", sink)
    for link in robot.links:
        frames.put(link.name, link.element, zero_pose(robot, link.name) or NO_MOVE)
    frames.add(joint.name, joint.element, joint.child_frame, joint.child_frame)
    return loop_of(joint, robot, sink) if place(joint, frames, sink) else None
