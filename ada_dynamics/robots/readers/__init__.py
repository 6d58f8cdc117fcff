# SPDX-License-Identifier: Apache-2.0
"""Readers of robot descriptions: XML with line numbers, URDF, xacro, MJCF, SDFormat, and loops in every spelling."""

from ada_dynamics.model.description import Description
from ada_dynamics.robots.readers.urdf import describe_urdf, read_urdf
from ada_dynamics.robots.readers.xacro import expand_xacro
from ada_dynamics.robots.readers.xml import Element, parse_xml

__all__ = ["Description", "Element", "describe_urdf", "expand_xacro", "parse_xml", "read_urdf"]
