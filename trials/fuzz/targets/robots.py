# SPDX-License-Identifier: Apache-2.0
"""Robot descriptions as texts, and what stands beside them: read into a model that can be used, or refused."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from ada_dynamics.model.description import Description
from ada_dynamics.robots.check import check
from ada_dynamics.robots.load import load
from ada_dynamics.robots.readers import read_document
from ada_dynamics.robots.writers import render
from trials.fuzz.target import Target


def _use(robot: Description) -> None:
    """Every base that the description allows gives a model whose poses are finite."""
    for base in ("fixed",) if robot.holds_itself else ("fixed", "floating"):
        model = robot.build(base)
        q, v = model.random_state(np.random.default_rng(1))
        assert np.isfinite(q).all() and np.isfinite(model.integrate(q, v, 0.01)).all()
        assert not model.position_problems(model.neutral())


def _document(data: bytes) -> None:
    _use(read_document(data, "the text"))


def _urdf(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    if text.lstrip().startswith("<"):
        assert str(check(text, base="floating"))
    _document(data)


def _beside(path: Path) -> None:
    _use(read_document(PLAIN, "the text", loops=path))


# Three bars, which can be closed to a loop; one of them with all that a link may have beside.
_BODY = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
_SHAPES = (
    '<visual><origin rpy="0 0 1"/><geometry><box size="1 1 1"/></geometry><material name="m"><color rgba="1 0 0 1"/>'
    '</material></visual><collision><geometry><mesh filename="package://a/b.stl" scale="1 1 1"/></geometry></collision>'
)
_JOINT = """<joint name="joint_{i}" type="continuous"><parent link="{before}"/><child link="link_{i}"/>
<origin xyz="0 0 1"/><axis xyz="0 1 0"/><limit effort="1" velocity="2"/><dynamics damping="0.1"/></joint>"""
PLAIN = '<robot name="r"><link name="base"/>' + "".join(
    f'<link name="link_{i}">{_BODY}{_SHAPES if i == 1 else ""}</link>' + _JOINT.format(i=i, before=before)
    for i, before in enumerate(("base", "link_1", "link_2"), start=1)
)
PLAIN += "</robot>"
_LOOPS = """loops:
  - {name: c, type: revolute, axis: [0, 1, 0], parent: {link: link_3, xyz: [0, 0, 1]},
     child: {link: base, xyz: [0, 0, 4]}}
actuated: [joint_1]
"""
_GEPETTO = "closed_loop: [[link_1, link_2]]\ntype: ['6d']\nname_mot: [joint_1]\njoint_name: [joint_2]\n"


def _json_seeds() -> Iterable[bytes]:
    import yaml

    return [json.dumps(yaml.safe_load(text)).encode() for text in (_LOOPS, _GEPETTO)]


def _texts(*formats: str) -> Iterable[bytes]:
    """The bars, open and closed, in every spelling."""
    import yaml

    for loops in (None, yaml.safe_load(_LOOPS)):
        model = load(PLAIN, loops=loops)
        for form in formats:
            texts = render(model, form).texts.values()
            yield from (text.encode() for text in texts if text.lstrip().startswith("<"))


def _urdf_seeds() -> Iterable[bytes]:
    return [PLAIN.encode(), *_texts("constraint", "loop_joint", "urdf_plus")]


_PENDULUM = b"""<sdf version="1.9"><model name="m"><link name="a"/><link name="b"><pose>0 0 1 0 0 0</pose><inertial>
<mass>2</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial></link><joint name="w" type="fixed">
<parent>world</parent><child>a</child></joint><joint name="j" type="revolute"><parent>a</parent><child>b</child><axis>
<xyz>0 1 0</xyz><limit><lower>-1</lower><upper>1</upper></limit></axis></joint></model></sdf>"""

_NUMBERS = ("nan", "inf", "-inf", "1e400", "1e-320", "1e30", "-1", "0 0 0", "1 0 0")
_KINDS = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar", "spherical", "universal", "cylindrical")
_XML = ("<!DOCTYPE a [<!ENTITY e 'x'>]>", "&e;", "<![CDATA[", "<!--", "]]>", *_NUMBERS)
_URDF = ("<link name=", "<joint name=", "<mimic joint=", "<loop_joint", "<constraint", "<loop", *_KINDS)
_MJCF = (
    "<body",
    "<joint type=",
    "<freejoint/>",
    "<connect",
    "<weld",
    "<default",
    "<replicate",
    "<include file=",
    "ball",
)
_SDF = (
    "<pose relative_to=",
    "<frame",
    "<joint type=",
    "<must_be_loop_joint>",
    "<axis>",
    "<model",
    "<include>",
    *_KINDS,
)
_TEXT = ("&a ", "*a", "!!x ", "<<: ", "---\n", "null", "[", "]", "{", "}", "loops:", "parent:", "axis2:", *_NUMBERS)
_LONG = 4096

TARGETS = (
    Target("urdf", "URDF, with loops in all spellings", _urdf, _urdf_seeds, _URDF + _XML, longest=_LONG),
    Target("mjcf", "MJCF", _document, lambda: _texts("mjcf"), _MJCF + _XML, longest=_LONG),
    Target("sdf", "SDFormat", _document, lambda: [_PENDULUM], _SDF + _XML, longest=_LONG),
    Target(
        *("loops_yaml", "loops beside a URDF, YAML", _beside, lambda: [_LOOPS.encode(), _GEPETTO.encode()]),
        words=_TEXT,
        file="loops.yaml",
    ),
    Target("loops_json", "loops beside a URDF, JSON", _beside, _json_seeds, words=_TEXT, file="loops.json"),
)
