# SPDX-License-Identifier: Apache-2.0
"""Readers of loop joints in all formats; `docs/loops.md` compares the formats."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from ada_dynamics.errors import InputError
from ada_dynamics.model.description import Description
from ada_dynamics.model.problems import Problem, Sink
from ada_dynamics.robots.readers.description_builder import read_actuated
from ada_dynamics.robots.readers.loops.xml_elements import apply_coupling, is_coupling, read_gazebo, read_loop
from ada_dynamics.robots.readers.loops.yaml_files import GEPETTO_KEYS, SIDECAR_KEYS, read_gepetto, read_sidecar, refuse
from ada_dynamics.robots.readers.vendor_elements import read_drake, read_mimic_plugin, read_reference
from ada_dynamics.robots.readers.xml import Element
from ada_dynamics.structured_text.files import parsed
from ada_dynamics.structured_text.lexical import near
from ada_dynamics.structured_text.nodes import ListNode, MappingNode, Node, from_object, kind_of

LoopSource: TypeAlias = str | os.PathLike[str] | Mapping[str, object] | Sequence[object]

ELEMENTS = ("constraint", "loop_joint", "loop", "coupling")  # of a <robot>, in addition to <gazebo><joint>

_ENDS = {"parent", "child", "link1", "link2", "predecessor", "successor"}
_IN_CODE = "the argument loops"


# --- inside a URDF ----------------------------------------------------------------------------------------------
def read_urdf_loops(robot: Description, sink: Sink) -> None:
    """Add the loops, couplings and actuated joints of a URDF to its description."""
    couplings = []
    for element in robot.root.children:
        if element.tag == "gazebo":
            if "reference" in element.attributes:
                read_reference(element, robot, sink)
            else:
                robot.loops.extend(read_gazebo(element, robot, sink))
            for plugin in element.all("plugin"):
                read_mimic_plugin(plugin, robot, sink)
        elif element.tag.startswith("drake:"):
            read_drake(element, robot, sink)
        elif is_coupling(element):
            couplings.append(element)
        elif element.tag in ELEMENTS:
            loop = read_loop(element, robot.file, sink)
            if loop is not None:
                robot.loops.append(loop)
        else:
            _check_spelling(element, sink)
    for element in couplings:
        apply_coupling(element, robot, sink)
    read_actuated(robot, "actuated", sink)


def _check_spelling(element: Element, sink: Sink) -> None:
    """Report elements that are probably misspelt loops; ignoring them would open the loops."""
    if not any(child.tag in _ENDS for child in element.children) or element.tag in {"joint", "link", "sensor"}:
        return
    hint = near(element.tag, ELEMENTS)
    if hint:
        message = f"<{element.tag[:40]}> is unknown and looks like a loop."
        sink(Problem("unknown-element", element.line, "<robot>", message, hint.strip()))


# --- in other files ---------------------------------------------------------------------------------------------
def add_loops(robot: Description, source: LoopSource) -> None:
    """Add the loops and actuated joints of a file or of Python data to a description.

    Args:
        robot: description that is extended.
        source: path of a YAML or JSON file in the format of this library or of Gepetto, its content as a dict, or a
            list of dicts, one for each loop.

    Raises:
        InputError: the source has another type, or PyYAML is needed and not installed.
        ModelError: the file cannot be read; the message names the file, line and field.
    """
    node, file = _node(source)
    if isinstance(node, MappingNode):
        ours = [key for key in node.entries if key in SIDECAR_KEYS]
        theirs = [key for key in node.entries if key in GEPETTO_KEYS]
        if theirs and not ours:
            read_gepetto(node, file, robot)
            return
        if not ours:
            known = (*SIDECAR_KEYS, *GEPETTO_KEYS)
            hints = "".join(near(key, known) for key in list(node.entries)[:1])
            message = f"it is {kind_of(node)}; none of its keys describes loops."
            raise refuse(file, node.line, "the file", message, f"{hints}Known: {', '.join(known)}.")
    elif not isinstance(node, ListNode):
        raise refuse(file, node.line, "the file", f"it is {kind_of(node)}.", "Write loops: [...].")
    read_sidecar(node, file, robot)


def _node(source: object) -> tuple[Node, str]:
    if isinstance(source, str | os.PathLike):
        return parsed(Path(source)), str(source)
    if isinstance(source, Mapping | Sequence) and not isinstance(source, bytes | bytearray):
        return from_object(source, _IN_CODE), _IN_CODE
    message = f"loops is {source!r}; it must be a path, a dict or a list of dicts."
    raise InputError(message, field="loops", value=source, allowed="a path, a dict or a list of dicts")
