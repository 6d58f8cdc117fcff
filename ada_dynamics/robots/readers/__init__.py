# SPDX-License-Identifier: Apache-2.0
"""Readers of robot descriptions: URDF, xacro, SDFormat, MJCF, and loop joints in every format.

`read_document` recognises the format by the root element.
"""

from __future__ import annotations

from ada_dynamics.model.description import Description
from ada_dynamics.model.problems import Sink, raising
from ada_dynamics.robots.readers.loops import LoopSource, add_loops
from ada_dynamics.robots.readers.mjcf import describe_mjcf
from ada_dynamics.robots.readers.sdf import describe_sdf
from ada_dynamics.robots.readers.urdf import check_mimic, describe_urdf, settle
from ada_dynamics.robots.readers.vendor_elements import note_open_frames
from ada_dynamics.robots.readers.xml import Element, parse_xml

_READERS = {"mujoco": describe_mjcf, "sdf": describe_sdf}


def describe(root: Element, file: str, sink: Sink) -> Description:
    """Links, joints and loops as they are written; problems of single values go to the sink.

    Args:
        root: the document: <robot> (URDF), <mujoco> (MJCF) or <sdf> (SDFormat).
        file: where it comes from, for messages.
        sink: where problems go.

    Raises:
        ModelError: the document is none of these.
    """
    return _READERS.get(root.tag, describe_urdf)(root, file, sink)


def read_document(data: bytes | str, file: str, mimic: str = "keep", loops: LoopSource | None = None) -> Description:
    """The description out of a document and what stands beside it.

    Args:
        data: the document.
        file: where it comes from, for messages.
        mimic: what mimicking means: see `load`.
        loops: more loops: see `load`.

    Raises:
        ModelError: the document or the loops are unusable; the message names file, line, element and field.
    """
    check_mimic(mimic)
    robot = describe(parse_xml(data, file), file, raising(file))
    if loops is not None:
        add_loops(robot, loops)
    note_open_frames(robot)
    settle(robot, mimic)
    return robot
