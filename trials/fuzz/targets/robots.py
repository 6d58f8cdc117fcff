# SPDX-License-Identifier: Apache-2.0
"""Robot descriptions as texts, and what stands beside them: read into a model that can be used, or refused."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from ada_dynamics.errors import AdaError
from ada_dynamics.model.description import Description
from ada_dynamics.robots.catalogue import entry
from ada_dynamics.robots.load import load
from ada_dynamics.robots.readers.document import read_document
from ada_dynamics.robots.writers import render
from trials.fuzz.target import Target

_FIXED = load("pa10")
_LOOPED = load("four_bar")


def _use(robot: Description) -> None:
    """Every base that the description allows gives a model whose poses are finite."""
    for base in ("fixed",) if robot.holds_itself else ("fixed", "floating"):
        model = robot.build(base)
        q, v = model.random_state(np.random.default_rng(1))
        assert np.isfinite(q).all() and np.isfinite(model.integrate(q, v, 0.01)).all()
        assert not model.position_problems(model.neutral())


def _document(data: bytes) -> None:
    _use(read_document(data, "the text"))


def _beside(path: Path) -> None:
    _use(read_document(_PLAIN, "the text", loops=path))


def _texts(*formats: str) -> Iterable[bytes]:
    for form in formats:
        for model in (_FIXED, _LOOPED):
            try:
                texts = render(model, form).texts.values()
            except AdaError:  # not every format has everything
                continue
            yield from (text.encode() for text in texts if text.lstrip().startswith("<"))


def _urdf_seeds() -> Iterable[bytes]:
    return [entry("pa10").path.read_bytes(), *_texts("constraint", "loop_joint", "urdf_plus", "gazebo")]


_SIDECAR = render(_LOOPED, "sidecar").texts
_PLAIN = next(text for name, text in _SIDECAR.items() if name.endswith(".urdf"))
_YAML = next(text for name, text in _SIDECAR.items() if name.endswith(".yaml"))
_GEPETTO = "closed_loop: [[link_1, link_2]]\ntype: ['6d']\nname_mot: [joint_1]\njoint_name: [joint_2]\n"


def _json_seeds() -> Iterable[bytes]:
    import yaml

    return [json.dumps(yaml.safe_load(text)).encode() for text in (_YAML, _GEPETTO)]


_PENDULUM = b"""<sdf version="1.9"><model name="m"><link name="a"/><link name="b"><pose>0 0 1 0 0 0</pose><inertial>
<mass>2</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial></link><joint name="w" type="fixed">
<parent>world</parent><child>a</child></joint><joint name="j" type="revolute"><parent>a</parent><child>b</child><axis>
<xyz>0 1 0</xyz><limit><lower>-1</lower><upper>1</upper></limit></axis></joint></model></sdf>"""

_NUMBERS = ("nan", "inf", "-inf", "1e400", "1e-320", "1e30", "-1", "0 0 0", "1 0 0")
_KINDS = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar", "spherical", "universal", "cylindrical")
_XML = ("<!DOCTYPE a [<!ENTITY e 'x'>]>", "&e;", "<![CDATA[", "<!--", "]]>", *_NUMBERS)
_URDF = ("<link name=", "<joint name=", "<mimic joint=", "<loop_joint", "<constraint", "<loop", "<coupling", *_KINDS)
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
_LONG = 16384

TARGETS = (
    Target("urdf", "URDF, with loops in all spellings", _document, _urdf_seeds, _URDF + _XML, longest=_LONG),
    Target("mjcf", "MJCF", _document, lambda: _texts("mjcf"), _MJCF + _XML, longest=_LONG),
    Target("sdf", "SDFormat", _document, lambda: [_PENDULUM], _SDF + _XML, longest=_LONG),
    Target(
        *("loops_yaml", "loops beside a URDF, YAML", _beside, lambda: [_YAML.encode(), _GEPETTO.encode()]),
        words=_TEXT,
        file="loops.yaml",
    ),
    Target("loops_json", "loops beside a URDF, JSON", _beside, _json_seeds, words=_TEXT, file="loops.json"),
)
