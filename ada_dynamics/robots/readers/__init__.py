# SPDX-License-Identifier: Apache-2.0
"""Readers of robot descriptions: URDF, xacro, SDFormat, MJCF, and loop joints in every format.

`read_document` recognises the format by the root element.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from ada_dynamics.errors import InputError
from ada_dynamics.model.description import Description, Sink, raising, rigid_loops
from ada_dynamics.robots.readers.description_builder import note_open_frames
from ada_dynamics.robots.readers.loop_files import LoopSource, add_loops
from ada_dynamics.robots.readers.mjcf import describe_mjcf
from ada_dynamics.robots.readers.sdf import describe_sdf
from ada_dynamics.robots.readers.urdf import describe_urdf
from ada_dynamics.robots.readers.xml import Element, parse_xml

MimicChoice: TypeAlias = Literal["keep", "free"]
MIMIC_CHOICES: tuple[MimicChoice, ...] = get_args(MimicChoice)

_READERS = {"mujoco": describe_mjcf, "sdf": describe_sdf}


def describe(root: Element, file: str, sink: Sink) -> Description:
    """Read links, joints and loops of a document by its root element, without checking their structure."""
    return _READERS.get(root.tag, describe_urdf)(root, file, sink)


def read_document(data: bytes | str, file: str, mimic: str = "keep", loops: LoopSource | None = None) -> Description:
    """Read the description of a document and of additional loops.

    Args:
        data: the document.
        file: name of the document, for messages.
        mimic: treatment of <mimic>, as for `load`.
        loops: additional loop joints, as for `load`.

    Raises:
        InputError: `mimic` is unknown.
        ModelError: the document or the loops are invalid; the message names file, line, element and field.
    """
    if mimic not in MIMIC_CHOICES:
        message = f"mimic is {mimic!r}; allowed: {', '.join(map(repr, MIMIC_CHOICES))}."
        raise InputError(message, field="mimic", value=mimic, allowed=MIMIC_CHOICES)
    robot = describe(parse_xml(data, file), file, raising(file))
    if loops is not None:
        add_loops(robot, loops)
    note_open_frames(robot)
    if mimic == "free":
        for joint in robot.joints:
            joint.mimic = None
    for problem in rigid_loops(robot):
        raise problem.error(robot.file)
    return robot
